#!/usr/bin/env bash
# Packages: @huggingface/tokenizers 0.2.0 (npm) beside tokenizers 0.23.3 (PyPI).
# Input: one tokenizer.json whose Split pre-tokenizer has invert: true, behaviour Isolated and the
#   pattern [0-9]+.
# Guess: invert swaps the roles of matches and gaps; with Isolated, both give the same pieces.
# Seen: the npm package drops every text that the pattern does not match: "ab 12 cd" becomes one
#   token, and "abc" none.
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
      "type": "Split", "pattern": { "Regex": "[0-9]+" }, "behavior": "Isolated", "invert": true
    },
    "post_processor": null, "decoder": null,
    "model": {
      "type": "WordLevel", "unk_token": "<unk>",
      "vocab": { "<unk>": 0, "ab ": 1, "12": 2, " cd": 3, "abc": 4 }
    }
  },
  "texts": ["ab 12 cd", "abc", "12"]
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
"ab 12 cd" [1, 2, 3]
"abc" [4]
"12" [2]
npm
"ab 12 cd" [2]
"abc" []
"12" [2]
EOF
