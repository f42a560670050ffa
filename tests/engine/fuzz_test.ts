/**
 * The fuzzer finds known faults, and none in the code that reads what strangers send. `deno task fuzz` tries for
 * longer, and the device's channel as well.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { fuzz } from "../../tools/fuzz/fuzz.ts";
import type { FuzzTarget } from "../../tools/fuzz/target.ts";
import { FUZZ_TARGETS } from "../../tools/fuzz/targets/mod.ts";
import { readsMagic } from "../fixtures/magic_reader.ts";

// More inputs: M40_FUZZ_CASES=100000. Others: M40_FUZZ_SEED=2.
const RUNS = Number(Deno.env.get("M40_FUZZ_CASES") ?? 512);
const SEED = Number(Deno.env.get("M40_FUZZ_SEED") ?? 1);

const MAGIC: FuzzTarget = {
  name: "magic",
  within: ["/tests/fixtures/magic_reader.ts"],
  dictionary: [],
  maxBytes: 8,
  seeds: () => [new Uint8Array(6)],
  run(input) {
    if (readsMagic(input)) throw new Error("found");
  },
};

Deno.test("the fuzzer finds by coverage what mutations alone do not", async () => {
  const guided = await fuzz(MAGIC, { runs: 400_000, seed: 6 });
  assertEquals((guided.fault?.error as Error | undefined)?.message, "found");
  assert(readsMagic(guided.fault!.input));
  const blind = await fuzz(MAGIC, { runs: guided.runs, seed: 6, guided: false });
  assertEquals(blind.fault, undefined);
});

for (const target of FUZZ_TARGETS) {
  Deno.test(`mutated inputs of ${target.name} are taken or refused in words`, async () => {
    const { fault, runs, covered } = await fuzz(target, { runs: RUNS, seed: SEED });
    if (fault !== undefined) {
      throw new Error(`after ${runs} inputs: ${JSON.stringify([...fault.input])}`, {
        cause: fault.error,
      });
    }
    assertEquals(runs, RUNS);
    assert(covered > 500, `only ${covered} characters of the code ran`);
  });
}
