#!/usr/bin/env bash
# Package: xgrammar 0.2.8 (PyPI). Empty stand-ins take the place of PyTorch and transformers, which
#   it imports but its grammars do not use: they would make this a download of gigabytes.
# Input: strings with an escape, under {"type": "string"} and beside pattern ".*" or maxLength 9.
# Guess: all accept the same texts, since .* and 9 characters allow a quote or a line feed in a value.
# Seen: beside pattern or maxLength, no escape is accepted at all. A model cannot write a quote, a
#   backslash or a line feed there.
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

for value in ("ab", "a\"b", "a\\b", "a\nb"):
    text = json.dumps(value)
    print(
        text,
        "plain:", accepts({"type": "string"}, text),
        "pattern:", accepts({"type": "string", "pattern": ".*"}, text),
        "maxLength:", accepts({"type": "string", "maxLength": 9}, text),
    )
EOF

cat seen
diff - seen <<'EOF'
"ab" plain: True pattern: True maxLength: True
"a\"b" plain: True pattern: False maxLength: False
"a\\b" plain: True pattern: False maxLength: False
"a\nb" plain: True pattern: False maxLength: False
EOF
