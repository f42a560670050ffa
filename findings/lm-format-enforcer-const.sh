#!/usr/bin/env bash
# Package: lm-format-enforcer 0.11.3 (PyPI).
# Input: {"const": X} for each kind of JSON value.
# Guess: each accepts the JSON text of X, or the schema is refused where X is of a kind it lacks.
# Seen: only a string works. Every other constant is taken without an error when the schema is read,
#   and asking for the first character of the answer raises AttributeError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check lm-format-enforcer==0.11.3

venv/bin/python - >seen <<'EOF'
import json
from lmformatenforcer import JsonSchemaParser

for value in ("a", 1, True, None, {"a": 1}, [1]):
    text = json.dumps(value)
    try:
        parser = JsonSchemaParser({"const": value})
    except Exception as error:
        print(text, "schema refused:", type(error).__name__)
        continue
    try:
        for character in text:
            if character not in parser.get_allowed_characters():
                print(text, "not allowed:", repr(character))
                break
            parser = parser.add_character(character)
        else:
            print(text, "may end here:", parser.can_end())
    except Exception as error:
        print(text, "raised while written:", type(error).__name__)
EOF

cat seen
diff - seen <<'EOF'
"a" may end here: True
1 raised while written: AttributeError
true raised while written: AttributeError
null raised while written: AttributeError
{"a": 1} raised while written: AttributeError
[1] raised while written: AttributeError
EOF
