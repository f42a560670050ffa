import { assertEquals, assertNotEquals } from "@std/assert";
import type { StepSequence } from "../../engine/device/step_block.ts";
import type { StepResult } from "../../engine/device/step_result.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { PATHS } from "../fixtures/exchanging_cards.ts";
import { GOLDEN_NAMES } from "../fixtures/goldens.ts";
import { writeQuantised } from "../fixtures/quantised_model.ts";
import { type RowSplitModel, withRows } from "../fixtures/row_split_model.ts";
import {
  follower,
  logitsOf,
  type StagedModel,
  tokensOf,
  withStages,
} from "../fixtures/staged_model.ts";
import { TemporaryFile } from "../fixtures/temporary.ts";

// A model whose products' rows are split over cards computes the bits of one card.

/** Otherwise, two that differ: windows and sinks, experts and states with attention. */
const MODELS = Deno.env.get("M40_ROW_SPLIT_MODELS")?.split(",") ??
  (BACKEND === "cpu" ? GOLDEN_NAMES : ["gpt-oss", "granitehybrid-moe"]);

/** A prompt that is longer than a KV block, another chunk, and tokens that are decoded one by one and two together. */
const CHUNKS: readonly { readonly count: number; readonly decode: boolean }[] = [
  { count: 33, decode: false },
  { count: 6, decode: false },
  { count: 1, decode: true },
  { count: 2, decode: true },
];

type Model = Pick<RowSplitModel | StagedModel, "plan"> & {
  readonly device: { step(sequences: readonly StepSequence[]): Promise<StepResult> };
};

/** The logits of two sequences' tokens, of all chunks one after the other; a chunk without outputs between them. */
async function computed(model: Model): Promise<string[][]> {
  const sequences = [0, 1].map((n) => follower(model, n));
  const seen: string[][] = [];
  for (const { count, decode } of CHUNKS) {
    const step = sequences.map((one, n) => one.next(tokensOf(n, one.position, count), decode));
    seen.push(logitsOf(await model.device.step(step)));
    const silent = sequences[0].next(tokensOf(0, sequences[0].position, 1), false);
    await model.device.step([{ ...silent, outputs: [] }]);
  }
  return seen;
}

for (const [i, name] of MODELS.entries()) {
  const kvType = i % 2 === 0 ? "f16" : "f32";
  Deno.test(`${name}, rows on two cards and on three of different speeds, has the bits of one card's, KV ${kvType}`, async () => {
    const whole = await withStages(name, 1, { kvType }, computed);
    for (const path of PATHS) {
      for (const shares of [[1, 1], [3, 1, 2]]) {
        const split = await withRows(name, shares, { kvType, path }, computed);
        assertEquals(split, whole, `shares ${shares}, ${path}`);
      }
    }
  });
}

for (const name of ["llama", "qwen3moe"]) {
  Deno.test(`${name} in Q4_0, in packed arithmetic, rows and layers on two cards, has the bits of one card's`, async () => {
    using file = new TemporaryFile(".gguf");
    await writeQuantised(name, file.path);
    const options = { arithmetic: "packed" } as const;
    const whole = await withStages(file.path, 1, options, computed);
    assertNotEquals(await withStages(file.path, 1, {}, computed), whole, "exact arithmetic");
    assertEquals(await withStages(file.path, 2, options, computed), whole, "layers");
    for (const shares of [[1, 1], [3, 1, 2]]) {
      const split = await withRows(file.path, shares, options, computed);
      assertEquals(split, whole, `shares ${shares}`);
    }
  });
}
