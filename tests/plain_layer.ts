/**
 * A layer as Llama's are, which the resident kernel has all bodies for: `small_model.ts` has operations of every kind.
 *
 * @module
 */
import type { Cache } from "../engine/device/context.ts";
import { Activation, NONE, Norm, Rope } from "../engine/device/structs.ts";
import { Random, type TestDevice, tokenBuffer } from "./device_harness.ts";
import type { GivenOperation } from "./operations.ts";

/** Its buffers, and those of a model's outputs. */
export const enum B {
  hidden,
  normed,
  qkv,
  attended,
  gateUp,
  gated,
  selected,
  logits,
}

export interface LayerShape {
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly inner: number;
}

const KV_TYPE_F16 = 1;

/** Operations with weights of their own, drawn at random from a seed. */
export class PlainLayer {
  private readonly random: Random;

  constructor(
    private readonly device: TestDevice,
    private readonly shape: LayerShape,
    seed: number,
  ) {
    this.random = new Random(seed);
  }

  /** Those of a matrix. */
  values(rows: number, columns: number): Float32Array {
    return this.random.floats(rows * columns, 1 / Math.sqrt(columns));
  }

  /** Products of one input with weights of so many rows each. */
  matmul(
    input: number,
    output: number,
    columns: number,
    rows: number[],
    residual = NONE,
  ): GivenOperation {
    return {
      ...{ kind: "matmul", input, output, residual, columns, rows },
      weight: rows.map((n) => this.device.tensor(this.values(n, columns), n, columns)),
    };
  }

  norm(input: number, output: number): GivenOperation {
    const columns = this.shape.hidden;
    const weight = this.random.floats(columns, 0.1).map((value) => 1 + value);
    return {
      ...{ kind: "norm", input, output, norm: Norm.rms, columns, epsilon: 1e-5 },
      weight: this.device.tensor(weight, columns),
    };
  }

  operations(): GivenOperation[] {
    const { hidden, heads, kvHeads, headDim, inner } = this.shape;
    const attention = { layer: 0, n_heads: heads, n_kv_heads: kvHeads, head_dim: headDim };
    const [width, kv] = [heads * headDim, kvHeads * headDim];
    const scale = 1 / Math.sqrt(headDim);
    return [
      this.norm(B.hidden, B.normed),
      this.matmul(B.normed, B.qkv, hidden, [width, kv, kv]),
      { kind: "rope_store", q: B.qkv, ...attention, rope_dim: headDim, rope: Rope.halves },
      { kind: "attention", q: B.qkv, output: B.attended, ...attention, scale },
      this.matmul(B.attended, B.hidden, width, [hidden], B.hidden),
      this.norm(B.hidden, B.normed),
      this.matmul(B.normed, B.gateUp, hidden, [inner, inner]),
      {
        ...{ kind: "activation", input: B.gateUp, output: B.gated, columns: inner, gated: 1 },
        activation: Activation.silu,
      },
      this.matmul(B.gated, B.hidden, inner, [hidden], B.hidden),
    ];
  }

  /** The six of a layer. */
  buffers() {
    const { hidden, heads, kvHeads, headDim, inner } = this.shape;
    return [
      tokenBuffer(hidden),
      tokenBuffer(hidden),
      tokenBuffer((heads + 2 * kvHeads) * headDim),
      tokenBuffer(heads * headDim),
      tokenBuffer(2 * inner),
      tokenBuffer(inner),
    ];
  }

  /** A cache of its K and V, of 64 pages. */
  cache(pageTokens: number): Cache {
    return this.device.cache({
      ...{ n_kv_heads: this.shape.kvHeads, head_dim: this.shape.headDim },
      ...{ page_tokens: pageTokens, n_pages: 64, type: KV_TYPE_F16 },
    });
  }
}
