#!/bin/sh
# Signs the sums of a release by minisign, and checks that install.sh would take the signature.
#
#   MINISIGN_SECRET_KEY=... [MINISIGN_PASSWORD=...] sh tools/release/sign.sh FOLDER
#
# FOLDER has SHA256SUMS and install.sh (dist/release). MINISIGN_SECRET_KEY is the text of minisign's secret key. Without
# it, a release whose install.sh has no key either stays unsigned; one whose install.sh has a key is refused.
set -eu
umask 077
fail() {
  rm -f SHA256SUMS.minisig
  printf 'sign.sh: %s\n' "$*" >&2
  exit 1
}

cd "$1"
[ -f SHA256SUMS ] || fail "$1 has no SHA256SUMS; deno task release makes it"
key=$(sed -n "s/^PUBLIC_KEY='\(.*\)'\$/\1/p" install.sh)
if [ -z "${MINISIGN_SECRET_KEY:-}" ]; then
  [ -z "$key" ] || fail "install.sh wants a signature by $key, and MINISIGN_SECRET_KEY is not set"
  echo "not signed: neither install.sh has a key, nor MINISIGN_SECRET_KEY; SECURITY.md says how to make them"
  exit 0
fi
[ -n "$key" ] || fail "MINISIGN_SECRET_KEY is set, and install.sh has no PUBLIC_KEY that would check its signatures"
secret=$(mktemp)
trap 'rm -f "$secret"' EXIT
printf '%s\n' "$MINISIGN_SECRET_KEY" >"$secret"
printf '%s\n' "${MINISIGN_PASSWORD:-}" | minisign -S -s "$secret" -m SHA256SUMS -t "sums of a release of m40" >/dev/null ||
  fail "minisign could not sign; is MINISIGN_PASSWORD the key's?"
minisign -V -q -P "$key" -m SHA256SUMS ||
  fail "MINISIGN_SECRET_KEY is not the secret half of install.sh's PUBLIC_KEY $key"
echo "signed by $key"
