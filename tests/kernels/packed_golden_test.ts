import { assert, assertEquals } from "@std/assert";
import { Engine, type EngineOptions } from "../../engine/mod.ts";
import { BACKEND, EXECUTOR } from "../fixtures/device_harness.ts";
import { GOLDEN_NAMES } from "../fixtures/goldens.ts";
import { writeQuantised } from "../fixtures/quantised_model.ts";
import { TemporaryFile } from "../fixtures/temporary.ts";

// Every golden model with its matrices in Q4_0, in packed arithmetic: near exact arithmetic, and a prompt's bits are the
// same in any chunks.

const TOKENS = Array.from({ length: 41 }, (_, i) => 20 + (i * 7 + i % 11) % 100);

/**
 * Weights are random, so each of four to six layers adds the error of its activations, some 1%. Where a token's
 * experts were nearly chosen otherwise, they are.
 */
const MEDIAN_ERROR = 0.2;

function relativeError(got: Float32Array, wanted: Float32Array): number {
  const size = (values: Float32Array) => Math.hypot(...values);
  return size(got.map((value, i) => value - wanted[i])) / size(wanted);
}

/** The logits of all positions, as steps of so many tokens give them. */
async function logitsOf(path: string, options: EngineOptions): Promise<Float32Array[]> {
  await using engine = await Engine.load(path, {
    ...{ device: BACKEND, executor: EXECUTOR, threads: 2, kvType: "f32" },
    ...{ contextTokens: 128, kvBlocks: 8, ...options },
  });
  assertEquals(engine.arithmetic, options.arithmetic);
  const all: Float32Array[] = [];
  for await (const { logits } of engine.evaluate(TOKENS)) all.push(logits.slice());
  return all;
}

for (const name of GOLDEN_NAMES) {
  Deno.test(`${name} in Q4_0: packed arithmetic's logits are near exact's, with the same bits in chunks of 7 and of 41 tokens`, async () => {
    using file = new TemporaryFile();
    const { path } = file;
    await writeQuantised(name, path);
    const exact = await logitsOf(path, { arithmetic: "exact", logitsOutputs: 41 });
    const packed = await logitsOf(path, { arithmetic: "packed", logitsOutputs: 41 });
    assertEquals(await logitsOf(path, { arithmetic: "packed", logitsOutputs: 7 }), packed);
    const errors = exact.map((row, i) => relativeError(packed[i], row)).sort((a, b) => a - b);
    const median = errors[errors.length >> 1];
    assert(errors[0] > 1e-5, "some logits are exact's");
    assert(median < MEDIAN_ERROR, `the median of the positions' relative errors is ${median}`);
  });
}
