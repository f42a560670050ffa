#!/usr/bin/env bash
# Package: llguidance 1.9.1 (PyPI).
# Input: {"enum": [1.0]} and {"const": 1}, and the ways to write those numbers.
# Guess: the number is accepted as the schema writes it.
# Seen: 1.0 in the schema accepts the text 1 alone: a model cannot write what stands in the schema,
#   and a float of the program that reads it comes back as an integer. 2.5 is accepted as it is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check llguidance==1.9.1

venv/bin/python - >seen <<'EOF'
import json
from llguidance import LLMatcher, LLTokenizer

tokenizer = LLTokenizer("byte")

def accepts(schema, text):
    matcher = LLMatcher(tokenizer, LLMatcher.grammar_from_json_schema(json.dumps(schema)))
    data = list(text.encode())
    return matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting()

for schema, texts in (({"enum": [1.0]}, ("1.0", "1")), ({"const": 1}, ("1.0", "1")), ({"const": 2.5}, ("2.5",))):
    print(json.dumps(schema), *(f"{text}: {accepts(schema, text)}" for text in texts))
EOF

cat seen
diff - seen <<'EOF'
{"enum": [1.0]} 1.0: False 1: True
{"const": 1} 1.0: False 1: True
{"const": 2.5} 2.5: True
EOF
