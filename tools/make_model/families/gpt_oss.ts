import {
  count,
  type Dimensions,
  dimensionsMetadata,
  type ExpertDimensions,
  expertsMetadata,
  real,
  routerValues,
  type Shape,
  smallValues,
  stackedWeights,
  text,
} from "../shape.ts";

/** The shape of a gpt-oss model: sinks, biases, a window on every other layer, experts in every one. */
export function gptOssShape(d: Dimensions & ExpertDimensions & { window: number }): Shape {
  const { hiddenSize, experts, expertFeedForward: width } = d;
  const queryWidth = d.heads * d.headDimension;
  const kvWidth = d.kvHeads * d.headDimension;
  return {
    ...d,
    architecture: "gpt-oss",
    metadata: [
      ...dimensionsMetadata(d),
      ...expertsMetadata(d),
      ["attention.sliding_window", count(d.window)],
      ["rope.scaling.type", text("yarn")],
      ["rope.scaling.factor", real(32)],
      ["rope.scaling.original_context_length", count(4096)],
      ["rope.scaling.yarn_beta_fast", real(32)],
      ["rope.scaling.yarn_beta_slow", real(1)],
    ],
    weights: stackedWeights(d, (add) => {
      const biased = (name: string, columns: number, rows: number, n?: number) => {
        add(name, n === undefined ? [columns, rows] : [columns, rows, n]);
        add(`${name}.bias`, n === undefined ? [rows] : [rows, n], smallValues);
      };
      add("attn_norm", [hiddenSize]);
      biased("attn_q", hiddenSize, queryWidth);
      biased("attn_k", hiddenSize, kvWidth);
      biased("attn_v", hiddenSize, kvWidth);
      biased("attn_output", queryWidth, hiddenSize);
      add("attn_sinks", [d.heads], smallValues);
      add("post_attention_norm", [hiddenSize]);
      add("ffn_gate_inp", [hiddenSize, experts], routerValues(hiddenSize));
      add("ffn_gate_inp.bias", [experts], smallValues);
      biased("ffn_gate_exps", hiddenSize, width, experts);
      biased("ffn_up_exps", hiddenSize, width, experts);
      biased("ffn_down_exps", width, hiddenSize, experts);
    }),
  };
}
