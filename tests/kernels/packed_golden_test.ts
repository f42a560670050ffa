import { assert, assertEquals } from "@std/assert";
import { Engine, type EngineOptions } from "../../engine/mod.ts";
import { BACKEND, EXECUTOR } from "../fixtures/device_harness.ts";
import { GOLDEN_NAMES } from "../fixtures/goldens.ts";
import { writeQuantised } from "../fixtures/quantised_model.ts";
import { TemporaryFile } from "../fixtures/temporary.ts";

// Every golden model with its matrices in Q4_0, in packed arithmetic: near exact arithmetic, and a prompt's bits are the
// same in any chunks.

const TOKENS = Array.from({ length: 41 }, (_, i) => 20 + (i * 7 + i % 11) % 100);

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
    let difference = 0;
    let size = 0;
    exact.forEach((row, i) =>
      row.forEach((value, c) => {
        difference += (packed[i][c] - value) ** 2;
        size += value ** 2;
      })
    );
    const error = Math.sqrt(difference / size);
    console.log(name, error);
    assert(error > 1e-5 && error < 0.1, `the relative error of all logits is ${error}`);
  });
}
