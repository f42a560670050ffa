#!/usr/bin/env bash
# Package: @continuedev/openai-adapters 1.37.0 (npm).
# Input: the provider "llama.cpp" with the address of a server, as Continue's users set it. A small
#   server of this script answers.
# Guess: it calls llama.cpp's own /completion, or /v1/chat/completions.
# Seen: it calls OpenAI's shapes without the /v1 in front: /chat/completions.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund @continuedev/openai-adapters@1.37.0

cat >run.mjs <<'EOF'
import { createServer } from "node:http";
import { constructLlmApi } from "@continuedev/openai-adapters";

const server = createServer((request, response) => {
  console.log(request.method, request.url);
  request.resume();
  response.setHeader("Content-Type", "application/json");
  const message = { role: "assistant", content: "ok" };
  const choices = [{ index: 0, message, text: "ok", finish_reason: "stop" }];
  response.end(JSON.stringify({ id: "1", object: "chat.completion", choices, data: [] }));
});
server.listen(0, "127.0.0.1", async () => {
  const apiBase = `http://127.0.0.1:${server.address().port}`;
  const api = constructLlmApi({ provider: "llama.cpp", apiBase, model: "m" });
  const { signal } = new AbortController();
  const messages = [{ role: "user", content: "hi" }];
  await api.chatCompletionNonStream({ model: "m", messages, stream: false }, signal);
  await api.completionNonStream({ model: "m", prompt: "hi", stream: false }, signal);
  process.exit(0);
});
EOF
node run.mjs >seen

cat seen
diff - seen <<'EOF'
POST /chat/completions
POST /completions
EOF
