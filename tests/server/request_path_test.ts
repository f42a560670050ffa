import { assert } from "@std/assert";
import { ROOT } from "../fixtures/cli_program.ts";

/** A chat's path may become shorter, not longer: whoever shortens it lowers these. */
const MOST_FUNCTIONS = 330;
const MOST_FILES = 77;

Deno.test("a streamed chat goes through no more functions and files than it did", async () => {
  // In a process of its own: what else a test runs is no part of the path.
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", `${ROOT}/tools/request_path.ts`],
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(stdout);
  const [, functions, files] = text.match(/runs (\d+) functions in (\d+) files/) ?? [];
  assert(functions !== undefined, text + new TextDecoder().decode(stderr));
  assert(Number(functions) <= MOST_FUNCTIONS, text);
  assert(Number(files) <= MOST_FILES, text);
  // A count of nothing would pass too.
  assert(Number(functions) > 100, text);
});
