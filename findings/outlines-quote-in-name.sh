#!/usr/bin/env bash
# Package: outlines-core 0.2.14 (PyPI).
# Input: an object whose property name holds a double quote (5" disk), and the same text as an enum.
# Guess: the name is escaped as the enum is; failing that, no text at all matches.
# Seen: the enum is escaped, the name is not. Only the text with the bare quote matches, so that
#   every answer is broken JSON.
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

def matches(schema, text):
    return bool(re.fullmatch(build_regex_from_schema(json.dumps(schema)), text))

name = '5" disk'
schema = {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]}
print("enum, escaped ", matches({"enum": [name]}, json.dumps(name)))
print("enum, bare    ", matches({"enum": [name]}, '"5" disk"'))
print("name, escaped ", matches(schema, json.dumps({name: 1})))
print("name, bare    ", matches(schema, '{"5" disk": 1}'))
EOF

cat seen
diff - seen <<'EOF'
enum, escaped  True
enum, bare     False
name, escaped  False
name, bare     True
EOF
