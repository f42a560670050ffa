#!/usr/bin/env bash
# Package: safetensors 0.8.0 (PyPI), its NumPy functions.
# Input: a transposed NumPy array. The docstring of save asks for contiguous tensors.
# Guess: save writes the values as NumPy shows them, or raises an error as it does for PyTorch.
# Seen: neither. It writes the memory as it lies under the transposed shape, so that loading answers
#   the numbers in other places, without an error or a warning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check safetensors==0.8.0 numpy==2.3.5

venv/bin/python - >seen <<'EOF'
import numpy
from safetensors.numpy import load, save

array = numpy.arange(6, dtype=numpy.float32).reshape(2, 3).T
print("saved ", array.tolist())
print("loaded", load(save({"a": array}))["a"].tolist())
copied = numpy.ascontiguousarray(array)
print("copied", load(save({"a": copied}))["a"].tolist())
EOF

cat seen
diff - seen <<'EOF'
saved  [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
loaded [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
copied [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
EOF
