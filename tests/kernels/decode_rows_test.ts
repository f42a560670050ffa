import { assert, assertEquals } from "@std/assert";
import type { Cache } from "../../engine/device/context.ts";
import type { DeviceProgram } from "../../engine/device/device_program.ts";
import type { StepSequence } from "../../engine/device/step_block.ts";
import { Random, TestDevice } from "../fixtures/device_harness.ts";
import { GOLDEN_BLOCKS } from "../fixtures/golden_blocks.ts";
import { TYPED_VOCAB, typedModelProgram } from "../fixtures/typed_model.ts";

// Several rows of one sequence decoded in a step: their logits, and the K and V that they leave, have the bits that
// decoding them one after the other gives, alone and among others. Speculative decoding depends on that.

/** Tokens of the prompt, and of those that are decoded after it. */
const PROMPT = 5;
const DECODED = 24;
const KV_BLOCK_TOKENS = 4;
const KV_BLOCKS = Math.ceil((PROMPT + DECODED) / KV_BLOCK_TOKENS);
/** Rows that the attention of decoded tokens has scratch for; more go in passes. */
const SEQUENCES = 6;
const CACHE_TYPES: Record<string, number> = { F32: 0, F16: 1, Q8_0: 8 };

/**
 * Rows of each step. In all but the first some are as many as before, so that a GPU replays a graph of such steps; where
 * there are no graphs, the first alone will do.
 */
const CUTS = [
  [8, 1, 7, 2, 6],
  [3, 5, 4, 4, 4, 4],
  [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
].slice(0, Number(Deno.env.get("M40_DECODED_CUTS") ?? Infinity));

/** Types of weights; fewer: M40_DECODED_TYPES=Q4_K,MXFP4. */
const TYPES = Deno.env.get("M40_DECODED_TYPES")?.split(",");

/** Tokens of sequence s. */
function tokensOf(sequence: number): number[] {
  const random = new Random(300 + sequence);
  return Array.from({ length: PROMPT + DECODED }, () => random.below(TYPED_VOCAB));
}

/** A part of sequence s in the `place`-th run of KV blocks. */
function part(sequence: number, place: number, position: number, n: number): StepSequence {
  return {
    tokens: tokensOf(sequence).slice(position, position + n),
    position,
    // Neighbours in the sequence are no neighbours in the cache.
    kvBlocks: [Array.from({ length: KV_BLOCKS }, (_, i) => place + 12 * i)],
    outputs: Array.from({ length: n }, (_, row) => ({ row, kind: "logits" })),
    decode: position >= PROMPT,
  };
}

/** Logits of a sequence's decoded tokens and its cache's bytes, as bits. */
async function follow(
  { program, cache, kvBlockBytes }: { program: DeviceProgram; cache: Cache; kvBlockBytes: number },
  place: number,
  cut: readonly number[],
  beside: (step: number) => { before: StepSequence[]; after: StepSequence[] },
) {
  await program.step([part(0, place, 0, PROMPT)]);
  const logits: Uint32Array[] = [];
  let position = PROMPT;
  for (const [step, n] of cut.entries()) {
    const { before, after } = beside(step);
    const first = before.reduce((sum, { outputs }) => sum + outputs.length, 0);
    const { outputs } = await program.step([...before, part(0, place, position, n), ...after]);
    for (const { status, values } of outputs.slice(first, first + n)) {
      assertEquals(status, "ok");
      logits.push(new Uint32Array(values!.slice().buffer));
    }
    position += n;
  }
  assertEquals(logits.length, DECODED);
  const saved = new Uint8Array(KV_BLOCKS * kvBlockBytes);
  await cache.save("kvBlocks", Uint32Array.from(part(0, place, 0, 1).kvBlocks[0]), saved);
  return { logits, saved };
}

const nobody = () => ({ before: [], after: [] });
const oneByOne = new Array(DECODED).fill(1);

GOLDEN_BLOCKS.forEach((blocks, i) => {
  if (TYPES !== undefined && !TYPES.includes(blocks.type)) return;
  // Products know nothing of the cache's type: each is tried with some of the tensors' types.
  const kvTypes = blocks.type === "Q4_K"
    ? Object.keys(CACHE_TYPES)
    : [Object.keys(CACHE_TYPES)[i % 3]];
  for (const kvType of kvTypes) {
    Deno.test(`1 to 8 rows of a sequence decoded in a step have the bits of one by one: ${blocks.type}, KV ${kvType}`, async () => {
      using device = new TestDevice({ threads: 2 });
      const { program, cache } = typedModelProgram(device, blocks, CACHE_TYPES[kvType], {
        n_tokens: 40,
        n_sequences: SEQUENCES,
        n_outputs: 40,
      });
      const { kvBlockBytes } = device.context.cacheBytes(cache.desc);
      const world = { program, cache, kvBlockBytes };
      const wanted = await follow(world, 0, oneByOne, nobody);
      const changing = new Set(wanted.logits.map((bits) => bits[0]));
      assert(changing.size > DECODED / 2, "the logits change with position");
      for (const cut of CUTS) {
        assertEquals(await follow(world, 1, cut, nobody), wanted, `alone, ${cut}`);
      }
      // Prompts of others, so that they can decode in the same steps.
      await program.step([part(1, 2, 0, PROMPT), part(2, 3, 0, PROMPT), part(3, 4, 0, PROMPT)]);
      const crowded = await follow(world, 5, CUTS[0], (step) => ({
        before: [part(1, 2, PROMPT, 1 + step % 3)],
        after: [
          part(2, 3, PROMPT + step, 4),
          ...(step % 2 ? [part(3, 4, PROMPT, 1)] : []),
          ...(step > 1 ? [part(4, 6, 0, 3 + step % 2), part(5, 7, 0, 2)] : []),
        ],
      }));
      assertEquals(crowded, wanted, "among others");
    });
  }
});
