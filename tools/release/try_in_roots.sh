#!/bin/sh
# Tries an archive where neither Deno nor a compiler nor a network is: installs it in fresh roots of Debian and Ubuntu,
# has it write a story, serves a request with and without OpenAI's streams, and removes it again.
#
#   sudo sh tools/release/try_in_roots.sh FOLDER [SUITE[=MIRROR] ...]
#
# FOLDER has the archive, SHA256SUMS and install.sh (dist/release). The roots are made by debootstrap, once, in
# ${M40_ROOTS:-/var/tmp/m40-roots}, from its own mirror where none is named. What is not available is reported, and left
# out.
set -eu
release=$(cd "$1" && pwd)
shift
[ "$#" -gt 0 ] || set -- bullseye trixie jammy
roots=${M40_ROOTS:-/var/tmp/m40-roots}
archive=$(cd "$release" && find . -maxdepth 1 -name "m40-*.tar.gz" | sort | head -n 1)
archive=${archive#./}
here=$(cd "$(dirname "$0")" && pwd)
failed=0 passed=0 skipped=0

for program in debootstrap unshare chroot; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: roots are made and entered by root alone"; exit 0; }
mkdir -p "$roots"

for one; do
  suite=${one%%=*} root=$roots/${one%%=*} mirror=
  case $one in *=*) mirror=${one#*=} ;; esac
  if [ ! -e "$root.made" ]; then
    rm -rf "$root"
    if ! debootstrap --variant=minbase --include=curl "$suite" "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1; then
      echo "skipped: $suite: $(tail -n 1 "$root.log")"
      skipped=$((skipped + 1))
      continue
    fi
    : >"$root.made"
  fi
  rm -rf "$root/release"
  mkdir "$root/release"
  cp "$release/$archive" "$release/SHA256SUMS" "$release/install.sh" "$here/try_archive.sh" "$root/release"
  # A network of its own, with the loopback alone; processes of its own, which end with it.
  # shellcheck disable=SC2016
  if unshare --net --mount --pid --fork --kill-child sh -eu -c '
    mount -t proc proc "$1/proc"
    ip link set lo up 2>/dev/null || ifconfig lo up
    exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh /release/try_archive.sh "$2"
  ' sh "$root" "$archive"; then
    passed=$((passed + 1))
  else
    echo "FAILED: $suite"
    failed=$((failed + 1))
  fi
  rm -rf "$root/release"
done
echo "$passed roots passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
