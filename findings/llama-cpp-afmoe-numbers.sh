#!/usr/bin/env bash
# Packages: xllamacpp 2026.10.11549 (llama.cpp, prebuilt) beside tokenizers 0.23.3 (PyPI).
# Input: a small GGUF file with tokenizer.ggml.pre "afmoe", and a tokenizer with the same
#   vocabulary that isolates groups of digits before it cuts words and blanks.
# Guess: both give the same tokens, as "afmoe" is said to group digits and no more.
# Seen: llama.cpp keeps the text before a number together with its first group of digits. The rule
#   that leaves one blank for the next word then sees "two blanks and a digit", and cuts "  1" as
#   two blanks, where the other has the token of both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check xllamacpp==2026.10.11549 tokenizers==0.23.3 gguf==0.19.0 numpy==2.3.5

venv/bin/python - >seen 2>log <<'EOF'
import json
import os
import sys
import urllib.request
import numpy, xllamacpp
from gguf import GGUFWriter
from tokenizers import Regex, Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

letters = sorted(ByteLevel.alphabet())
merges = [("Ġ", "Ġ")]
tokens = letters + [a + b for a, b in merges]

tokenizer = Tokenizer(BPE({token: id for id, token in enumerate(tokens)}, merges))
tokenizer.pre_tokenizer = Sequence([
    Split(Regex(r"\d{1,3}(?=(?:\d{3})*\b)"), "isolated"),
    Split(Regex(r" ?[a-z]+|\s+(?!\S)|\s+"), "isolated"),
    ByteLevel(add_prefix_space=False, use_regex=False),
])

writer = GGUFWriter("model.gguf", "llama")
writer.add_context_length(64)
writer.add_embedding_length(32)
writer.add_block_count(1)
writer.add_feed_forward_length(32)
writer.add_head_count(1)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("afmoe")
writer.add_token_list(tokens)
writer.add_token_types([1] * len(tokens))
writer.add_token_merges([f"{a} {b}" for a, b in merges])
writer.add_bos_token_id(0)
writer.add_eos_token_id(0)
writer.add_add_bos_token(False)
tensors = {"token_embd": (len(tokens), 32), "output": (len(tokens), 32), "output_norm": (32,)}
for name in ("attn_norm", "ffn_norm"):
    tensors[f"blk.0.{name}"] = (32,)
for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
    tensors[f"blk.0.{name}"] = (32, 32)
for name, shape in tensors.items():
    writer.add_tensor(f"{name}.weight", numpy.ones(shape, numpy.float32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()

params = xllamacpp.CommonParams()
params.model.path = "model.gguf"
params.n_ctx = 64
params.warmup = False
server = xllamacpp.Server(params)

def llama(text):
    body = json.dumps({"content": text}).encode()
    url = f"{server.listening_address}/tokenize"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))["tokens"]

for text in ("a  b", "a  12", "  1", "12  ", "a   1234"):
    print(repr(text))
    print("  tokenizers", [tokens[id] for id in tokenizer.encode(text).ids])
    print("  llama.cpp ", [tokens[id] for id in llama(text)])
sys.stdout.flush()
os._exit(0)
EOF

cat seen
diff - seen <<'EOF'
'a  b'
  tokenizers ['a', 'Ġ', 'Ġ', 'b']
  llama.cpp  ['a', 'Ġ', 'Ġ', 'b']
'a  12'
  tokenizers ['a', 'ĠĠ', '1', '2']
  llama.cpp  ['a', 'Ġ', 'Ġ', '1', '2']
'  1'
  tokenizers ['ĠĠ', '1']
  llama.cpp  ['Ġ', 'Ġ', '1']
'12  '
  tokenizers ['1', '2', 'ĠĠ']
  llama.cpp  ['1', '2', 'ĠĠ']
'a   1234'
  tokenizers ['a', 'ĠĠ', 'Ġ', '1', '2', '3', '4']
  llama.cpp  ['a', 'ĠĠ', 'Ġ', '1', '2', '3', '4']
EOF
