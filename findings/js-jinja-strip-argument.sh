#!/usr/bin/env bash
# Packages: @huggingface/jinja 0.5.11 (npm) beside Jinja2 3.1.6 (PyPI).
# Input: strip, lstrip and rstrip with the characters to take, as the templates of thinking models
#   call rstrip('\n') on what stands before </think>.
# Guess: only those characters are taken, as in Python.
# Seen: the npm package does not look at the argument. It takes all white space, also blanks that
#   the template keeps, and never takes anything else.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund @huggingface/jinja@0.5.11
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check jinja2==3.1.6

cat >templates.json <<'EOF'
["[{{ x.rstrip('\\n') }}]", "[{{ x.lstrip('\\n') }}]", "[{{ x.strip('\\n') }}]", "[{{ y.strip('-') }}]"]
EOF
cat >run.py <<'EOF'
import json
import jinja2

for template in json.load(open("templates.json")):
    text = jinja2.Template(template).render(x="\n  code  \n", y="--a--")
    print(template, json.dumps(text))
EOF
cat >run.mjs <<'EOF'
import { readFileSync } from "node:fs";
import { Template } from "@huggingface/jinja";

for (const template of JSON.parse(readFileSync("templates.json", "utf8"))) {
  const text = new Template(template).render({ x: "\n  code  \n", y: "--a--" });
  console.log(template, JSON.stringify(text));
}
EOF

{
  echo Python; venv/bin/python run.py
  echo npm; node run.mjs
} >seen

cat seen
diff - seen <<'EOF'
Python
[{{ x.rstrip('\n') }}] "[\n  code  ]"
[{{ x.lstrip('\n') }}] "[  code  \n]"
[{{ x.strip('\n') }}] "[  code  ]"
[{{ y.strip('-') }}] "[a]"
npm
[{{ x.rstrip('\n') }}] "[\n  code]"
[{{ x.lstrip('\n') }}] "[code  \n]"
[{{ x.strip('\n') }}] "[code]"
[{{ y.strip('-') }}] "[--a--]"
EOF
