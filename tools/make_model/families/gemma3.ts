import {
  count,
  type Dimensions,
  dimensionsMetadata,
  real,
  type Shape,
  stackedWeights,
  text,
} from "../shape.ts";

/** The shape of a Gemma 3: norms after attention and feed-forward too, a window on five layers of six. */
export function gemma3Shape(d: Dimensions & { window: number; ropeFactor: number }): Shape {
  const { hiddenSize, feedForward, headDimension } = d;
  const queryWidth = d.heads * headDimension;
  const kvWidth = d.kvHeads * headDimension;
  return {
    ...d,
    architecture: "gemma3",
    metadata: [
      ...dimensionsMetadata(d),
      ["attention.sliding_window", count(d.window)],
      ["rope.scaling.type", text("linear")],
      ["rope.scaling.factor", real(d.ropeFactor)],
    ],
    weights: stackedWeights(d, (add) => {
      add("attn_norm", [hiddenSize]);
      add("attn_q", [hiddenSize, queryWidth]);
      add("attn_q_norm", [headDimension]);
      add("attn_k", [hiddenSize, kvWidth]);
      add("attn_k_norm", [headDimension]);
      add("attn_v", [hiddenSize, kvWidth]);
      add("attn_output", [queryWidth, hiddenSize]);
      add("post_attention_norm", [hiddenSize]);
      add("ffn_norm", [hiddenSize]);
      add("ffn_gate", [hiddenSize, feedForward]);
      add("ffn_up", [hiddenSize, feedForward]);
      add("ffn_down", [feedForward, hiddenSize]);
      add("post_ffw_norm", [hiddenSize]);
    }),
  };
}
