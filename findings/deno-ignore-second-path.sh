#!/usr/bin/env bash
# Package: deno 2.7.11 (npm).
# Input: test, fmt and lint with --ignore=tests/slow and two folders, in both orders.
# Guess: --ignore leaves tests/slow out, whichever folder is named first.
# Seen: it holds for the first folder alone. With "tests cli" the folder is left out; with "cli tests"
#   its files are tested, formatted and linted, also where the path to ignore is absolute.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund deno@2.7.11
deno=$folder/node_modules/.bin/deno
export NO_COLOR=1 DENO_DIR=$folder/cache DENO_NO_UPDATE_CHECK=1
mkdir -p tree/cli tree/tests/slow
cd tree
echo 'Deno.test("fast", () => {});' | tee cli/a_test.ts >tests/b_test.ts
# A file that passes as a test, and that fmt and lint find fault with.
echo 'Deno.test("slow", () => {  var x = 1; void x })' >tests/slow/c_test.ts

taken() {
  "$deno" "$@" >../output 2>&1 || true
  if grep -q 'slow/c_test' ../output; then echo taken; else echo left out; fi
}
{
  for ignored in tests/slow "$PWD/tests/slow"; do
    for command in test "fmt --check" lint; do
      for folders in "tests cli" "cli tests"; do
        # shellcheck disable=SC2086
        echo "$command, $folders: $(taken $command "--ignore=$ignored" $folders)"
      done
    done
  done
} >../seen

cat ../seen
diff - ../seen <<'END'
test, tests cli: left out
test, cli tests: taken
fmt --check, tests cli: left out
fmt --check, cli tests: taken
lint, tests cli: left out
lint, cli tests: taken
test, tests cli: left out
test, cli tests: taken
fmt --check, tests cli: left out
fmt --check, cli tests: taken
lint, tests cli: left out
lint, cli tests: taken
END
