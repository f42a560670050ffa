#!/usr/bin/env bash
# Package: mistral-common 1.13.1 (PyPI), with sentencepiece 0.2.1.
# Input: a call of a tool, its result, the answer to that, and another question.
# Guess: the call and its result stand in the prompt of v2 and v3 alike.
# Seen: v2 leaves both out once a user has said something after them, without a word. The model reads
#   an answer to a question that it never looked up. v3 keeps them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check mistral-common==1.13.1 sentencepiece==0.2.1

venv/bin/python - >seen 2>errors <<'EOF' || { cat errors; exit 1; }
from mistral_common.protocol.instruct.messages import AssistantMessage, ToolMessage, UserMessage
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.tool_calls import FunctionCall, ToolCall
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

call = ToolCall(id="abcdefghi", function=FunctionCall(name="f", arguments='{"a":1}'))
round = [
    UserMessage(content="q"),
    AssistantMessage(content=None, tool_calls=[call]),
    ToolMessage(content="42", tool_call_id="abcdefghi", name="f"),
]
later = [AssistantMessage(content="done"), UserMessage(content="go")]
for version in ("v2", "v3"):
    for messages in (round, round + later):
        request = ChatCompletionRequest(messages=messages)
        text = getattr(MistralTokenizer, version)().encode_chat_completion(request).text
        print(version, len(messages), "messages:", "42" in text, "TOOL_CALLS" in text)
EOF

cat seen
diff - seen <<'EOF'
v2 3 messages: True True
v2 5 messages: False False
v3 3 messages: True True
v3 5 messages: True True
EOF
