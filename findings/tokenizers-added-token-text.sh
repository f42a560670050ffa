#!/usr/bin/env bash
# Package: tokenizers 0.23.3 (PyPI).
# Input: a special token <X> with lstrip and rstrip, in the text "a <X> b".
# Guess: Encoding.tokens holds the vocabulary's names of the ids, so "<X>".
# Seen: it holds " <X> ", the piece of the text with its blanks, which is in no vocabulary:
#   token_to_id answers None for it. id_to_token of the same id answers "<X>".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check tokenizers==0.23.3

venv/bin/python - >seen <<'EOF'
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

tokenizer = Tokenizer(WordLevel({"<unk>": 0, "a": 1, "b": 2}, unk_token="<unk>"))
tokenizer.pre_tokenizer = WhitespaceSplit()
tokenizer.add_special_tokens([AddedToken("<X>", lstrip=True, rstrip=True)])
encoding = tokenizer.encode("a <X> b")
print("tokens      ", encoding.tokens)
print("token_to_id ", [tokenizer.token_to_id(token) for token in encoding.tokens])
print("ids         ", encoding.ids)
print("id_to_token ", [tokenizer.id_to_token(id) for id in encoding.ids])
EOF

cat seen
diff - seen <<'EOF'
tokens       ['a', ' <X> ', 'b']
token_to_id  [1, None, 2]
ids          [1, 3, 2]
id_to_token  ['a', '<X>', 'b']
EOF
