#!/usr/bin/env bash
# Package: openai 3.57.0 (PyPI).
# Input: a server that answers 429 with Retry-After of 90, 120 and 121 seconds. The script notes what
#   the client would sleep instead of sleeping.
# Guess: beyond a minute the header is passed over, and the client tries again after its own short
#   backoff, as earlier versions did.
# Seen: up to 120 seconds are waited for. From 121 on the call fails at once and is not tried again,
#   though max_retries allows it: a server that says how long it takes is given up.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check openai==3.57.0

venv/bin/python - >seen <<'EOF'
import http.server
import threading
import time

class Busy(http.server.BaseHTTPRequestHandler):
    wait = ""

    def do_GET(self):
        self.send_response(429)
        self.send_header("Retry-After", Busy.wait)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy)
threading.Thread(target=server.serve_forever, daemon=True).start()
import openai

client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.server_port}", api_key="k", max_retries=1, timeout=600)
for wait in ("90", "120", "121"):
    Busy.wait, slept = wait, []
    time.sleep = slept.append
    try:
        client.models.list()
    except openai.RateLimitError:
        print("Retry-After:", wait, "sleeps", slept)
EOF

cat seen
diff - seen <<'EOF'
Retry-After: 90 sleeps [90.0]
Retry-After: 120 sleeps [120.0]
Retry-After: 121 sleeps []
EOF
