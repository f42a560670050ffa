#!/usr/bin/env bash
# Package: litellm 1.110.2 (PyPI).
# Input: a conversation sent to a model named ollama/m. A small server of this script answers.
# Guess: LiteLLM posts the messages to /api/chat, so that Ollama applies the model's own template.
# Seen: it posts to /api/generate, with a prompt that it builds itself from "### User:" headings. The
#   text is not sent as raw, so that Ollama wraps all of it in the template as one user message.
#   The name ollama_chat/m does what one would guess.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check litellm==1.110.2

venv/bin/python - >seen 2>log <<'EOF'
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/api/show":
            shown = {key: body[key] for key in ("prompt", "messages", "raw") if key in body}
            print(self.path, json.dumps(shown))
        answer = {"model": "m", "response": "ok", "message": {"role": "assistant", "content": "ok"}, "done": True}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
messages = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Yes?"},
    {"role": "user", "content": "Bye"},
]
for model in ("ollama/m", "ollama_chat/m"):
    litellm.completion(model=model, api_base=f"http://127.0.0.1:{server.server_port}", messages=messages)
EOF

cat seen
diff - seen <<'EOF'
/api/generate {"prompt": "### System:\nBe brief.\n\n### User:\nHi\n\n### Assistant:\nYes?\n\n### User:\nBye\n\n"}
/api/chat {"messages": [{"role": "system", "content": "Be brief.", "images": []}, {"role": "user", "content": "Hi", "images": []}, {"role": "assistant", "content": "Yes?", "images": []}, {"role": "user", "content": "Bye", "images": []}]}
EOF
