import { createHash } from "node:crypto";
import { assertEquals } from "@std/assert";
import type { StepSequence } from "../../engine/device/step_block.ts";
import type { StepResult } from "../../engine/device/step_result.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { PATHS } from "../fixtures/exchanging_cards.ts";
import { type RowSplitModel, withRows } from "../fixtures/row_split_model.ts";
import { follower, type StagedModel, withStages } from "../fixtures/staged_model.ts";

// A model whose products' rows are split over cards computes the bits of one card.

/** Otherwise, two that differ: windows and sinks, experts and states with attention. */
const MODELS = Deno.env.get("M40_ROW_SPLIT_MODELS")?.split(",") ??
  (BACKEND === "cpu" ? goldenNames() : ["gpt-oss", "granitehybrid-moe"]);

function goldenNames(): string[] {
  return [...Deno.readDirSync(new URL("../data/golden/", import.meta.url))]
    .map(({ name }) => name)
    .filter((name) => name.endsWith(".gguf"))
    .map((name) => name.slice(0, -".gguf".length))
    .sort();
}

/** A prompt that is longer than a KV block, another chunk, and tokens that are decoded one by one and two together. */
const CHUNKS: readonly { readonly count: number; readonly decode: boolean }[] = [
  { count: 33, decode: false },
  { count: 6, decode: false },
  { count: 1, decode: true },
  { count: 2, decode: true },
];

const tokensOf = (n: number, position: number, count: number) =>
  Array.from({ length: count }, (_, i) => 3 + (n * 31 + (position + i) * 17) % 100);

type Model = Pick<RowSplitModel | StagedModel, "plan"> & {
  readonly device: { step(sequences: readonly StepSequence[]): Promise<StepResult> };
};

/** The logits of a step's outputs, as digits: what differs is short then. */
function logitsOf({ outputs }: StepResult): string[] {
  return outputs.map(({ status, values }) => {
    assertEquals(status, "ok");
    const bytes = new Uint8Array(values!.slice().buffer);
    return createHash("sha256").update(bytes).digest("hex");
  });
}

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
