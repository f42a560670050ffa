/**
 * A model of one layer as Llama's are, which the resident kernel has all bodies for: `small_model.ts` has operations of every
 * kind.
 *
 * @module
 */
import type { DeviceProgram } from "../engine/device/device_program.ts";
import { Activation, NONE, Norm, Rope } from "../engine/device/structs.ts";
import { outputBuffer, Random, type TestDevice, tokenBuffer } from "./device_harness.ts";
import type { GivenOperation } from "./operations.ts";
import { VOCAB } from "./small_model.ts";

const HIDDEN = 64;
const HEADS = 2;
const HEAD_DIM = 64;
const INNER = 96;
const KV_TYPE_F16 = 1;

const enum B {
  hidden,
  normed,
  qkv,
  attended,
  gateUp,
  gated,
  selected,
  logits,
}

/** Over a cache of its own: 64 pages of 4 tokens. */
export function plainModelProgram(device: TestDevice): DeviceProgram {
  const random = new Random(11);
  const matrix = (rows: number, columns: number) =>
    device.tensor(random.floats(rows * columns, 2 / Math.sqrt(columns)), rows, columns);
  const matmul = (
    input: number,
    output: number,
    columns: number,
    rows: number[],
    residual = NONE,
  ): GivenOperation => ({
    ...{ kind: "matmul", input, output, residual, columns, rows },
    weight: rows.map((n) => matrix(n, columns)),
    output_column: rows.map((_, i) => rows.slice(0, i).reduce((a, b) => a + b, 0)),
  });
  const norm = (input: number, output: number): GivenOperation => ({
    ...{ kind: "norm", input, output, norm: Norm.rms, columns: HIDDEN, epsilon: 1e-5 },
    weight: device.tensor(new Array(HIDDEN).fill(1), HIDDEN),
  });
  const width = HEADS * HEAD_DIM;
  const heads = { layer: 0, n_heads: HEADS, n_kv_heads: HEADS, head_dim: HEAD_DIM };
  const cache = device.cache({
    ...{ n_kv_heads: HEADS, head_dim: HEAD_DIM, n_pages: 64 },
    type: KV_TYPE_F16,
  });
  const embeddings = device.tensor(random.floats(VOCAB * HIDDEN), VOCAB, HIDDEN);
  return device.program({
    cache,
    limits: { n_vocab: VOCAB },
    ops: [
      { kind: "embed", output: B.hidden, table: embeddings, columns: HIDDEN, scale: 1 },
      norm(B.hidden, B.normed),
      matmul(B.normed, B.qkv, HIDDEN, [width, width, width]),
      { kind: "rope_store", q: B.qkv, ...heads, rope_dim: HEAD_DIM, rope: Rope.halves },
      { kind: "attention", q: B.qkv, output: B.attended, ...heads, scale: 1 / 8 },
      matmul(B.attended, B.hidden, width, [HIDDEN], B.hidden),
      norm(B.hidden, B.normed),
      matmul(B.normed, B.gateUp, HIDDEN, [INNER, INNER]),
      {
        ...{ kind: "activation", input: B.gateUp, output: B.gated, columns: INNER, gated: 1 },
        activation: Activation.silu,
      },
      matmul(B.gated, B.hidden, INNER, [HIDDEN], B.hidden),
      { kind: "select", input: B.hidden, output: B.selected, columns: HIDDEN },
      norm(B.selected, B.selected),
      matmul(B.selected, B.logits, HIDDEN, [VOCAB]),
      {
        ...{ kind: "sample", logits: B.logits, columns: VOCAB },
        ...{ hidden: B.selected, hidden_columns: HIDDEN },
      },
    ],
    buffers: [
      tokenBuffer(HIDDEN),
      tokenBuffer(HIDDEN),
      tokenBuffer(3 * width),
      tokenBuffer(width),
      tokenBuffer(2 * INNER),
      tokenBuffer(INNER),
      outputBuffer(HIDDEN),
      outputBuffer(VOCAB),
    ],
  });
}
