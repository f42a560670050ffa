#!/usr/bin/env bash
# Package: outlines-core 0.2.14 (PyPI).
# Input: allOf of two object schemas, one that requires "a" and one that requires "b".
# Guess: an object with both, or an error that allOf is not supported for objects.
# Seen: the two regular expressions stand one behind the other. Two objects in a row, which are no
#   JSON, match; an object with both properties does not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check outlines-core==0.2.14

venv/bin/python - >seen <<'EOF'
import json
import re
from outlines_core.json_schema import build_regex_from_schema

def needs(name):
    return {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]}

pattern = re.compile(build_regex_from_schema(json.dumps({"allOf": [needs("a"), needs("b")]})))
for text in ('{"a":1,"b":2}', '{"a":1}', '{"a":1}{"b":2}'):
    print(text, bool(pattern.fullmatch(text)))
EOF

cat seen
diff - seen <<'EOF'
{"a":1,"b":2} False
{"a":1} False
{"a":1}{"b":2} True
EOF
