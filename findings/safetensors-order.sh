#!/usr/bin/env bash
# Package: safetensors 0.8.0 (PyPI), its NumPy functions.
# Input: eight tensors saved as bytes and loaded twenty times.
# Guess: load answers them in the order saved, or in the order of the file.
# Seen: the order of the dictionary that load answers differs from call to call, in one process and
#   for the same bytes. safe_open lists the same names in one fixed order.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check safetensors==0.8.0 numpy==2.3.5

venv/bin/python - >seen <<'EOF'
import numpy
from safetensors import safe_open
from safetensors.numpy import load, save, save_file

tensors = {f"t{i}": numpy.zeros(1, numpy.float32) for i in (3, 1, 4, 0, 5, 7, 2, 6)}
data = save(tensors)
orders = {tuple(load(data)) for _ in range(20)}
print("load answers more than one order:", len(orders) > 1)
save_file(tensors, "file")
listed = set()
for _ in range(20):
    with safe_open("file", "numpy") as file:
        listed.add(tuple(file.keys()))
print("safe_open lists:", *[" ".join(names) for names in sorted(listed)])
EOF

cat seen
diff - seen <<'EOF'
load answers more than one order: True
safe_open lists: t0 t1 t2 t3 t4 t5 t6 t7
EOF
