/**
 * A model of two layers with random weights, as a program for tests: the first is as Llama's are, the second has experts
 * and more of what operations can be told.
 *
 * @module
 */
import type { Cache } from "../engine/device/context.ts";
import type { DeviceProgram } from "../engine/device/device_program.ts";
import { Activation, HeadNorm, NONE, Norm, Rope, Score } from "../engine/device/structs.ts";
import {
  expertBuffer,
  indexBuffer,
  outputBuffer,
  Random,
  type Recipe,
  type TestDevice,
  tokenBuffer,
} from "./device_harness.ts";
import type { GivenOperation } from "./operations.ts";

/** Tokens of the small model's vocabulary. */
export const VOCAB = 100;
/** Values of its hidden states. */
export const HIDDEN = 48;
const HEADS = 4;
const KV_HEADS = 2;
const HEAD_DIM = 12;
const INNER = 70;
const EXPERTS = 4;
const USED = 2;

/** Buffers of the program by name. */
const enum B {
  hidden,
  normed,
  qkv,
  attended,
  gateUp,
  gated,
  router,
  experts,
  shares,
  expertGateUp,
  expertGated,
  expertDown,
  selected,
  logits,
}

/**
 * The program's operations and buffers; the weights are the same in every call.
 *
 * @param spoilt A token whose embedding is infinite.
 */
export function smallModel(device: TestDevice, cache?: Cache, spoilt?: number): Recipe {
  const random = new Random(42);
  const matrix = (...shape: number[]) => {
    const n = shape.reduce((a, b) => a * b);
    return device.tensor(random.floats(n, 1 / Math.sqrt(shape.at(-1)!)), ...shape);
  };
  const embeddings = () => {
    const values = random.floats(VOCAB * HIDDEN, 1 / Math.sqrt(HIDDEN));
    if (spoilt !== undefined) values.fill(Infinity, spoilt * HIDDEN, (spoilt + 1) * HIDDEN);
    return device.tensor(values, VOCAB, HIDDEN);
  };
  const ones = (n = HIDDEN) => device.tensor(random.floats(n, 0.1).map((value) => 1 + value), n);
  const vector = (n: number) => device.tensor(random.floats(n), n);
  const matmul = (
    input: number,
    output: number,
    columns: number,
    rows: number[],
    residual = NONE,
  ): GivenOperation => ({
    kind: "matmul",
    input,
    output,
    residual,
    columns,
    weight: rows.map((n) => matrix(n, columns)),
    rows,
  });
  const norm = (input: number, output: number) => ({
    kind: "norm" as const,
    input,
    output,
    weight: ones(),
    norm: Norm.rms,
    columns: HIDDEN,
    epsilon: 1e-5,
  });
  const attention = (layer: number): GivenOperation[] => {
    const heads = { layer, n_heads: HEADS, n_kv_heads: KV_HEADS, head_dim: HEAD_DIM };
    return [
      norm(B.hidden, B.normed),
      matmul(B.normed, B.qkv, HIDDEN, [
        HEADS * HEAD_DIM,
        KV_HEADS * HEAD_DIM,
        KV_HEADS * HEAD_DIM,
      ]),
      {
        kind: "rope_store",
        q: B.qkv,
        ...heads,
        rope_dim: HEAD_DIM,
        rope: Rope.halves,
        ...(layer === 1
          ? {
            head_norm: HeadNorm.after,
            k_norm: ones(HEAD_DIM),
            norm_epsilon: 1e-5,
            temperature_scale: 0.2,
            temperature_length: 4,
          }
          : {}),
      },
      {
        kind: "attention",
        q: B.qkv,
        output: B.attended,
        ...heads,
        ...(layer === 1 ? { window: 9, sinks: vector(HEADS) } : {}),
        scale: 1 / Math.sqrt(HEAD_DIM),
      },
      matmul(B.attended, B.hidden, HEADS * HEAD_DIM, [HIDDEN], B.hidden),
      norm(B.hidden, B.normed),
    ];
  };
  const gate = (input: number, output: number): GivenOperation => ({
    kind: "activation",
    input,
    output,
    activation: Activation.silu,
    gated: 1,
    columns: INNER,
  });
  const experts = (
    input: number,
    output: number,
    columns: number,
    rows: number[],
  ): GivenOperation => ({
    kind: "expert_matmul",
    input,
    experts: B.experts,
    output,
    columns,
    n_used: USED,
    n_experts: EXPERTS,
    weight: rows.map((n) => matrix(EXPERTS, n, columns)),
    bias: rows.map((n) => vector(EXPERTS * n)),
    factor: rows.map(() => ones(EXPERTS)),
    rows,
  });
  const ops: GivenOperation[] = [
    {
      kind: "embed",
      output: B.hidden,
      table: embeddings(),
      columns: HIDDEN,
      scale: 6,
    },
    ...attention(0),
    matmul(B.normed, B.gateUp, HIDDEN, [INNER, INNER]),
    gate(B.gateUp, B.gated),
    matmul(B.gated, B.hidden, INNER, [HIDDEN], B.hidden),
    ...attention(1),
    matmul(B.normed, B.router, HIDDEN, [EXPERTS]),
    {
      kind: "route",
      input: B.router,
      experts: B.experts,
      weights: B.shares,
      n_experts: EXPERTS,
      n_used: USED,
      bias: vector(EXPERTS),
      score: Score.sigmoid,
      normalise: 1,
      n_groups: 2,
      n_groups_used: 1,
      least_sum: 1e-3,
    },
    experts(B.normed, B.expertGateUp, HIDDEN, [INNER, INNER]),
    gate(B.expertGateUp, B.expertGated),
    experts(B.expertGated, B.expertDown, INNER, [HIDDEN]),
    {
      kind: "expert_sum",
      input: B.expertDown,
      weights: B.shares,
      residual: B.hidden,
      output: B.hidden,
      columns: HIDDEN,
      n_used: USED,
      scale: 0.5,
    },
    {
      kind: "head_matmul",
      input: B.attended,
      output: B.normed,
      weight: matrix(HEADS, HEAD_DIM - 2, HEAD_DIM - 2),
      n_heads: HEADS,
      columns: HEAD_DIM - 2,
      rows: HEAD_DIM - 2,
      input_stride: HEAD_DIM,
      output_stride: HEAD_DIM,
      copied: 2,
    },
    {
      kind: "add",
      a: B.hidden,
      b: B.normed,
      gate: B.router,
      output: B.hidden,
      columns: HIDDEN,
    },
    {
      ...norm(B.hidden, B.hidden),
      residual: B.hidden,
      factor: ones(1),
      columns: HEAD_DIM,
      n_groups: HEADS,
      weight_per_group: 1,
    },
    { kind: "select", input: B.hidden, output: B.selected, columns: HIDDEN },
    norm(B.selected, B.selected),
    matmul(B.selected, B.logits, HIDDEN, [VOCAB]),
    { kind: "softcap", input: B.logits, output: B.logits, columns: VOCAB, scale: 3, softcap: 30 },
    {
      kind: "sample",
      logits: B.logits,
      columns: VOCAB,
      hidden: B.selected,
      hidden_columns: HIDDEN,
    },
  ];
  const buffers = [
    tokenBuffer(HIDDEN),
    tokenBuffer(HIDDEN),
    tokenBuffer((HEADS + 2 * KV_HEADS) * HEAD_DIM),
    tokenBuffer(HEADS * HEAD_DIM),
    tokenBuffer(2 * INNER),
    tokenBuffer(INNER),
    tokenBuffer(EXPERTS),
    indexBuffer(USED),
    tokenBuffer(USED),
    expertBuffer(2 * INNER, USED),
    expertBuffer(INNER, USED),
    expertBuffer(HIDDEN, USED),
    outputBuffer(HIDDEN),
    outputBuffer(VOCAB),
  ];
  return { ops, buffers, cache, limits: { n_vocab: VOCAB } };
}

/** Floats of the states of {@link withStates}. */
export const STATES = [3 * HIDDEN, 2 * 8 * 8, 2 * 8 * 8];

/** The small model with an operation of each kind that has a state, before its outputs are selected. */
export function withStates(device: TestDevice, { ops, buffers, ...rest }: Recipe): Recipe {
  const random = new Random(43);
  const vector = (n: number) => device.tensor(random.floats(n), n);
  const [mixed, attended, scanned] = [0, 1, 2].map((i) => buffers.length + i);
  const heads = { n_heads: 2 };
  const stateful: GivenOperation[] = [
    {
      ...{ kind: "conv", input: B.hidden, output: mixed, weight: vector(4 * HIDDEN), state: 0 },
      ...{ columns: HIDDEN, kernel: 4, activation: Activation.silu },
    },
    {
      ...{ kind: "delta_rule", qkv: mixed, gates: B.hidden, output: attended, state: 1, ...heads },
      ...{ decay: device.tensor([-1, -0.1], 2), a_bias: vector(2), n_k_heads: 1 },
      ...{ key_dim: 8, value_dim: 8, q_column: 0, k_column: 8, v_column: 16 },
      ...{ a_column: 0, b_column: 2 },
    },
    {
      ...{ kind: "selective_scan", input: mixed, steps: B.hidden, output: scanned, state: 2 },
      ...{ decay: device.tensor([-1, -0.1], 2), skip: vector(2), dt_bias: vector(2), ...heads },
      ...{ n_groups: 1, head_dim: 8, state_dim: 8 },
      ...{ x_column: 0, b_column: 16, c_column: 24, dt_column: 7 },
    },
    { kind: "copy", input: attended, output: B.hidden, columns: 16 },
    { kind: "copy", input: scanned, output: B.hidden, columns: 16, output_column: 16 },
  ];
  const outputs = ops.findIndex(({ kind }) => kind === "select");
  return {
    ...rest,
    ops: [...ops.slice(0, outputs), ...stateful, ...ops.slice(outputs)],
    buffers: [...buffers, tokenBuffer(HIDDEN), tokenBuffer(16), tokenBuffer(16)],
  };
}

/** The small model over a cache of its own: 64 pages of 4 tokens. */
export function smallModelProgram(
  device: TestDevice,
  cacheType = 0,
  spoilt?: number,
): { program: DeviceProgram; cache: Cache } {
  const cache = device.cache({
    n_layers: 2,
    n_kv_heads: KV_HEADS,
    head_dim: HEAD_DIM,
    n_pages: 64,
    type: cacheType,
  });
  return { program: device.program(smallModel(device, cache, spoilt)), cache };
}
