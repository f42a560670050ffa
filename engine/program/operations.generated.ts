// Written by `deno task abi` out of cuda/include/m40.h: change that, not this.
import type { OPS, StructOf } from "../device/mod.ts";
import { most, total, unlessGap } from "./counts.ts";

type Kind = keyof typeof OPS;

/** What an operation does to a buffer: reads it, writes to it (which may leave some of it as it was), or both. */
export type Access = "reads" | "writes" | "updates";

/** Which fields of an operation are buffers. */
export const BUFFER_FIELDS: { readonly [K in Kind]: Readonly<Record<string, Access>> } = {
  embed: { output: "writes" },
  norm: { input: "reads", output: "writes", residual: "reads" },
  matmul: { input: "reads", output: "writes", residual: "reads" },
  rope_store: { q: "updates", kv: "reads" },
  attention: { q: "reads", output: "writes" },
  activation: { input: "reads", up: "reads", output: "writes" },
  add: { a: "reads", b: "reads", gate: "reads", output: "writes" },
  select: { input: "reads", output: "writes" },
  softcap: { input: "reads", output: "writes" },
  route: { input: "reads", experts: "writes", weights: "writes" },
  expert_matmul: { input: "reads", experts: "reads", output: "writes", weights: "reads" },
  expert_sum: { input: "reads", weights: "reads", residual: "reads", output: "writes" },
  sample: { logits: "reads", hidden: "reads" },
  head_matmul: { input: "reads", output: "writes" },
  conv: { input: "reads", output: "writes" },
  delta_rule: { qkv: "reads", gates: "reads", output: "writes" },
  selective_scan: { input: "reads", steps: "reads", output: "writes" },
  copy: { input: "reads", output: "writes" },
  exchange: { input: "reads", output: "writes" },
};

/** Which are weights. */
export const WEIGHT_FIELDS: { readonly [K in Kind]?: readonly string[] } = {
  embed: ["table", "position_table"],
  norm: ["weight", "bias", "factor"],
  matmul: ["weight", "bias", "factor"],
  rope_store: ["factors", "q_norm", "k_norm"],
  attention: ["sinks"],
  route: ["bias"],
  expert_matmul: ["weight", "shared", "bias", "factor"],
  head_matmul: ["weight"],
  conv: ["weight", "bias"],
  delta_rule: ["decay", "a_bias"],
  selective_scan: ["decay", "skip", "dt_bias"],
};

/** Which may be NONE. */
export const OPTIONAL_FIELDS: { readonly [K in Kind]?: readonly string[] } = {
  embed: ["position_table"],
  norm: ["weight", "bias", "residual", "factor"],
  matmul: ["residual", "bias", "factor"],
  rope_store: ["kv", "factors", "q_norm", "k_norm"],
  attention: ["sinks"],
  activation: ["up"],
  add: ["gate"],
  route: ["bias"],
  expert_matmul: ["weights", "bias", "factor"],
  expert_sum: ["weights", "residual"],
  sample: ["hidden"],
  conv: ["bias"],
};

/** Columns that an operation writes of its output from the first one on; 0 where there is a gap. */
export const WRITTEN_COLUMNS: {
  readonly [K in Kind]: (operation: Readonly<StructOf<typeof OPS[K]>>) => number;
} = {
  embed: ({ columns }) => columns,
  norm: ({ output_column, n_groups, columns }) => unlessGap(output_column + n_groups * columns, n_groups * columns),
  matmul: ({ n_weights, output_column, rows }) => unlessGap(most(n_weights, (i) => output_column[i] + rows[i]), total(n_weights, (i) => rows[i])),
  rope_store: ({ n_heads, head_dim }) => n_heads * head_dim,
  attention: ({ n_heads, value_dim }) => n_heads * value_dim,
  activation: ({ columns }) => columns,
  add: ({ columns }) => columns,
  select: ({ columns }) => columns,
  softcap: ({ columns }) => columns,
  route: ({ n_used, n_shared }) => n_used + n_shared,
  expert_matmul: ({ n_weights, output_column, rows }) => unlessGap(most(n_weights, (i) => output_column[i] + rows[i]), total(n_weights, (i) => rows[i])),
  expert_sum: ({ output_column, columns }) => unlessGap(output_column + columns, columns),
  sample: () => 0,
  head_matmul: ({ n_heads, output_stride, rows, copied }) => unlessGap((n_heads - 1) * output_stride + rows + copied, n_heads * (rows + copied)),
  conv: ({ output_column, columns }) => unlessGap(output_column + columns, columns),
  delta_rule: ({ n_heads, value_dim }) => n_heads * value_dim,
  selective_scan: ({ n_heads, head_dim }) => n_heads * head_dim,
  copy: ({ output_column, n_groups, output_stride, columns }) => unlessGap(output_column + (n_groups - 1) * output_stride + columns, n_groups * columns),
  exchange: ({ bounds, n_cards }) => bounds[n_cards],
};
