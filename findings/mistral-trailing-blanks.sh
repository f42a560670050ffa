#!/usr/bin/env bash
# Package: mistral-common 1.13.1 (PyPI), with sentencepiece 0.2.1.
# Input: an earlier answer, and one to continue (prefix), that end in a blank; with each version of
#   the instruct tokenizer.
# Guess: the texts of messages stand in the prompt as they were sent.
# Seen: v1 keeps the blank. v2, v3 and v7 take it from an assistant's message, never from a user's.
#   An answer to be continued behind "a " is continued behind "a".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check mistral-common==1.13.1 sentencepiece==0.2.1

venv/bin/python - >seen 2>errors <<'EOF' || { cat errors; exit 1; }
from mistral_common.protocol.instruct.messages import AssistantMessage, UserMessage
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

def prompt(version, *messages):
    request = ChatCompletionRequest(messages=list(messages))
    return getattr(MistralTokenizer, version)().encode_chat_completion(request).text

for version in ("v1", "v2", "v3", "v7"):
    print(version, prompt(version, UserMessage(content="q "), AssistantMessage(content="a "), UserMessage(content="r")))
    print(version, prompt(version, UserMessage(content="q "), AssistantMessage(content="a ", prefix=True)))
EOF

cat seen
diff - seen <<'EOF'
v1 <s>▁[INST]▁q▁▁[/INST]▁a▁</s>▁[INST]▁r▁[/INST]
v1 <s>▁[INST]▁q▁▁[/INST]▁a▁
v2 <s>[INST]▁q▁[/INST]▁a</s>[INST]▁r[/INST]
v2 <s>[INST]▁q▁[/INST]▁a
v3 <s>[INST]▁q▁[/INST]▁a</s>[INST]▁r[/INST]
v3 <s>[INST]▁q▁[/INST]▁a
v7 <s>[INST]▁q▁[/INST]▁a</s>[INST]▁r[/INST]
v7 <s>[INST]▁q▁[/INST]▁a
EOF
