#!/usr/bin/env bash
# Packages: @huggingface/tokenizers 0.2.0 (npm) beside tokenizers 0.23.3 (PyPI).
# Input: one tokenizer.json with BPE, fuse_unk: true and WhitespaceSplit. The text has three unknown
#   words.
# Guess: unknown characters fuse within a word, so that each word keeps one unknown token.
# Seen: so in Python. The npm package fuses across words: three words become one token.
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
    "pre_tokenizer": { "type": "WhitespaceSplit" }, "post_processor": null, "decoder": null,
    "model": {
      "type": "BPE", "unk_token": "<unk>", "dropout": null, "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": false, "ignore_merges": false,
      "vocab": { "<unk>": 0, "a": 1 }, "merges": []
    }
  },
  "texts": ["xy", "xy zz xz", "xy a zz"]
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
"xy" [0]
"xy zz xz" [0, 0, 0]
"xy a zz" [0, 1, 0]
npm
"xy" [0]
"xy zz xz" [0]
"xy a zz" [0, 1, 0]
EOF
