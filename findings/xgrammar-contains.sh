#!/usr/bin/env bash
# Package: xgrammar 0.2.8 (PyPI). Empty stand-ins take the place of PyTorch and transformers, which
#   it imports but its grammars do not use: they would make this a download of gigabytes.
# Input: {"type": "array", "contains": {"type": "integer"}}, with the default options and with
#   strict_mode=False.
# Guess: [1] is accepted and [] refused.
# Seen: with the defaults, only [] is accepted, which the schema forbids; an array that the schema
#   allows cannot be written. With strict_mode=False, contains is ignored.
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

schema = {"type": "array", "contains": {"type": "integer"}}
for text in ("[]", "[1]", '["a"]'):
    print(text, "defaults:", accepts(schema, text), "not strict:", accepts(schema, text, strict_mode=False))
EOF

cat seen
diff - seen <<'EOF'
[] defaults: True not strict: True
[1] defaults: False not strict: True
["a"] defaults: False not strict: True
EOF
