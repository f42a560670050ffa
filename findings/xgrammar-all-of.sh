#!/usr/bin/env bash
# Package: xgrammar 0.2.8 (PyPI). Empty stand-ins take the place of PyTorch and transformers, which
#   it imports but its grammars do not use: they would make this a download of gigabytes.
# Input: allOf with one and with two branches.
# Guess: the branches hold together; a branch that cannot be joined is an error.
# Seen: one branch holds. Two branches are dropped with no more than a line on standard error
#   ("Support for allOf with multiple options is still ongoing"): any JSON is accepted, even a string
#   where both branches ask for an object.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check \
  apache-tvm-ffi==0.1.15.post2 numpy==2.3.5 pydantic==2.14.4 typing-extensions==4.16.0
venv/bin/pip install --quiet --no-compile --disable-pip-version-check --no-deps xgrammar==0.2.8

venv/bin/python - >seen <<'EOF'
import json
import sys
from unittest.mock import MagicMock
import tvm_ffi  # Before the stand-ins: it asks whether PyTorch is there.

sys.modules.update(torch=MagicMock(), transformers=MagicMock())
import xgrammar

# A vocabulary of the 256 bytes and an end token.
vocabulary = [bytes([byte]) for byte in range(256)] + [b"</s>"]
compiler = xgrammar.GrammarCompiler(
    xgrammar.TokenizerInfo(vocabulary, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
)

def accepts(schema, text, **options):
    matcher = xgrammar.GrammarMatcher(compiler.compile_json_schema(json.dumps(schema), **options))
    return all(matcher.accept_token(byte) for byte in text.encode()) and matcher.accept_token(256)

def needs(name):
    return {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]}

one = {"allOf": [needs("a")]}
two = {"allOf": [needs("a"), needs("b")]}
for text in ('{"a":1}', '{"c":null}', '"text"'):
    print(text, "one branch:", accepts(one, text), "two branches:", accepts(two, text))
EOF

cat seen
diff - seen <<'EOF'
{"a":1} one branch: True two branches: True
{"c":null} one branch: False two branches: True
"text" one branch: False two branches: True
EOF
