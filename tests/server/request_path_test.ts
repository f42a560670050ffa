import { assert, assertEquals } from "@std/assert";
import { ROOT } from "../fixtures/cli_program.ts";

/** A chat's path may become shorter, not longer: whoever shortens it lowers these. */
const MOST_FUNCTIONS = 326;
const MOST_FILES = 73;
const MOST_HOPS = 30;
/** Types that a request has one after the other until the device has it. */
const MOST_REQUEST_TYPES = 6;

/** What the tool prints. In a process of its own: what else a test runs is no part of the path. */
async function printedPath(): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", `${ROOT}/tools/request_path.ts`, "--list"],
    env: { NO_COLOR: "1" },
  }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

Deno.test("a streamed chat goes through no more functions and files than it did, and on the way that the page shows", async () => {
  const text = await printedPath();
  const [, functions, files] = text.match(/runs (\d+) functions in (\d+) files/) ?? [];
  assert(functions !== undefined, text);
  assert(Number(functions) <= MOST_FUNCTIONS, text);
  assert(Number(files) <= MOST_FILES, text);
  // A count of nothing would pass too.
  assert(Number(functions) > 100, text);

  const page = await Deno.readTextFile(`${ROOT}/docs/architecture.md`);
  const [toDevice, back] = page.split("the device's process, the GPU");
  const hopsIn = (part: string) => [...part.matchAll(/^ ?(\d+) {2}(\S+) +(\S+\.ts) +(.*)$/gm)];
  const hops = [...hopsIn(toDevice), ...hopsIn(back)];
  assertEquals(hops.map(([, number]) => Number(number)), hops.map((_, i) => i + 1));
  assert(hops.length <= MOST_HOPS);
  for (const [hop, , name, file] of hops) {
    const ran = text.match(new RegExp(`^${file}: (.*)$`, "m"))?.[1].split(" ") ?? [];
    assert(ran.includes(name.split(".").at(-1)!), `no chat goes this way: ${hop}`);
  }
  const types = hopsIn(toDevice).flatMap(([, , , , made]) =>
    made.match(/\b\w*(Request|Options|Sequence|Turn)\b/g) ?? []
  );
  assert(new Set(types).size <= MOST_REQUEST_TYPES, `${[...new Set(types)]}`);
  assert(types.length > 0);
});
