import { NONE, Rope } from "../device/mod.ts";
import type { Case, Sizes } from "./case.ts";
import { oneRun, promptThenDecode } from "./one_run.ts";
import { prompt } from "./runner.ts";
import { tokenBuffer } from "./small_programs.ts";

/** Types of the cache, and what rounding to them may change. */
const CACHES = [
  { type: 0, name: "F32", tolerance: 1e-4 },
  { type: 1, name: "F16", tolerance: 4e-3 },
  { type: 8, name: "Q8_0", tolerance: 3e-2 },
] as const;

interface Heads {
  readonly name: string;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** Where V is the first values of K. */
  readonly valueDim?: number;
}

/** Kernels are for heads up to 64, 128 and 256 values, and for latent ones. */
const SHAPES: readonly Heads[] = [
  { name: "heads of 64", heads: 4, kvHeads: 2, headDim: 64 },
  { name: "heads of 128", heads: 8, kvHeads: 1, headDim: 128 },
  { name: "heads of 256", heads: 2, kvHeads: 2, headDim: 256 },
  { name: "latent heads of 576", heads: 4, kvHeads: 1, headDim: 576, valueDim: 512 },
];

/** Decode rows after the prompt. */
const DECODED = 3;

/** Rotation, the cache and attention: a prompt, then decoded tokens that see it. */
export function attentionCases({ tokens }: Sizes): Case[] {
  return [
    ...[Rope.halves, Rope.interleaved].map(rotation),
    ...CACHES.flatMap((cache) => SHAPES.map((shape) => attention(cache, shape, tokens))),
  ];
}

/** q of a prompt, rotated in its place; what becomes of K and V is seen by attention. */
function rotation(rope: number): Case {
  const [heads, headDim, tokens] = [4, 64, 9];
  const columns = 3 * heads * headDim;
  const variant = rope === Rope.halves ? "pairs in halves" : "pairs side by side";
  return oneRun("rope_store", variant, (runner) => ({
    ops: [{
      ...{ kind: "rope_store", layer: 0, q: 0, n_heads: heads, n_kv_heads: heads },
      ...{ head_dim: headDim, rope, rope_dim: headDim },
    }],
    buffers: [tokenBuffer(columns)],
    inputs: { 0: runner.random.floats(tokens * columns) },
    sequences: prompt(tokens, { position: 50, kvBlocks: [Uint32Array.of(1, 4, 2, 8)] }),
    cache: runner.cache({ n_kv_heads: heads, head_dim: headDim, kv_block_tokens: 16 }),
  }));
}

function attention(cache: typeof CACHES[number], shape: Heads, tokens: number): Case {
  const { heads, kvHeads, headDim, valueDim = headDim } = shape;
  const isLatent = shape.valueDim !== undefined;
  const k_column = heads * headDim;
  const columns = k_column + kvHeads * (headDim + (isLatent ? 0 : valueDim));
  const common = {
    ...{ layer: 0, n_heads: heads, n_kv_heads: kvHeads, head_dim: headDim, value_dim: valueDim },
    q: 0,
  };
  const kvBlocks = [Uint32Array.from({ length: 16 }, (_, i) => (i * 5 + 3) % 16)];
  return {
    operation: "attention",
    variant: `${shape.name}, cache ${cache.name}`,
    tolerance: cache.tolerance,
    compute(runner) {
      const kept = runner.cache({
        ...{ type: cache.type, n_kv_heads: kvHeads, head_dim: headDim, kv_block_tokens: 16 },
        // 0: the first values of K.
        value_dim: isLatent ? 0 : valueDim,
      });
      const recipe = {
        ops: [
          {
            kind: "rope_store",
            ...{ ...common, k_column, rope: Rope.halves, rope_dim: 32 },
            v_column: isLatent ? NONE : k_column + kvHeads * headDim,
          },
          { kind: "attention", ...common, output: 1, scale: headDim ** -0.5 },
        ] as const,
        buffers: [columns, heads * valueDim].map(tokenBuffer),
        limits: { n_sequences: 1, n_outputs: 1 },
        cache: kept,
      };
      const steps = { tokens, decoded: DECODED };
      return promptThenDecode(runner, recipe, steps, () => ({ kvBlocks }));
    },
  };
}
