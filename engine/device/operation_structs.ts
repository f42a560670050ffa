/**
 * What cuda/include/m40.h says of programs: buffers, operations and what an operation may be told.
 *
 * @module
 */
import { Struct } from "./struct.ts";

/** M40_MAX_CARDS: that a program can be split over by rows. */
export const MAX_CARDS = 8;

/** M40_ROWS_*: what a buffer's rows stand for. */
export const Rows = { tokens: 0, outputs: 1, experts: 2 } as const;
/** M40_ELEMENT_*. */
export const Element = { f32: 0, u32: 1 } as const;

export const BUFFER_DESC = new Struct("m40_buffer_desc", {
  rows: "u32",
  rows_factor: "u32",
  columns: "u32",
  element: "u32",
});

/** M40_OP_*. */
export const OpKind = {
  embed: 1,
  norm: 2,
  matmul: 3,
  rope_store: 4,
  attention: 5,
  activation: 6,
  add: 7,
  select: 8,
  softcap: 9,
  route: 10,
  expert_matmul: 11,
  expert_sum: 12,
  sample: 13,
  head_matmul: 14,
  conv: 15,
  delta_rule: 16,
  selective_scan: 17,
  copy: 18,
  exchange: 19,
} as const;

/** M40_NORM_*. */
export const Norm = { rms: 0, layer: 1 } as const;
/** M40_ROPE_*. */
export const Rope = { none: 0, interleaved: 1, halves: 2 } as const;
/** M40_ACTIVATION_*. */
export const Activation = {
  silu: 0,
  gelu_tanh: 1,
  gelu_erf: 2,
  relu: 3,
  relu_squared: 4,
  sigmoid: 5,
  swiglu_clamped: 6,
} as const;
/** M40_HEAD_NORM_*. */
export const HeadNorm = { none: 0, before: 1, after: 2 } as const;
/** M40_SCORE_*. */
export const Score = { softmax: 0, sigmoid: 1, softmax_chosen: 2 } as const;

/** M40_K_HEADS_*. */
export const KHeads = { grouped: 0, cycled: 1 } as const;

/** The payload of each kind of operation record. */
export const OPS = {
  embed: new Struct("m40_op_embed", {
    output: "u32",
    table: "u32",
    position_table: "u32",
    columns: "u32",
    scale: "f32",
  }),
  norm: new Struct("m40_op_norm", {
    input: "u32",
    output: "u32",
    weight: "u32",
    bias: "u32",
    residual: "u32",
    factor: "u32",
    norm: "u32",
    columns: "u32",
    n_groups: "u32",
    weight_per_group: "u32",
    input_column: "u32",
    output_column: "u32",
    epsilon: "f32",
  }),
  matmul: new Struct("m40_op_matmul", {
    input: "u32",
    output: "u32",
    residual: "u32",
    n_weights: "u32",
    columns: "u32",
    scale: "f32",
    weight: ["u32", 3],
    bias: ["u32", 3],
    factor: ["u32", 3],
    rows: ["u32", 3],
    output_column: ["u32", 3],
  }),
  rope_store: new Struct("m40_op_rope_store", {
    q: "u32",
    kv: "u32",
    k_column: "u32",
    v_column: "u32",
    layer: "u32",
    n_heads: "u32",
    n_kv_heads: "u32",
    head_dim: "u32",
    value_dim: "u32",
    rope_dim: "u32",
    rope_offset: "u32",
    rope: "u32",
    factors: "u32",
    head_norm: "u32",
    q_norm: "u32",
    k_norm: "u32",
    v_norm: "u32",
    original_context: "u32",
    temperature_length: "u32",
    temperature_offset: "u32",
    temperature_scale: "f32",
    norm_epsilon: "f32",
    freq_base: "f32",
    freq_scale: "f32",
    ext_factor: "f32",
    attention_factor: "f32",
    beta_fast: "f32",
    beta_slow: "f32",
  }),
  attention: new Struct("m40_op_attention", {
    q: "u32",
    output: "u32",
    sinks: "u32",
    layer: "u32",
    n_heads: "u32",
    n_kv_heads: "u32",
    head_dim: "u32",
    value_dim: "u32",
    window: "u32",
    chunk: "u32",
    scale: "f32",
    softcap: "f32",
  }),
  activation: new Struct("m40_op_activation", {
    input: "u32",
    up: "u32",
    output: "u32",
    activation: "u32",
    gated: "u32",
    columns: "u32",
    up_column: "u32",
    alpha: "f32",
    limit: "f32",
  }),
  add: new Struct("m40_op_add", {
    a: "u32",
    b: "u32",
    gate: "u32",
    output: "u32",
    columns: "u32",
  }),
  select: new Struct("m40_op_select", { input: "u32", output: "u32", columns: "u32" }),
  softcap: new Struct("m40_op_softcap", {
    input: "u32",
    output: "u32",
    columns: "u32",
    scale: "f32",
    softcap: "f32",
  }),
  route: new Struct("m40_op_route", {
    input: "u32",
    experts: "u32",
    weights: "u32",
    bias: "u32",
    n_experts: "u32",
    n_used: "u32",
    n_shared: "u32",
    score: "u32",
    normalise: "u32",
    n_groups: "u32",
    n_groups_used: "u32",
    scale: "f32",
    least_sum: "f32",
  }),
  expert_matmul: new Struct("m40_op_expert_matmul", {
    input: "u32",
    experts: "u32",
    output: "u32",
    weights: "u32",
    n_weights: "u32",
    columns: "u32",
    n_used: "u32",
    n_experts: "u32",
    n_shared: "u32",
    weight: ["u32", 2],
    shared: ["u32", 2],
    bias: ["u32", 2],
    factor: ["u32", 2],
    rows: ["u32", 2],
    output_column: ["u32", 2],
  }),
  expert_sum: new Struct("m40_op_expert_sum", {
    input: "u32",
    weights: "u32",
    residual: "u32",
    output: "u32",
    columns: "u32",
    n_used: "u32",
    output_column: "u32",
    scale: "f32",
  }),
  sample: new Struct("m40_op_sample", {
    logits: "u32",
    columns: "u32",
    hidden: "u32",
    hidden_columns: "u32",
  }),
  head_matmul: new Struct("m40_op_head_matmul", {
    input: "u32",
    output: "u32",
    weight: "u32",
    n_heads: "u32",
    columns: "u32",
    rows: "u32",
    input_stride: "u32",
    output_stride: "u32",
    copied: "u32",
  }),
  conv: new Struct("m40_op_conv", {
    input: "u32",
    output: "u32",
    weight: "u32",
    bias: "u32",
    state: "u32",
    columns: "u32",
    kernel: "u32",
    activation: "u32",
    input_column: "u32",
    factor_column: "u32",
    gate_column: "u32",
    output_column: "u32",
  }),
  delta_rule: new Struct("m40_op_delta_rule", {
    qkv: "u32",
    gates: "u32",
    output: "u32",
    decay: "u32",
    a_bias: "u32",
    state: "u32",
    n_heads: "u32",
    n_k_heads: "u32",
    key_dim: "u32",
    value_dim: "u32",
    q_column: "u32",
    k_column: "u32",
    v_column: "u32",
    a_column: "u32",
    b_column: "u32",
    gate_heads: "u32",
    gate_stride: "u32",
    k_heads: "u32",
    scale: "f32",
    epsilon: "f32",
  }),
  selective_scan: new Struct("m40_op_selective_scan", {
    input: "u32",
    steps: "u32",
    output: "u32",
    decay: "u32",
    skip: "u32",
    dt_bias: "u32",
    state: "u32",
    n_heads: "u32",
    n_groups: "u32",
    head_dim: "u32",
    state_dim: "u32",
    x_column: "u32",
    b_column: "u32",
    c_column: "u32",
    dt_column: "u32",
  }),
  copy: new Struct("m40_op_copy", {
    input: "u32",
    output: "u32",
    columns: "u32",
    n_groups: "u32",
    input_column: "u32",
    input_stride: "u32",
    output_column: "u32",
    output_stride: "u32",
  }),
  exchange: new Struct("m40_op_exchange", {
    input: "u32",
    output: "u32",
    input_column: "u32",
    n_cards: "u32",
    card: "u32",
    bounds: ["u32", MAX_CARDS + 1],
  }),
};

/** An operation record: its kind, then a payload of up to 120 bytes. */
export const OP = new Struct("m40_op", { kind: "u32", flags: "u32", payload: ["u32", 30] });
