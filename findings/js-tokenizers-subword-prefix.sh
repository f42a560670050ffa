#!/usr/bin/env bash
# Packages: @huggingface/tokenizers 0.2.0 (npm) beside tokenizers 0.23.3 (PyPI).
# Input: one tokenizer.json with BPE and continuing_subword_prefix "##", as trained with that option.
# Guess: both look up the later characters of a word as ##b, and merge "a" with "##b" to "ab".
# Seen: the npm package ignores the option (it knows end_of_word_suffix). It looks up the bare
#   characters, so that no merge applies and most ids are other ones.
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
      "type": "BPE", "unk_token": "<unk>", "dropout": null, "continuing_subword_prefix": "##",
      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
      "vocab": { "<unk>": 0, "a": 1, "b": 2, "##a": 3, "##b": 4, "ab": 5 },
      "merges": [["a", "##b"]]
    }
  },
  "texts": ["ab", "ba", "a b"]
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
"ab" [5]
"ba" [2, 3]
"a b" [1, 2]
npm
"ab" [1, 2]
"ba" [2, 1]
"a b" [1, 2]
EOF
