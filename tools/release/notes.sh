#!/bin/sh
# Prints what CHANGELOG.md says of the version of a tag, which has to be this commit's.
#
#   sh tools/release/notes.sh v0.1.0
set -eu
tag=$1
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' deno.json)
[ "$tag" = "v$version" ] || {
  printf 'notes.sh: the tag is %s, and deno.json has version %s: wanted v%s\n' "$tag" "$version" "$version" >&2
  exit 1
}
notes=$(awk -v version="$version" '
  /^## / { inside = index($0, "## [" version "]") == 1; next }
  inside' CHANGELOG.md)
[ -n "$notes" ] || {
  printf 'notes.sh: CHANGELOG.md has no section "## [%s]"; rename "## [Unreleased]"\n' "$version" >&2
  exit 1
}
printf '%s\n' "$notes"
