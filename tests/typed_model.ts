/**
 * A model of one layer with experts whose matrices are all of one tensor type, as a program for tests.
 *
 * @module
 */
import type { Cache } from "../engine/device/context.ts";
import type { Limits } from "../engine/device/descriptions.ts";
import type { DeviceProgram } from "../engine/device/device_program.ts";
import { Activation, NONE, Norm, Rope } from "../engine/device/structs.ts";
import {
  expertBuffer,
  indexBuffer,
  outputBuffer,
  Random,
  type TestDevice,
  tokenBuffer,
} from "./device_harness.ts";
import { type GoldenBlocks, matrixOf } from "./golden_blocks.ts";
import type { GivenOperation } from "./operations.ts";

/** Tokens of the model's vocabulary. */
export const TYPED_VOCAB = 40;
const HEAD_DIM = 32;
const KV_HEADS = 1;
const EXPERTS = 3;
const USED = 2;

/** Buffers of the program by name. */
const enum B {
  hidden,
  normed,
  qkv,
  attended,
  router,
  experts,
  shares,
  gateUp,
  gated,
  down,
  selected,
  logits,
}

/** The model with matrices of the type of `blocks`, over a cache of its own of 96 pages of 4 tokens. */
export function typedModelProgram(
  device: TestDevice,
  blocks: GoldenBlocks,
  cacheType: number,
  limits: Partial<Limits>,
): { program: DeviceProgram; cache: Cache } {
  const columns = Math.max(64, blocks.blockSize);
  const heads = columns / HEAD_DIM;
  const random = new Random(11);
  /** Values are as large as the type's blocks make them; norms bring them back. */
  const matrix = (rows: number, experts = 1) => {
    if (blocks.type === "F32") {
      return device.tensor(random.floats(experts * rows * columns), experts, rows, columns);
    }
    const { bytes } = matrixOf(blocks, experts * rows, columns, random);
    return device.blocks(blocks.id, bytes, rows, columns, experts);
  };
  const norm = (input: number, output: number): GivenOperation => ({
    kind: "norm",
    input,
    output,
    weight: device.tensor(random.floats(columns, 0.1).map((value) => 1 + value), columns),
    norm: Norm.rms,
    columns,
    epsilon: 1e-5,
  });
  const matmul = (
    input: number,
    output: number,
    rows: number[],
    weight: (rows: number) => number = matrix,
    residual = NONE,
  ): GivenOperation => ({
    kind: "matmul",
    input,
    output,
    residual,
    columns,
    weight: rows.map((n) => weight(n)),
    rows,
  });
  const floats = (rows: number) =>
    device.tensor(random.floats(rows * columns, 1 / Math.sqrt(columns)), rows, columns);
  const shape = { layer: 0, n_heads: heads, n_kv_heads: KV_HEADS, head_dim: HEAD_DIM };
  const experts = (input: number, output: number, rows: number[]): GivenOperation => ({
    kind: "expert_matmul",
    input,
    experts: B.experts,
    output,
    columns,
    n_used: USED,
    n_experts: EXPERTS,
    weight: rows.map((n) => matrix(n, EXPERTS)),
    rows,
  });
  const ops: GivenOperation[] = [
    {
      kind: "embed",
      output: B.hidden,
      table: floats(TYPED_VOCAB),
      columns,
    },
    norm(B.hidden, B.normed),
    matmul(B.normed, B.qkv, [columns, KV_HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM]),
    {
      kind: "rope_store",
      q: B.qkv,
      ...shape,
      rope_dim: HEAD_DIM,
      rope: Rope.interleaved,
      q_norm: device.tensor(new Float32Array(HEAD_DIM).fill(1), HEAD_DIM),
      k_norm: device.tensor(new Float32Array(HEAD_DIM).fill(1), HEAD_DIM),
      norm_epsilon: 1e-5,
    },
    {
      kind: "attention",
      q: B.qkv,
      output: B.attended,
      ...shape,
      scale: 1 / Math.sqrt(HEAD_DIM),
    },
    norm(B.attended, B.normed),
    matmul(B.normed, B.hidden, [columns], matrix, B.hidden),
    norm(B.hidden, B.normed),
    matmul(B.normed, B.router, [EXPERTS], floats),
    {
      kind: "route",
      input: B.router,
      experts: B.experts,
      weights: B.shares,
      n_experts: EXPERTS,
      n_used: USED,
      normalise: 1,
    },
    experts(B.normed, B.gateUp, [columns, columns]),
    {
      kind: "activation",
      input: B.gateUp,
      output: B.gated,
      activation: Activation.silu,
      gated: 1,
      columns,
    },
    experts(B.gated, B.down, [columns]),
    {
      kind: "expert_sum",
      input: B.down,
      weights: B.shares,
      residual: B.hidden,
      output: B.hidden,
      columns,
      n_used: USED,
    },
    { kind: "select", input: B.hidden, output: B.selected, columns },
    norm(B.selected, B.selected),
    matmul(B.selected, B.logits, [TYPED_VOCAB]),
    {
      kind: "sample",
      logits: B.logits,
      columns: TYPED_VOCAB,
      hidden: B.selected,
      hidden_columns: columns,
    },
  ];
  const buffers = [
    tokenBuffer(columns),
    tokenBuffer(columns),
    tokenBuffer(columns + 2 * KV_HEADS * HEAD_DIM),
    tokenBuffer(columns),
    tokenBuffer(EXPERTS),
    indexBuffer(USED),
    tokenBuffer(USED),
    expertBuffer(2 * columns, USED),
    expertBuffer(columns, USED),
    expertBuffer(columns, USED),
    outputBuffer(columns),
    outputBuffer(TYPED_VOCAB),
  ];
  const cache = device.cache({
    n_kv_heads: KV_HEADS,
    head_dim: HEAD_DIM,
    n_pages: 96,
    type: cacheType,
  });
  const program = device.program({
    ops,
    buffers,
    cache,
    limits: { ...limits, n_vocab: TYPED_VOCAB },
  });
  return { program, cache };
}
