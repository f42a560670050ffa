#!/usr/bin/env bash
# Packages: lm_eval 0.4.13 beside transformers 5.24.0's rule, here as plain Jinja2 3.1.6 (PyPI).
# Input: a server's chat template with {% if tools %}, as most templates have it, through
#   tokenizer_backend=remote.
# Guess: lm_eval renders it as transformers does: an undefined variable is false.
# Seen: it renders the template in the environment of its task files, where an undefined variable
#   raises an error and a template keeps its last line feed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check jinja2==3.1.6 requests==2.32.5 numpy==2.3.5 pyyaml==6.0.3
venv/bin/pip install --quiet --no-compile --disable-pip-version-check --no-deps lm_eval==0.4.13

venv/bin/python - >seen <<'EOF'
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
from lm_eval.utils import RemoteTokenizer

TEMPLATE = ""

class Server(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"chat_template": TEMPLATE, "eos_token": "</s>"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
messages = [{"role": "user", "content": "Hi"}]
environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
for TEMPLATE in (
    "{{ messages[0].content }}",
    "{% if tools %}T{% endif %}{{ messages[0].content }}",
    "{% if messages %}\n  {{ messages[0].content }}\n{% endif %}\n",
):
    print(repr(TEMPLATE))
    plain = environment.from_string(TEMPLATE).render(messages=messages)
    print("  as transformers sets Jinja up:", repr(plain))
    try:
        remote = RemoteTokenizer(f"http://127.0.0.1:{server.server_port}/v1/completions")
        print("  lm_eval:", repr(remote.apply_chat_template(messages)))
    except jinja2.TemplateError as error:
        print("  lm_eval:", type(error).__name__, error)
EOF

cat seen
diff - seen <<'EOF'
'{{ messages[0].content }}'
  as transformers sets Jinja up: 'Hi'
  lm_eval: 'Hi'
'{% if tools %}T{% endif %}{{ messages[0].content }}'
  as transformers sets Jinja up: 'Hi'
  lm_eval: UndefinedError 'tools' is undefined
'{% if messages %}\n  {{ messages[0].content }}\n{% endif %}\n'
  as transformers sets Jinja up: '  Hi\n'
  lm_eval: '\n  Hi\n\n'
EOF
