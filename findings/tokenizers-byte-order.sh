#!/usr/bin/env bash
# Package: tokenizers 0.23.3 (PyPI).
# Input: a BPE model with byte_fallback, whose vocabulary has the byte token <0x61> but no byte token
#   for "b". The text is "ba".
# Guess: the tokens come in the order of the text: <unk>, <0x61>.
# Seen: <0x61>, <unk>. The unknown token waits for a later character, and the byte token passes it.
#   So "ba" and "ab" get the same tokens, and the offsets of "ba" name the other one's characters.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check tokenizers==0.23.3

venv/bin/python - >seen <<'EOF'
from tokenizers import Tokenizer
from tokenizers.models import BPE

vocabulary = {"<unk>": 0, "<0x61>": 1, "c": 2}
model = BPE(vocabulary, [], unk_token="<unk>", byte_fallback=True)
tokenizer = Tokenizer(model)
for text in ("ba", "bac", "ab"):
    encoding = tokenizer.encode(text)
    print(text, encoding.tokens, encoding.offsets)
EOF

cat seen
diff - seen <<'EOF'
ba ['<0x61>', '<unk>'] [(0, 1), (1, 2)]
bac ['<0x61>', '<unk>', 'c'] [(0, 1), (1, 2), (2, 3)]
ab ['<0x61>', '<unk>'] [(0, 1), (1, 2)]
EOF
