/** The shape of a Llama model: all that its metadata and tensors are made from. */
export interface Shape {
  readonly name: string;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDimension: number;
  /** The width of the feed-forward layer. */
  readonly feedForward: number;
  readonly vocabSize: number;
  /** The longest context, in tokens. */
  readonly contextLength: number;
  readonly ropeBase: number;
  /** Llama 3's scaling of the rope frequencies, written as the tensor `rope_freqs.weight`. */
  readonly ropeScaling?: { factor: number; low: number; high: number; originalContext: number };
  /** Whether the output layer is the embedding. */
  readonly tied: boolean;
}

const LLAMA3_SCALING = { low: 1, high: 4, originalContext: 8192 };

/** The shapes by name. */
export const SHAPES: Readonly<Record<string, Shape>> = Object.fromEntries(
  ([
    {
      name: "tiny",
      hiddenSize: 256,
      layers: 3,
      heads: 4,
      kvHeads: 2,
      headDimension: 64,
      feedForward: 512,
      vocabSize: 1024,
      contextLength: 512,
      ropeBase: 10_000,
      tied: false,
    },
    {
      name: "llama-3.2-1b",
      hiddenSize: 2048,
      layers: 16,
      heads: 32,
      kvHeads: 8,
      headDimension: 64,
      feedForward: 8192,
      vocabSize: 128_256,
      contextLength: 131_072,
      ropeBase: 500_000,
      ropeScaling: { factor: 32, ...LLAMA3_SCALING },
      tied: true,
    },
    {
      name: "mistral-7b",
      hiddenSize: 4096,
      layers: 32,
      heads: 32,
      kvHeads: 8,
      headDimension: 128,
      feedForward: 14_336,
      vocabSize: 32_000,
      contextLength: 32_768,
      ropeBase: 1_000_000,
      tied: false,
    },
    {
      name: "llama-3.1-8b",
      hiddenSize: 4096,
      layers: 32,
      heads: 32,
      kvHeads: 8,
      headDimension: 128,
      feedForward: 14_336,
      vocabSize: 128_256,
      contextLength: 131_072,
      ropeBase: 500_000,
      ropeScaling: { factor: 8, ...LLAMA3_SCALING },
      tied: false,
    },
  ] satisfies Shape[]).map((shape) => [shape.name, shape]),
);

/**
 * What each rope frequency is divided by, as Llama 3.1 scales them: long waves by the factor, short
 * ones not at all, those between by a blend. [head dimension / 2].
 */
export function ropeFactors(shape: Shape): Float32Array | undefined {
  if (!shape.ropeScaling) return undefined;
  const { factor, low, high, originalContext } = shape.ropeScaling;
  return Float32Array.from({ length: shape.headDimension / 2 }, (_, i) => {
    const wavelength = 2 * Math.PI * shape.ropeBase ** (2 * i / shape.headDimension);
    if (wavelength < originalContext / high) return 1;
    if (wavelength > originalContext / low) return factor;
    const blend = (originalContext / wavelength - low) / (high - low);
    return 1 / ((1 - blend) / factor + blend);
  });
}

/** A weight of a model: its name, its shape (columns first) and what decides its type. */
export interface Weight {
  readonly name: string;
  readonly shape: readonly number[];
  /** The layer that it belongs to; undefined for those outside of the layers. */
  readonly layer?: number;
}

/** The weights of a Llama model, in the order of the file. */
export function weightsOf(shape: Shape): Weight[] {
  const { hiddenSize, feedForward, vocabSize } = shape;
  const queryWidth = shape.heads * shape.headDimension;
  const kvWidth = shape.kvHeads * shape.headDimension;
  const weights: Weight[] = [{ name: "token_embd.weight", shape: [hiddenSize, vocabSize] }];
  if (shape.ropeScaling) {
    weights.push({ name: "rope_freqs.weight", shape: [shape.headDimension / 2] });
  }
  for (let layer = 0; layer < shape.layers; layer++) {
    const add = (name: string, ...size: number[]) =>
      weights.push({ name: `blk.${layer}.${name}.weight`, shape: size, layer });
    add("attn_norm", hiddenSize);
    add("attn_q", hiddenSize, queryWidth);
    add("attn_k", hiddenSize, kvWidth);
    add("attn_v", hiddenSize, kvWidth);
    add("attn_output", queryWidth, hiddenSize);
    add("ffn_norm", hiddenSize);
    add("ffn_gate", hiddenSize, feedForward);
    add("ffn_up", hiddenSize, feedForward);
    add("ffn_down", feedForward, hiddenSize);
  }
  weights.push({ name: "output_norm.weight", shape: [hiddenSize] });
  if (!shape.tied) weights.push({ name: "output.weight", shape: [hiddenSize, vocabSize] });
  return weights;
}
