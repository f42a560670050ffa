#!/bin/sh
# Installs m40, or takes it away again. `sh install.sh --help` says how.
set -eu
umask 022
LC_ALL=C
export LC_ALL
# m40 is started below, with its own libraries.
unset M40_KERNELS

# The public key of this repository's releases, as minisign prints it (the second line of minisign.pub). SECURITY.md
# says how it is made. While it is empty, releases have no signature, and only their checksums are verified.
PUBLIC_KEY=''

usage() {
  cat <<'END'
Installs m40, a server of large language models, or takes it away again.

  sh install.sh [ARCHIVE] [--user | --system] [--prefix FOLDER] [--no-service] [--force] [--key KEY | --unsigned]
  sh install.sh --uninstall [--purge] [--user | --system] [--prefix FOLDER]

ARCHIVE       m40-VERSION-linux-x86_64.tar.gz; its sum is looked up in SHA256SUMS beside it, whose signature is
              SHA256SUMS.minisig. Without it, the folder that this script lies in is installed: an unpacked archive.
--sums FILE   the sums of the archive, where they are somewhere else; the signature is FILE.minisig
--key KEY     the public key that has to have signed the sums, or the file that holds it (minisign.pub)
--unsigned    installs an archive that nobody signed, such as one that you made yourself
--user        into ~/.local, for this user (what others than root get)
--system      into /usr/local, with the service m40, its user and /var/lib/m40 (what root gets)
--prefix FOLDER  into another folder
--no-service  --system without the service, its user and its folders; a service that is there stays as it is
--force       puts the link bin/m40 in the place of another program of that name
--uninstall   removes what was installed; models, history and a changed m40.toml are kept
--purge       removes those as well
END
}

say() { printf '%s\n' "$*"; }
fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}
misused() {
  printf 'install.sh: %s\nRun "sh install.sh --help" for all that it takes.\n' "$*" >&2
  exit 2
}

mode='' prefix='' archive='' sums='' action=install purge=no service=yes force=no key=$PUBLIC_KEY signed=yes
value() { if [ "$#" -lt 2 ] || [ -z "$2" ]; then misused "$1 wants a value behind it"; fi; }
while [ "$#" -gt 0 ]; do
  case $1 in
  -h | --help) usage && exit 0 ;;
  --user) mode=user ;;
  --system) mode=system ;;
  --prefix) value "$@" && prefix=$2 && shift ;;
  --prefix=*) prefix=${1#*=} ;;
  --sums) value "$@" && sums=$2 && shift ;;
  --sums=*) sums=${1#*=} ;;
  --key) value "$@" && key=$2 && shift ;;
  --key=*) key=${1#*=} ;;
  --unsigned) signed=no ;;
  --no-service) service=no ;;
  --uninstall) action=uninstall ;;
  --purge) purge=yes ;;
  --force) force=yes ;;
  -*) misused "unknown option $1" ;;
  *) [ -z "$archive" ] || misused "got two archives, $archive and $1" && archive=$1 ;;
  esac
  shift
done
[ "$purge" = no ] || [ "$action" = uninstall ] || misused "--purge goes with --uninstall"
[ "$force" = no ] || [ "$action" = install ] || misused "--force goes with an installation"
[ -z "$archive" ] || [ "$action" = install ] || misused "--uninstall takes no archive; got $archive"
[ "$signed" = yes ] || [ "$key" = "$PUBLIC_KEY" ] || misused "--key and --unsigned exclude each other"
[ -n "$archive" ] || [ "$key" = "$PUBLIC_KEY" ] || misused "--key goes with an ARCHIVE, beside which the signature lies"

if [ -z "$mode" ]; then
  if [ "$(id -u)" = 0 ]; then mode=system; else mode=user; fi
fi
if [ "$mode" = user ]; then
  service=no
  [ -n "${HOME:-}" ] || fail "HOME is not set, so there is no ~/.local; name a folder with --prefix"
  [ -n "$prefix" ] || prefix=$HOME/.local
else
  [ -n "$prefix" ] || prefix=/usr/local
fi
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
prefix=${prefix%/}
newline='
'
case $prefix in
*"$newline"*) misused "the prefix has a line break in it" ;;
# What was installed there without a service can be taken away again.
*[\"\\%\$]*) [ "$service" = no ] || [ "$action" = uninstall ] || misused "the service's prefix may have none of \" \\ % \$ in it; got $prefix" ;;
esac

lib=$prefix/lib/m40
# What an installation has placed outside of $lib, and the folders that it made for that: paths from $prefix.
placed=$lib/PLACED
made=$lib/MADE
unit=lib/systemd/system/m40.service
etc=/etc/m40 state=/var/lib/m40 cache=/var/cache/m40

# ---- taking away ------------------------------------------------------------------------------------

# The folders that files are placed in, each behind the one that it lies in.
FOLDERS='. lib bin share share/man share/man/man1 share/bash-completion share/bash-completion/completions share/zsh
share/zsh/site-functions share/fish share/fish/vendor_completions.d lib/systemd lib/systemd/system'

# Removes those of them that $1 names, where they are empty.
remove_folders() {
  last_first=''
  for folder in $FOLDERS; do last_first="$folder $last_first"; done
  for folder in $last_first; do
    case $newline$1$newline in
    *"$newline$folder$newline"*) rmdir "$prefix/${folder#.}" 2>/dev/null || : ;;
    esac
  done
}

# Whether bin/m40 is the link that this script makes.
is_own_link() { [ -L "$prefix/bin/m40" ] && [ "$(readlink "$prefix/bin/m40")" = ../lib/m40/m40 ]; }

# Removes what an installation has placed outside of $lib, or of it what $1 does not list.
remove_placed() {
  [ -f "$placed" ] || return 0
  while IFS= read -r path; do
    case $path in
    # Nothing but what this script places: the list may have been written to since.
    *..*) continue ;;
    bin/m40 | share/man/man1/m40*.1 | share/bash-completion/completions/m40 | share/zsh/site-functions/_m40 | \
      share/fish/vendor_completions.d/m40.fish | "$unit") ;;
    *) continue ;;
    esac
    if [ -n "${1:-}" ] && grep -qxF -e "$path" "$1"; then continue; fi
    # Somebody else's, put there since.
    if [ "$path" = bin/m40 ] && ! is_own_link; then continue; fi
    rm -f "$prefix/$path"
  done <"$placed"
}

has_systemd() { [ -d /run/systemd/system ] && command -v systemctl >/dev/null 2>&1; }

uninstall() {
  [ -e "$lib" ] || [ "$purge" = yes ] || fail "there is no m40 in $prefix; another place is named with --prefix"
  if [ -f "$lib/SERVICE" ]; then
    if has_systemd; then systemctl disable --now m40.service >/dev/null 2>&1 || :; fi
    rm -rf "$cache"
    if [ "$purge" = yes ] || cmp -s "$lib/m40.toml" "$etc/m40.toml"; then rm -f "$etc/m40.toml"; fi
    rmdir "$etc" 2>/dev/null || :
    if [ "$purge" = yes ]; then rm -rf "$state"; fi
    rmdir "$state/models" "$state" 2>/dev/null || :
    if [ -d "$state" ]; then
      say "kept $state with the models, and the user m40, whose they are; --uninstall --purge removes them"
    elif grep -qx made "$lib/SERVICE"; then
      userdel m40 2>/dev/null || say "the user m40 could not be removed: userdel m40"
      if getent group m40 >/dev/null 2>&1; then groupdel m40 2>/dev/null || :; fi
    fi
    if [ -d "$etc" ]; then say "kept $etc"; fi
  fi
  remove_placed
  folders=$(cat "$made" 2>/dev/null || :)
  rm -rf "$lib" "$prefix"/lib/.m40.*
  remove_folders "$folders"
  if has_systemd && [ "$mode" = system ]; then systemctl daemon-reload || :; fi
  if [ "$mode" = user ]; then
    data=${XDG_DATA_HOME:-$HOME/.local/share}/m40 history=${XDG_STATE_HOME:-$HOME/.local/state}/m40
    rm -rf "${XDG_CACHE_HOME:-$HOME/.cache}/m40"
    if [ "$purge" = yes ]; then rm -rf "$data" "$history"; fi
    for folder in "$data" "$history"; do
      if [ -d "$folder" ]; then say "kept $folder; --uninstall --purge removes it"; fi
    done
  fi
  say "m40 is removed from $prefix"
}

# A service that was removed with its models kept has its user and folders still.
purge_rest() {
  if [ "$mode" = system ] && [ "$purge" = yes ] && [ "$prefix" = /usr/local ] && [ ! -e "$lib" ]; then
    rm -rf "$state" "$cache" "$etc"
    if [ "$(getent passwd m40 | cut -d: -f6)" = "$state" ]; then userdel m40 2>/dev/null || :; fi
  fi
}

# ---- installing -------------------------------------------------------------------------------------

scratch='' fresh='' old=''
clean_up() {
  [ -z "$scratch" ] || rm -rf "$scratch"
  [ -z "$fresh" ] || rm -rf "$fresh"
  # What was there before is put back.
  if [ -n "$old" ] && [ ! -e "$lib" ]; then mv "$old" "$lib"; fi
}
trap 'clean_up' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

need() {
  for program; do
    command -v "$program" >/dev/null 2>&1 || fail "$program is not installed; it is needed to install m40"
  done
}

check_system() {
  system=$(uname -s) machine=$(uname -m)
  [ "$system:$machine" = Linux:x86_64 ] || fail "this m40 is for Linux on x86_64; here is $system on $machine"
  # "glibc 2.36"; musl has no answer.
  glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || fail "this m40 needs glibc 2.31 or newer; here is another C library"
  release=${glibc#glibc } major=${release%%.*} minor=${release#*.} minor=${minor%%[!0-9]*}
  [ "$major" -gt 2 ] || [ "$minor" -ge 31 ] || fail "this m40 needs glibc 2.31 or newer; here is $glibc"
}

# Copies the files of $source that SHA256SUMS names, and it.
copy_listed() {
  while IFS= read -r line; do
    path=${line#*  }
    case /$path/ in
    */../* | *//*) fail "$source/SHA256SUMS has the path $path, which leads out of it" ;;
    */*/*/*) mkdir -p "$fresh/${path%/*}" ;;
    esac
    cp "$source/$path" "$fresh/$path"
    case $path in
    m40 | install.sh) chmod 755 "$fresh/$path" ;;
    *) chmod 644 "$fresh/$path" ;;
    esac
  done <"$source/SHA256SUMS"
  cp "$source/SHA256SUMS" "$fresh/SHA256SUMS"
}

# Makes the folders that files are placed in, and lists those that were not there.
make_folders() {
  for folder in $FOLDERS; do
    case $folder in
    lib/systemd*) [ "$service" = yes ] || continue ;;
    esac
    if [ ! -d "$prefix/$folder" ]; then
      mkdir -p "$prefix/$folder"
      printf '%s\n' "$folder"
    fi
  done
}

# check_signature FILE: fails unless FILE.minisig is a signature of it by the key. Without a key there is nothing to check.
check_signature() {
  if [ "$signed" = no ]; then return; fi
  if [ -z "$key" ]; then
    if [ -f "$1.minisig" ]; then say "$1.minisig was not checked: this install.sh has no key; name one with --key"; fi
    return
  fi
  [ -f "$1.minisig" ] ||
    fail "there is no signature $1.minisig, so nobody vouches for $1; it is published beside the archive. An archive that you made yourself is installed with --unsigned"
  if [ -f "$key" ]; then key=$(sed -n 2p "$key"); fi
  case $key in
  RW*) [ "${#key}" = 56 ] ;;
  *) false ;;
  esac || fail "the key $key is no public key of minisign; wanted are its 56 characters, which begin with RW, or minisign.pub"
  if command -v minisign >/dev/null 2>&1; then
    minisign -V -q -P "$key" -m "$1" -x "$1.minisig" >/dev/null 2>&1
  elif openssl pkeyutl -help 2>&1 | grep -q -e -rawin; then
    openssl_verifies "$1"
  else
    fail "the signature of $1 cannot be checked: neither minisign nor OpenSSL 3 is installed; apt install minisign. Nothing was changed"
  fi || fail "$1 does not have the signature of $key: somebody changed it, or it is of another release or signer. Do not install this archive; fetch it again from where m40 is published"
}

# openssl_verifies FILE: what minisign does, by OpenSSL 3. A key is 2 bytes "Ed", 8 of its number and 32 of Ed25519; a
# signature "ED" (of the file's BLAKE2b hash) or "Ed" (of the file), the key's number, and 64 bytes of Ed25519.
openssl_verifies() {
  printf '%s' "$key" | openssl base64 -d -A >"$scratch/key"
  sed -n 2p "$1.minisig" | openssl base64 -d -A >"$scratch/signature"
  [ "$(wc -c <"$scratch/key")" -eq 42 ] && [ "$(wc -c <"$scratch/signature")" -eq 74 ] || return 1
  head -c 10 "$scratch/key" | tail -c 8 >"$scratch/key.number"
  head -c 10 "$scratch/signature" | tail -c 8 | cmp -s - "$scratch/key.number" || return 1
  # The key's 32 bytes behind what DER puts before them.
  { printf '\060\052\060\005\006\003\053\145\160\003\041\000' && tail -c 32 "$scratch/key"; } >"$scratch/key.der"
  tail -c 64 "$scratch/signature" >"$scratch/ed25519"
  case $(head -c 2 "$scratch/signature") in
  ED) openssl dgst -blake2b512 -binary "$1" >"$scratch/message" ;;
  Ed) cp "$1" "$scratch/message" ;;
  *) return 1 ;;
  esac
  openssl pkeyutl -verify -pubin -keyform DER -inkey "$scratch/key.der" -rawin -in "$scratch/message" \
    -sigfile "$scratch/ed25519" >/dev/null 2>&1
}

# The archive's folder, unpacked once its sum is right, and the sum's signature.
unpack() {
  need tar gzip mktemp
  [ -f "$archive" ] || fail "there is no file $archive"
  case $archive in
  */*) beside=${archive%/*} ;;
  *) beside=. ;;
  esac
  [ -n "$sums" ] || sums=$beside/SHA256SUMS
  [ -f "$sums" ] || fail "there is no $sums, so that $archive cannot be verified; it is published beside the archive, or named with --sums"
  scratch=$(mktemp -d)
  check_signature "$sums"
  name=${archive##*/}
  wanted=$(awk -v name="$name" 'substr($0, 67) == name && substr($0, 65, 2) ~ /^ [ *]$/ { print substr($0, 1, 64) }' "$sums")
  case $wanted in
  '') fail "$sums has no sum of $name" ;;
  *[!0-9a-f]*) fail "$sums has no one good sum of $name" ;;
  esac
  got=$(sha256sum <"$archive") && got=${got%% *}
  [ "$got" = "$wanted" ] ||
    fail "$archive is not what was published: its SHA-256 is $got, $sums has $wanted; fetch it again"
  mkdir "$scratch/archive"
  tar -xzf "$archive" -C "$scratch/archive" --no-same-owner || fail "$archive cannot be unpacked"
  set -- "$scratch/archive"/m40-*
  if [ "$#" != 1 ] || [ ! -f "$1/m40" ]; then fail "$archive has no m40 in it"; fi
  source=$1
}

# Every file that is to be there has its sum, and there is no other.
verify() {
  [ -f "$source/SHA256SUMS" ] ||
    fail "$source is no unpacked archive of m40: SHA256SUMS is missing; name the archive behind install.sh"
  # BusyBox's sha256sum has no --quiet and no --strict.
  wrong=$(
    cd "$source"
    { grep -v '^[0-9a-f]\{64\}  .' SHA256SUMS || sha256sum -c SHA256SUMS 2>&1; } | grep -v ': OK$'
  ) || :
  [ -z "$wrong" ] ||
    fail "$source is damaged: files are missing or not those of SHA256SUMS; unpack the archive again:$newline$wrong"
  for file in m40 libm40_cpu.so man/m40.1 completions/m40.bash m40.service m40.toml; do
    grep -q "^[0-9a-f]\{64\}  $file\$" "$source/SHA256SUMS" || fail "$source/SHA256SUMS does not name $file"
  done
}

# place FROM TO: a file of the archive, at a path from $prefix, in one move.
place() {
  rm -f "$prefix/${2%/*}/.m40.new"
  cp "$1" "$prefix/${2%/*}/.m40.new"
  chmod 644 "$prefix/${2%/*}/.m40.new"
  mv -f "$prefix/${2%/*}/.m40.new" "$prefix/$2"
}

make_user() {
  if getent passwd m40 >/dev/null 2>&1; then
    # The one of an installation before this.
    if [ "$(getent passwd m40 | cut -d: -f6)" = "$state" ]; then say made; else say found; fi
    return
  fi
  need useradd
  shell=/usr/sbin/nologin
  [ -x "$shell" ] || shell=/bin/false
  useradd --system --user-group --home-dir "$state" --no-create-home --shell "$shell" \
    --comment "m40, a server of large language models" m40
  say made
}

install_service() {
  account=$(make_user)
  # The groups that may open the GPU, where a system restricts it to one.
  for group in video render; do
    if getent group "$group" >/dev/null 2>&1; then usermod --append --groups "$group" m40; fi
  done
  printf '%s\n' "$account" >"$lib/SERVICE"
  mkdir -p "$etc" "$state/models"
  chown m40:m40 "$state" "$state/models"
  chmod 750 "$state" "$state/models"
  [ -e "$etc/m40.toml" ] || cp "$lib/m40.toml" "$etc/m40.toml"
  awk -v lib="$lib" '{
    if (index($0, "ExecStart=") == 1) $0 = "ExecStart=\"" lib "/m40\" serve"
    print
  }' "$lib/m40.service" >"$lib/.unit"
  place "$lib/.unit" "$unit"
  rm -f "$lib/.unit"
  if has_systemd; then systemctl daemon-reload; fi
}

install() {
  need sha256sum awk sed grep cp mv mkdir rm ln readlink chmod cmp uname getconf
  check_system
  if [ "$service" = yes ]; then
    [ "$(id -u)" = 0 ] || fail "--system with a service is root's to install; --user installs into ~/.local"
    need getent usermod
  fi
  if [ -n "$archive" ]; then unpack; else source=$(cd "$(dirname "$0")" && pwd); fi
  verify
  [ ! -e "$lib" ] || [ -f "$lib/SHA256SUMS" ] || [ -f "$placed" ] || fail "$lib is there, and is no m40 of this script's; move it away"
  if [ -d "$prefix/bin/m40" ] && [ ! -L "$prefix/bin/m40" ]; then fail "$prefix/bin/m40 is a folder; move it away"; fi
  if [ -e "$prefix/bin/m40" ] || [ -L "$prefix/bin/m40" ]; then
    is_own_link || [ "$force" = yes ] ||
      fail "$prefix/bin/m40 is there, and is not this script's; move it away, or replace it with --force"
  fi

  folders=$(make_folders)
  # What is refused below leaves no folders behind.
  trap 'clean_up; [ -e "$lib" ] || remove_folders "$folders"' EXIT
  # All of it under another name first, so that m40 is there whole or not at all.
  rm -rf "$prefix"/lib/.m40.new.*
  fresh=$prefix/lib/.m40.new.$$
  mkdir "$fresh"
  copy_listed
  source=$fresh
  verify
  report=$("$fresh/m40" --version --json) ||
    fail "m40 does not start here; the message above says what it lacks. Nothing was changed"
  problems=$(printf '%s\n' "$report" | sed -n 's/^ *"problem": "\(.*\)",$/\1/p' | grep -vx 'not found' || :)
  [ -z "$problems" ] || fail "m40 cannot use its kernel libraries here. Nothing was changed:$newline$problems"
  (
    printf '%s\n' bin/m40 share/bash-completion/completions/m40 share/zsh/site-functions/_m40 \
      share/fish/vendor_completions.d/m40.fish
    cd "$fresh/man" && printf 'share/man/man1/%s\n' *.1
    if [ "$service" = yes ] || [ -f "$lib/SERVICE" ]; then printf '%s\n' "$unit"; fi
  ) >"$fresh/PLACED"
  { if [ -f "$made" ]; then cat "$made"; fi && printf '%s\n' "$folders"; } | sed '/^$/d' >"$fresh/MADE"
  # Without it --uninstall would leave the service behind.
  if [ -f "$lib/SERVICE" ]; then cp "$lib/SERVICE" "$fresh/SERVICE"; fi
  remove_placed "$fresh/PLACED"
  updated=no
  rm -rf "$prefix"/lib/.m40.old.*
  if [ -e "$lib" ]; then
    old=$prefix/lib/.m40.old.$$
    mv "$lib" "$old"
    updated=yes
  fi
  mv "$fresh" "$lib"
  # The old one stays until the next time: a server that runs opens its libraries there still.
  fresh='' old=''

  # What is moved to a link to a folder lands in that.
  if [ -d "$prefix/bin/m40" ]; then rm -f "$prefix/bin/m40"; fi
  ln -sf ../lib/m40/m40 "$prefix/bin/.m40.new"
  mv -f "$prefix/bin/.m40.new" "$prefix/bin/m40"
  place "$lib/completions/m40.bash" share/bash-completion/completions/m40
  place "$lib/completions/m40.zsh" share/zsh/site-functions/_m40
  place "$lib/completions/m40.fish" share/fish/vendor_completions.d/m40.fish
  for page in "$lib"/man/*.1; do place "$page" "share/man/man1/${page##*/}"; done
  if [ "$service" = yes ]; then install_service; fi

  say "$("$prefix/bin/m40" --version) is installed in $prefix"
  case :${PATH:-}: in
  *:"$prefix/bin":*) ;;
  *) say "$prefix/bin is not on the PATH; add it, or call $prefix/bin/m40" ;;
  esac
  [ -f "$lib/libm40_cuda.so" ] || say "this m40 is without libm40_cuda.so: it uses the CPU, not a GPU"
  if [ "$updated" = yes ]; then
    say "an m40 that is running is the one from before until it is restarted; restart it (the service: systemctl restart m40)"
  fi
  if [ "$service" = no ] && [ -f "$lib/SERVICE" ]; then say "the service that was there stays; --uninstall removes it"; fi
  if [ "$service" = yes ]; then
    say "the service: $etc/m40.toml has its options, systemctl enable --now m40 starts it"
  else
    say 'to try it: m40 run demo "Once upon a time"'
  fi
}

case $action in
install) install ;;
uninstall)
  uninstall
  purge_rest
  ;;
esac
