#!/bin/sh
# Run by try_in_roots.sh in a root: install, use, remove, as the system and as a user.
set -eu
cd /release
archive=$1
# shellcheck disable=SC1091
. /etc/os-release
echo "== $PRETTY_NAME, $(getconf GNU_LIBC_VERSION)"
for absent in deno node gcc g++ nvcc; do
  if command -v "$absent" >/dev/null; then echo "$absent is here, and should not be" && exit 1; fi
done
everything() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /release \) -prune -o -print | sort; }
# What a try that failed has left.
if [ -e /usr/local/lib/m40 ]; then sh install.sh --uninstall --purge; fi
everything >/tmp/before

# The system: /usr/local, the user m40, /var/lib/m40.
sh install.sh "$archive" --unsigned
m40 --version --json
m40 run demo "Once upon a time" --max-tokens 20 --temperature 0
[ "$(stat -c %U /var/lib/m40/models)" = m40 ]
# As the service would have it: its user, its environment.
setpriv --reuid m40 --regid m40 --init-groups env \
  XDG_CONFIG_HOME=/etc XDG_DATA_HOME=/var/lib XDG_STATE_HOME=/var/lib XDG_CACHE_HOME=/tmp/cache HOME=/var/lib/m40 \
  m40 serve --model demo --port 11555 2>/tmp/log &
server=$!
for _ in $(seq 300); do
  if curl -sf http://127.0.0.1:11555/ready >/dev/null; then break; fi
  sleep 0.2
done
asked='{"model": "demo", "prompt": "Once upon a time", "max_tokens": 12, "temperature": 0}'
curl -sf http://127.0.0.1:11555/v1/completions -H 'Content-Type: application/json' -d "$asked" | tee /tmp/answer
echo
grep -q '"object":"text_completion"' /tmp/answer
chat='{"model": "demo", "messages": [{"role": "user", "content": "A story, please."}], "max_tokens": 12, "stream": true}'
curl -sfN http://127.0.0.1:11555/v1/chat/completions -H 'Content-Type: application/json' -d "$chat" >/tmp/stream
grep -q '^data: \[DONE\]' /tmp/stream
kill -TERM "$server"
wait "$server"
sh install.sh "$archive" --unsigned # once more, as an update
sh /usr/local/lib/m40/install.sh --uninstall --purge
if getent passwd m40; then echo "the user m40 is still there" && exit 1; fi

# A user, with a space in the way to the home.
mkdir -p "/tmp/a home"
(
  HOME="/tmp/a home"
  export HOME
  sh install.sh "$archive" --unsigned --user
  "$HOME/.local/bin/m40" run demo "Once" --max-tokens 5 --temperature 0
  sh "$HOME/.local/lib/m40/install.sh" --uninstall --purge --user
)
[ -z "$(find "/tmp/a home" -type f)" ]

# Of what useradd and userdel rewrite, only the backups are new.
rm -rf /root/.cache/m40 /root/.local/state/m40
everything >/tmp/after
diff /tmp/before /tmp/after >/tmp/left || :
if grep '^[<>]' /tmp/left | grep -vE ' /etc/(passwd|group|shadow|gshadow|subuid|subgid)-$| /etc/\.pwd\.lock$| /root/\.(cache|local)'; then
  echo "these are left over, or gone" && exit 1
fi
echo "== $PRETTY_NAME: installed, used, removed"
