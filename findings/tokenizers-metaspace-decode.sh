#!/usr/bin/env bash
# Package: tokenizers 0.23.3 (PyPI).
# Input: the Metaspace pre-tokenizer and decoder, both with prepend_scheme "always", and texts that
#   begin with blanks.
# Guess: the decoder takes back the one blank that the pre-tokenizer puts in front.
# Seen: the decoder takes every blank in front of the first token, and the pre-tokenizer adds none
#   where the text begins with one. So "f", " f" and "  f" all decode to "f".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check tokenizers==0.23.3

venv/bin/python - >seen <<'EOF'
from tokenizers import Tokenizer
from tokenizers.decoders import Metaspace as Decoder
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Metaspace

tokenizer = Tokenizer(WordLevel({"<unk>": 0, "▁f": 1, "▁▁f": 2, "▁▁▁f": 3}, unk_token="<unk>"))
tokenizer.pre_tokenizer = Metaspace(prepend_scheme="always", split=False)
tokenizer.decoder = Decoder(prepend_scheme="always", split=False)
for text in ("f", " f", "  f", "   f"):
    encoding = tokenizer.encode(text)
    print(repr(text), encoding.tokens, repr(tokenizer.decode(encoding.ids)))
EOF

cat seen
diff - seen <<'EOF'
'f' ['▁f'] 'f'
' f' ['▁f'] 'f'
'  f' ['▁▁f'] 'f'
'   f' ['▁▁▁f'] 'f'
EOF
