import {
  type Dimensions,
  dimensionsMetadata,
  type ExpertDimensions,
  expertsMetadata,
  routerValues,
  type Shape,
  stackedWeights,
} from "../shape.ts";

/** The shape of a Qwen 3 with experts in every layer. */
export function qwen3MoeShape(d: Dimensions & ExpertDimensions): Shape {
  const { hiddenSize, experts, expertFeedForward: width, headDimension } = d;
  const queryWidth = d.heads * headDimension;
  const kvWidth = d.kvHeads * headDimension;
  return {
    ...d,
    architecture: "qwen3moe",
    metadata: [...dimensionsMetadata(d), ...expertsMetadata(d)],
    weights: stackedWeights(d, (add) => {
      add("attn_norm", [hiddenSize]);
      add("attn_q", [hiddenSize, queryWidth]);
      add("attn_q_norm", [headDimension]);
      add("attn_k", [hiddenSize, kvWidth]);
      add("attn_k_norm", [headDimension]);
      add("attn_v", [hiddenSize, kvWidth]);
      add("attn_output", [queryWidth, hiddenSize]);
      add("ffn_norm", [hiddenSize]);
      add("ffn_gate_inp", [hiddenSize, experts], routerValues(hiddenSize));
      add("ffn_gate_exps", [hiddenSize, width, experts]);
      add("ffn_up_exps", [hiddenSize, width, experts]);
      add("ffn_down_exps", [width, hiddenSize, experts]);
    }),
  };
}
