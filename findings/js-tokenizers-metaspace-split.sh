#!/usr/bin/env bash
# Packages: @huggingface/tokenizers 0.2.0 (npm) beside tokenizers 0.23.3 (PyPI).
# Input: one tokenizer.json with the Metaspace pre-tokenizer, split: true, and a BPE merge across a
#   word boundary ("a▁" with "b").
# Guess: split: true cuts in front of every ▁, so that no merge crosses it.
# Seen: the npm package replaces the blanks and never cuts. The whole text is one piece, and "a b"
#   uses the merge that Python cannot use.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund @huggingface/tokenizers@0.2.0
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check tokenizers==0.23.3

cat >case.json <<'EOF'
{
  "tokenizer": {
    "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
    "pre_tokenizer": {
      "type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true
    },
    "post_processor": null, "decoder": null,
    "model": {
      "type": "BPE", "unk_token": "<unk>", "dropout": null, "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
      "vocab": { "<unk>": 0, "a": 1, "b": 2, "▁": 3, "a▁": 4, "a▁b": 5 },
      "merges": [["a", "▁"], ["a▁", "b"]]
    }
  },
  "texts": ["a b", "a", "b a b"]
}
EOF
cat >run.py <<'EOF'
import json
from tokenizers import Tokenizer

case = json.load(open("case.json"))
tokenizer = Tokenizer.from_str(json.dumps(case["tokenizer"]))
for text in case["texts"]:
    print(json.dumps(text, ensure_ascii=False), tokenizer.encode(text).ids)
EOF
cat >run.mjs <<'EOF'
import { readFileSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";

const { tokenizer: file, texts } = JSON.parse(readFileSync("case.json", "utf8"));
const tokenizer = new Tokenizer(file, {});
for (const text of texts) {
  console.log(JSON.stringify(text), `[${tokenizer.encode(text).ids.join(", ")}]`);
}
EOF

{
  echo Python; venv/bin/python run.py
  echo npm; node run.mjs
} >seen

cat seen
diff - seen <<'EOF'
Python
"a b" [1, 3, 2]
"a" [1]
"b a b" [2, 3, 1, 3, 2]
npm
"a b" [5]
"a" [1]
"b a b" [2, 3, 5]
EOF
