import { type Dimensions, dimensionsMetadata, type Shape, stackedWeights } from "../shape.ts";

/** Llama 3's scaling of the rope frequencies, written as the tensor `rope_freqs.weight`. */
export interface RopeScaling {
  readonly factor: number;
  readonly low: number;
  readonly high: number;
  readonly originalContext: number;
}

/** A Llama model. */
export interface LlamaDimensions extends Dimensions {
  readonly ropeScaling?: RopeScaling;
}

/** The shape of a Llama model, as Mistral's are as well. */
export function llamaShape(d: LlamaDimensions): Shape {
  const { hiddenSize, feedForward } = d;
  const queryWidth = d.heads * d.headDimension;
  const kvWidth = d.kvHeads * d.headDimension;
  const factors = ropeFactors(d);
  const first = factors === undefined
    ? []
    : [{ name: "rope_freqs.weight", shape: [factors.length], values: () => factors }];
  return {
    ...d,
    architecture: "llama",
    metadata: dimensionsMetadata(d),
    weights: stackedWeights(d, (add) => {
      add("attn_norm", [hiddenSize]);
      add("attn_q", [hiddenSize, queryWidth]);
      add("attn_k", [hiddenSize, kvWidth]);
      add("attn_v", [hiddenSize, kvWidth]);
      add("attn_output", [queryWidth, hiddenSize]);
      add("ffn_norm", [hiddenSize]);
      add("ffn_gate", [hiddenSize, feedForward]);
      add("ffn_up", [hiddenSize, feedForward]);
      add("ffn_down", [feedForward, hiddenSize]);
    }, first),
  };
}

/**
 * What each rope frequency is divided by, as Llama 3.1 scales them: long waves by the factor, short
 * ones not at all, those between by a blend. [head dimension / 2].
 */
export function ropeFactors(
  d: Pick<LlamaDimensions, "headDimension" | "ropeBase" | "ropeScaling">,
): Float32Array<ArrayBuffer> | undefined {
  if (!d.ropeScaling) return undefined;
  const { factor, low, high, originalContext } = d.ropeScaling;
  return Float32Array.from({ length: d.headDimension / 2 }, (_, i) => {
    const wavelength = 2 * Math.PI * d.ropeBase ** (2 * i / d.headDimension);
    if (wavelength < originalContext / high) return 1;
    if (wavelength > originalContext / low) return factor;
    const blend = (originalContext / wavelength - low) / (high - low);
    return 1 / ((1 - blend) / factor + blend);
  });
}
