import type { BufferDesc } from "../device/descriptions.ts";
import { Activation, Element, NONE, Norm, Rope, Rows } from "../device/structs.ts";
import { M40Error } from "../errors.ts";
import type { GgufTensor } from "../gguf/reader.ts";
import type { Operation } from "./operation.ts";
import type { Program } from "./program.ts";
import { WeightTable } from "./weight_table.ts";

/** A buffer of a program: [rows, columns], as many rows as the step has of what they stand for. */
export interface Buffer {
  readonly index: number;
  readonly columns: number;
}

/** A matrix product's weight by its tensor's name, [rows, columns of the input], and its bias. */
export interface MatmulWeight {
  readonly weight: string;
  readonly rows: number;
  readonly bias?: string;
}

/** What an attention layer looks like. */
export interface HeadShape {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/** How positions are rotated into queries and keys; see m40_op_rope_store. */
export interface RopeOptions {
  readonly kind: keyof typeof Rope;
  /** Values of a head that are rotated. */
  readonly dim: number;
  readonly freqBase: number;
  readonly freqScale: number;
  /** Name of a tensor [dim / 2] that divides the frequencies. */
  readonly factors?: string;
  /** YaRN: how far to blend towards unscaled frequencies; 0 is not at all. */
  readonly extFactor: number;
  readonly attentionFactor: number;
  readonly betaFast: number;
  readonly betaSlow: number;
  /** Tokens of context that the model was first trained with; for YaRN. */
  readonly originalContext: number;
}

/**
 * Builds a model's program: each method appends one operation, finds its weights among the tensors of
 * the file and checks their shapes.
 *
 * @throws {M40Error} From every method: "invalid_model" where a tensor is missing or of another shape.
 */
export class ProgramBuilder {
  private readonly operations: Operation[] = [];
  private readonly buffers: BufferDesc[] = [];
  private readonly weightTable: WeightTable;

  /** @param tensors The tensors of the file by name. */
  constructor(tensors: ReadonlyMap<string, GgufTensor>) {
    this.weightTable = new WeightTable(tensors);
  }

  /** Whether the file has a tensor of that name. */
  has(name: string): boolean {
    return this.weightTable.has(name);
  }

  /** A new buffer of floats, one row a token of the step. */
  buffer(columns: number): Buffer {
    return this.addBuffer({
      rows: Rows.tokens,
      rows_factor: 1,
      columns,
      element: Element.f32,
    });
  }

  /** A new buffer of floats, one row a token whose logits are wanted. */
  outputBuffer(columns: number): Buffer {
    return this.addBuffer({
      rows: Rows.outputs,
      rows_factor: 1,
      columns,
      element: Element.f32,
    });
  }

  /** A new buffer of floats, `used` rows a token: one for each expert chosen. */
  expertBuffer(columns: number, used: number): Buffer {
    return this.addBuffer({
      rows: Rows.experts,
      rows_factor: used,
      columns,
      element: Element.f32,
    });
  }

  /** A new buffer of indices, one row a token. */
  indexBuffer(columns: number): Buffer {
    return this.addBuffer({
      rows: Rows.tokens,
      rows_factor: 1,
      columns,
      element: Element.u32,
    });
  }

  /** output = scale * table[token] (+ positions[position]); the table has a row a token of the vocabulary. */
  embed(output: Buffer, table: string, options: { positions?: string; scale?: number } = {}): void {
    const { columns } = output;
    this.operations.push({
      kind: "embed",
      output: output.index,
      table: this.weightTable.matrix(table, undefined, columns),
      position_table: options.positions === undefined
        ? NONE
        : this.weightTable.matrix(options.positions, undefined, columns),
      columns,
      scale: options.scale ?? 1,
    });
  }

  /** output = norm(input) (+ residual). */
  norm(
    input: Buffer,
    output: Buffer,
    options: {
      weight: string;
      bias?: string;
      kind?: keyof typeof Norm;
      epsilon: number;
      residual?: Buffer;
    },
  ): void {
    this.operations.push({
      kind: "norm",
      input: input.index,
      output: output.index,
      weight: this.weightTable.vector(options.weight, input.columns),
      bias: options.bias === undefined
        ? NONE
        : this.weightTable.vector(options.bias, input.columns),
      residual: options.residual?.index ?? NONE,
      norm: Norm[options.kind ?? "rms"],
      columns: input.columns,
      epsilon: options.epsilon,
    });
  }

  /** output = input * weights^T, side by side (+ biases) (+ residual, for one weight). */
  matmul(
    input: Buffer,
    output: Buffer,
    weights: readonly MatmulWeight[],
    options: { residual?: Buffer } = {},
  ): void {
    const columns = input.columns;
    const { rows, outputColumns } = sideBySide(weights, output);
    this.operations.push({
      kind: "matmul",
      input: input.index,
      output: output.index,
      residual: options.residual?.index ?? NONE,
      n_weights: weights.length,
      columns,
      weight: weights.map((w) => this.weightTable.matrix(w.weight, w.rows, columns)),
      bias: weights.map((w) =>
        w.bias === undefined ? NONE : this.weightTable.vector(w.bias, w.rows)
      ),
      rows,
      output_column: outputColumns,
    });
  }

  /** Normalises and rotates q and k of a row [q, k, v], and writes k and v to the cache. */
  ropeStore(
    qkv: Buffer,
    layer: number,
    shape: HeadShape,
    rope: RopeOptions,
    norms: { q?: string; k?: string; epsilon: number } = { epsilon: 0 },
  ): void {
    this.operations.push({
      kind: "rope_store",
      qkv: qkv.index,
      layer,
      n_heads: shape.heads,
      n_kv_heads: shape.kvHeads,
      head_dim: shape.headDim,
      rope_dim: rope.dim,
      rope: Rope[rope.kind],
      factors: rope.factors === undefined
        ? NONE
        : this.weightTable.vector(rope.factors, rope.dim / 2),
      q_norm: norms.q === undefined ? NONE : this.weightTable.vector(norms.q, shape.headDim),
      k_norm: norms.k === undefined ? NONE : this.weightTable.vector(norms.k, shape.headDim),
      original_context: rope.originalContext,
      norm_epsilon: norms.epsilon,
      freq_base: rope.freqBase,
      freq_scale: rope.freqScale,
      ext_factor: rope.extFactor,
      attention_factor: rope.attentionFactor,
      beta_fast: rope.betaFast,
      beta_slow: rope.betaSlow,
    });
  }

  /** output [heads * head dimension] = attention of q over the cache's layer. */
  attention(
    qkv: Buffer,
    output: Buffer,
    layer: number,
    shape: HeadShape,
    options: { scale: number; softcap?: number; window?: number },
  ): void {
    this.operations.push({
      kind: "attention",
      qkv: qkv.index,
      output: output.index,
      layer,
      n_heads: shape.heads,
      n_kv_heads: shape.kvHeads,
      head_dim: shape.headDim,
      window: options.window ?? 0,
      scale: options.scale,
      softcap: options.softcap ?? 0,
    });
  }

  /** output = f(gate) * up of a row [gate, up], or f(input) where it is not gated. */
  activation(
    input: Buffer,
    output: Buffer,
    activation: keyof typeof Activation,
    options: { gated: boolean },
  ): void {
    this.operations.push({
      kind: "activation",
      input: input.index,
      output: output.index,
      activation: Activation[activation],
      gated: options.gated ? 1 : 0,
      columns: output.columns,
    });
  }

  /** The rows whose logits are wanted. */
  select(input: Buffer, output: Buffer): void {
    this.operations.push({
      kind: "select",
      input: input.index,
      output: output.index,
      columns: input.columns,
    });
  }

  /** The chosen experts of each token and their weights. */
  route(
    logits: Buffer,
    experts: Buffer,
    weights: Buffer,
    options: { normalise: boolean; scale?: number },
  ): void {
    this.operations.push({
      kind: "route",
      input: logits.index,
      experts: experts.index,
      weights: weights.index,
      n_experts: logits.columns,
      n_used: experts.columns,
      normalise: options.normalise ? 1 : 0,
      scale: options.scale ?? 1,
    });
  }

  /** As {@link matmul}, each row with the weights of its own expert. */
  expertMatmul(
    input: Buffer,
    experts: Buffer,
    output: Buffer,
    nExperts: number,
    weights: readonly MatmulWeight[],
  ): void {
    const columns = input.columns;
    const { rows, outputColumns } = sideBySide(weights, output);
    this.operations.push({
      kind: "expert_matmul",
      input: input.index,
      experts: experts.index,
      output: output.index,
      n_weights: weights.length,
      columns,
      n_used: experts.columns,
      n_experts: nExperts,
      weight: weights.map((w) => this.weightTable.experts(w.weight, nExperts, w.rows, columns)),
      rows,
      output_column: outputColumns,
    });
  }

  /** output = residual + the weighted sum of each token's experts' rows. */
  expertSum(
    input: Buffer,
    weights: Buffer,
    output: Buffer,
    options: { residual?: Buffer } = {},
  ): void {
    this.operations.push({
      kind: "expert_sum",
      input: input.index,
      weights: weights.index,
      residual: options.residual?.index ?? NONE,
      output: output.index,
      columns: output.columns,
      n_used: weights.columns,
    });
  }

  /**
   * What outputs give: tokens drawn from their logits, the logits, or rows of `hidden`, the buffer that the
   * logits are a product of.
   */
  sample(logits: Buffer, hidden: Buffer): void {
    this.operations.push({
      kind: "sample",
      logits: logits.index,
      columns: logits.columns,
      hidden: hidden.index,
      hidden_columns: hidden.columns,
    });
  }

  /**
   * The program.
   *
   * @throws {M40Error} "invalid_model" where the file has tensors that no operation uses: a model that
   * is only half understood computes nonsense.
   */
  build(): Program {
    this.weightTable.assertAllUsed();
    const { operations, buffers, weightTable } = this;
    return { operations, buffers, weights: weightTable.weights };
  }

  private addBuffer(desc: BufferDesc): Buffer {
    this.buffers.push(desc);
    return { index: this.buffers.length - 1, columns: desc.columns };
  }
}

/** Where each weight's rows go in the output, one after the other. */
function sideBySide(
  weights: readonly MatmulWeight[],
  output: Buffer,
): { rows: number[]; outputColumns: number[] } {
  const rows = weights.map((weight) => weight.rows);
  const outputColumns: number[] = [];
  let column = 0;
  for (const n of rows) {
    outputColumns.push(column);
    column += n;
  }
  if (column !== output.columns) {
    throw new M40Error(
      "internal",
      `weights of ${rows.join(" + ")} rows for an output of ${output.columns} columns`,
    );
  }
  return { rows, outputColumns };
}
