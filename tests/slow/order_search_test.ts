import { assert, assertEquals, assertMatch } from "@std/assert";
import { TextLineStream } from "@std/streams";
import { fromFileUrl, join } from "@std/path";
import { findCudaToolkit } from "../../tools/build/cuda_toolkit.ts";
import { searchOrders } from "../../tools/sass/search/command.ts";

// What deno task sass --search finds in real machine code.

const toolkit = await findCudaToolkit().catch(() => undefined);
const ignore = toolkit === undefined;
if (ignore) console.log("skipped: the search of orders; there is no CUDA 11 or 12");

/** Of TQ2_0, which compiles fast and which nobody searches. */
const KERNEL = ["--search", "TQ2_0", "--tokens", "1"];

/** What a search prints. */
async function search(args: Record<string, string>): Promise<{ code: number; lines: string[] }> {
  const lines: string[] = [];
  const log = (line: string) => lines.push(...line.split("\n"));
  const code = await searchOrders({ kernel: "TQ2_0", tokens: "1", ...args }, { log });
  return { code, lines };
}

/** Folders that a search of this kernel has left. */
async function leftBehind(): Promise<string[]> {
  const left: string[] = [];
  for await (const { name } of Deno.readDir("/tmp")) {
    if (!/^m40-[0-9a-f]{8}$/.test(name)) continue;
    const facts = await Deno.readTextFile(join("/tmp", name, "facts.cpp")).catch(() => "");
    if (facts.includes("Format<35>")) left.push(name);
  }
  return left;
}

Deno.test({
  name:
    "a search prints today's order and the best with their clocks, banks and registers, the same for a seed",
  ignore,
  async fn() {
    const { code, lines } = await search({ candidates: "9", seed: "3", jobs: "2" });
    assertEquals(code, 0);
    assertEquals(lines[0], `1 token of TQ2_0, 4 rows a lane, CUDA ${toolkit!.version}`);
    const cost = String
      .raw`\d+ clocks a turn, \d+\.\d% FFMA a clock, \d+\.\d% lost to banks, \d+ registers`;
    assertMatch(lines[1], new RegExp(`^today: ${cost}$`));
    assertMatch(lines.at(-3)!, /^9 orders were tried, \d of them spill$/);
    assertMatch(lines.at(-2)!, new RegExp(`^the best: ${cost}$`));
    assertMatch(lines.at(-1)!, /^DecodeOrder\{\d+(, \w+)*\}$/);
    const clocks = (line: string) => Number(/(\d+) clocks/.exec(line)![1]);
    assert(clocks(lines.at(-2)!) <= clocks(lines[1]));
    assertEquals((await search({ candidates: "9", seed: "3", jobs: "1" })).lines, lines);
    assertEquals(await leftBehind(), []);
  },
});

Deno.test({
  name:
    "the machine code of a kernel by its name is that of its tensor type, and orders with tables compile",
  ignore,
  async fn() {
    const lines: string[] = [];
    const kernel = "matmul_decode_kernel<35, 1, 4, 0, 2, 35>";
    const log = (line: string) => lines.push(line);
    assertEquals(await searchOrders({ kernel, candidates: "16" }, { log }), 0);
    assertEquals(lines.slice(0, 2), (await search({ candidates: "1" })).lines.slice(0, 2));
    assertMatch(lines.at(-2)!, /^16 orders were tried, \d+ of them spill$/);
  },
});

Deno.test({
  name: "a search that gets SIGINT prints the best so far and leaves no folder",
  ignore,
  async fn() {
    const process = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "tools/sass.ts", ...KERNEL, "--candidates", "5000"],
      cwd: fromFileUrl(new URL("../..", import.meta.url)),
      stdout: "piped",
    }).spawn();
    const lines: string[] = [];
    for await (
      const line of process.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(
        new TextLineStream(),
      )
    ) {
      lines.push(line);
      if (line.startsWith("today: ")) process.kill("SIGINT");
    }
    assertEquals((await process.status).code, 130);
    assertMatch(lines.at(-3)!, /^\d+ orders were tried, \d+ of them spill, then it was stopped$/);
    assertMatch(lines.at(-2)!, /^the best: \d+ clocks a turn/);
    assertEquals(await leftBehind(), []);
  },
});
