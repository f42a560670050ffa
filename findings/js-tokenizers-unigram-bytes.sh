#!/usr/bin/env bash
# Packages: @huggingface/tokenizers 0.2.0 (npm) beside tokenizers 0.23.3 (PyPI).
# Input: one tokenizer.json with a Unigram model, byte_fallback: true and the byte tokens of "é".
# Guess: both write an unknown "é" as its two byte tokens.
# Seen: the npm package reads byte_fallback for BPE only. With Unigram it answers the unknown id,
#   though every byte token is there.
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
    "pre_tokenizer": null, "post_processor": null, "decoder": null,
    "model": {
      "type": "Unigram", "unk_id": 0, "byte_fallback": true,
      "vocab": [["<unk>", 0], ["a", -1], ["<0xC3>", -9], ["<0xA9>", -9]]
    }
  },
  "texts": ["a", "aé", "éa"]
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
"a" [1]
"aé" [1, 2, 3]
"éa" [2, 3, 1]
npm
"a" [1]
"aé" [1, 0]
"éa" [0, 1]
EOF
