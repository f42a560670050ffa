import {
  count,
  type Dimensions,
  dimensionsMetadata,
  type Shape,
  stackedWeights,
} from "../shape.ts";

/** The shape of a Phi-3 or Phi-4: q, k and v in one matrix, and gate and up in another. */
export function phi3Shape(d: Dimensions): Shape {
  const { hiddenSize, feedForward, headDimension } = d;
  const queryWidth = d.heads * headDimension;
  const kvWidth = d.kvHeads * headDimension;
  return {
    ...d,
    architecture: "phi3",
    metadata: [
      ...dimensionsMetadata(d),
      ["rope.scaling.original_context_length", count(d.contextLength)],
      ["attention.sliding_window", count(0)],
    ],
    weights: stackedWeights(d, (add) => {
      add("attn_norm", [hiddenSize]);
      add("attn_qkv", [hiddenSize, queryWidth + 2 * kvWidth]);
      add("attn_output", [queryWidth, hiddenSize]);
      add("ffn_norm", [hiddenSize]);
      add("ffn_up", [hiddenSize, 2 * feedForward]);
      add("ffn_down", [feedForward, hiddenSize]);
    }),
  };
}
