import {
  Activation,
  Arithmetic,
  type BufferDesc,
  Element,
  HeadNorm,
  NONE,
  Norm,
  Rope,
  Rows,
} from "../device/mod.ts";
import type { GgufTensor } from "../gguf/mod.ts";
import type { Operation } from "./operation.ts";
import { CacheLayers } from "./cache_layers.ts";
import { ExpertOperations } from "./expert_operations.ts";
import type {
  ActivationName,
  ActivationOptions,
  AttentionOptions,
  AttentionTemperature,
  Buffer,
  HeadNorms,
  HeadShape,
  KeysAndValues,
  MatmulWeight,
  NormOptions,
  RopeOptions,
} from "./operands.ts";
import type { Program } from "./program.ts";
import { sideBySide } from "./side_by_side.ts";
import { StateOperations } from "./state_operations.ts";
import { WeightTable } from "./weight_table.ts";

/**
 * Builds a model's program: each method appends one operation, finds its weights among the tensors of
 * the file and checks their shapes.
 *
 * @throws {M40Error} From every method: "invalid_model" where a tensor is missing or of another shape.
 */
export class ProgramBuilder {
  /** The operations of mixtures of experts. */
  readonly experts: ExpertOperations;
  /** The operations that keep a state of each sequence. */
  readonly recurrent: StateOperations;
  private readonly operations: Operation[] = [];
  private readonly buffers: BufferDesc[] = [];
  private readonly cache = new CacheLayers();
  private readonly weights: WeightTable;

  /** @param tensors The tensors of the file by name. */
  constructor(tensors: ReadonlyMap<string, GgufTensor>) {
    this.weights = new WeightTable(tensors);
    const append = (operation: Operation) => void this.operations.push(operation);
    this.experts = new ExpertOperations(append, this.weights);
    this.recurrent = new StateOperations(append, this.weights);
  }

  /** Whether the file has a tensor of that name. */
  has(name: string): boolean {
    return this.weights.has(name);
  }

  /** The type of a tensor of the file. */
  type(name: string): string {
    return this.weights.type(name);
  }

  /**
   * Lets the program leave tensors unused whose names match, where no operation needs them.
   *
   * @returns How many they are.
   */
  ignore(matches: (name: string) => boolean): number {
    return this.weights.ignore(matches);
  }

  /** A new buffer of floats, one row a token of the step. */
  buffer(columns: number): Buffer {
    return this.addBuffer(Rows.tokens, columns);
  }

  /** A new buffer of floats, one row a token whose logits are wanted. */
  outputBuffer(columns: number): Buffer {
    return this.addBuffer(Rows.outputs, columns);
  }

  /** A new buffer of floats, `used` rows a token: one for each expert chosen. */
  expertBuffer(columns: number, used: number): Buffer {
    return this.addBuffer(Rows.experts, columns, { rows_factor: used });
  }

  /** A new buffer of indices, one row a token. */
  indexBuffer(columns: number): Buffer {
    return this.addBuffer(Rows.tokens, columns, { element: Element.u32 });
  }

  /** output = scale * table[token] (+ positions[position]); the table has a row a token of the vocabulary. */
  embed(output: Buffer, table: string, options: { positions?: string; scale?: number } = {}): void {
    const { columns } = output;
    this.operations.push({
      kind: "embed",
      output: output.index,
      table: this.weights.matrix(table, undefined, columns),
      position_table: options.positions === undefined
        ? NONE
        : this.weights.matrix(options.positions, undefined, columns),
      columns,
      scale: options.scale ?? 1,
    });
  }

  /** output = factor * (residual + norm(input)), in groups of values; see m40_op_norm. */
  norm(input: Buffer, output: Buffer, options: NormOptions): void {
    const { columns = input.columns, groups = 1, weightPerGroup = false } = options;
    const weights = weightPerGroup ? groups * columns : columns;
    this.operations.push({
      kind: "norm",
      input: input.index,
      output: output.index,
      weight: this.weights.optionalVector(options.weight, weights),
      bias: this.weights.optionalVector(options.bias, weights),
      residual: options.residual?.index ?? NONE,
      factor: this.weights.optionalVector(options.factor, 1),
      norm: Norm[options.kind ?? "rms"],
      columns,
      n_groups: groups,
      weight_per_group: weightPerGroup ? 1 : 0,
      input_column: options.inputColumn ?? 0,
      output_column: options.outputColumn ?? 0,
      epsilon: options.epsilon,
    });
  }

  /** output = scale * (input * weights^T, side by side (+ biases)) (+ residual, for one weight). */
  matmul(
    input: Buffer,
    output: Buffer,
    weights: readonly MatmulWeight[],
    options: { residual?: Buffer; scale?: number; outputColumn?: number } = {},
  ): void {
    const columns = input.columns;
    const { rows, outputColumns } = sideBySide(weights, output, options.outputColumn);
    this.operations.push({
      kind: "matmul",
      input: input.index,
      output: output.index,
      residual: options.residual?.index ?? NONE,
      n_weights: weights.length,
      columns,
      scale: options.scale ?? 1,
      weight: weights.map((w) => this.weights.matrix(w.weight, w.rows, columns)),
      bias: weights.map((w) => this.weights.optionalVector(w.bias, w.rows)),
      factor: weights.map((w) => this.weights.optionalVector(w.factor, 1)),
      rows,
      output_column: outputColumns,
      arithmetic: Arithmetic.exact,
    });
  }

  /**
   * A product a head: each head's first `columns` values times its [rows, columns] of the weight
   * [heads, rows, columns]; those of the head's input behind them are copied.
   */
  headMatmul(
    input: Buffer,
    output: Buffer,
    options: { weight: string; heads: number; rows: number; columns: number; copied?: number },
  ): void {
    const { heads, rows, columns } = options;
    this.operations.push({
      kind: "head_matmul",
      input: input.index,
      output: output.index,
      weight: this.weights.experts(options.weight, heads, rows, columns),
      n_heads: heads,
      columns,
      rows,
      input_stride: input.columns / heads,
      output_stride: output.columns / heads,
      copied: options.copied ?? 0,
    });
  }

  /**
   * Normalises and rotates q, the first columns of its buffer, and k, and writes k and v to the cache.
   *
   * @param kv Where k and v stand; `undefined` where the layer of the cache is written by another operation.
   */
  ropeStore(
    q: Buffer,
    kv: KeysAndValues | undefined,
    layer: number,
    shape: HeadShape,
    rope: RopeOptions,
    options: { norms?: HeadNorms; temperature?: AttentionTemperature } = {},
  ): void {
    const { norms, temperature } = options;
    if (kv !== undefined) this.cache.add(layer, shape, kv.valueColumn !== undefined);
    this.operations.push({
      kind: "rope_store",
      q: q.index,
      kv: kv?.buffer.index ?? NONE,
      k_column: kv?.keyColumn ?? 0,
      v_column: kv?.valueColumn ?? NONE,
      layer,
      n_heads: shape.heads,
      n_kv_heads: shape.kvHeads,
      head_dim: shape.headDim,
      value_dim: shape.valueDim ?? shape.headDim,
      rope_dim: rope.dim,
      rope_offset: rope.offset ?? 0,
      rope: Rope[rope.kind],
      factors: rope.kind === "none"
        ? NONE
        : this.weights.optionalVector(rope.factors, rope.dim / 2),
      head_norm: norms === undefined ? HeadNorm.none : HeadNorm[norms.order ?? "before"],
      q_norm: this.weights.optionalVector(norms?.q, shape.headDim),
      k_norm: kv === undefined ? NONE : this.weights.optionalVector(norms?.k, shape.headDim),
      v_norm: norms?.v && kv !== undefined ? 1 : 0,
      original_context: rope.originalContext,
      temperature_length: temperature?.length ?? 0,
      temperature_offset: temperature?.offset ?? 0,
      temperature_scale: temperature?.scale ?? 0,
      norm_epsilon: norms?.epsilon ?? 0,
      freq_base: rope.freqBase,
      freq_scale: rope.freqScale,
      ext_factor: rope.extFactor,
      attention_factor: rope.attentionFactor,
      beta_fast: rope.betaFast,
      beta_slow: rope.betaSlow,
    });
  }

  /** output [heads * value dimension] = attention of q over the cache's layer. */
  attention(
    q: Buffer,
    output: Buffer,
    layer: number,
    shape: HeadShape,
    options: AttentionOptions,
  ): void {
    this.cache.attend(layer, options.window ?? 0, options.chunk ?? 0);
    this.operations.push({
      kind: "attention",
      q: q.index,
      output: output.index,
      sinks: this.weights.optionalVector(options.sinks, shape.heads),
      layer,
      n_heads: shape.heads,
      n_kv_heads: shape.kvHeads,
      head_dim: shape.headDim,
      value_dim: shape.valueDim ?? shape.headDim,
      window: options.window ?? 0,
      chunk: options.chunk ?? 0,
      scale: options.scale,
      softcap: options.softcap ?? 0,
    });
  }

  /**
   * output = f(gate) * up of a row [gate, up], or f(input) where it is not gated. `up` may stand in another
   * buffer.
   */
  activation(
    input: Buffer,
    output: Buffer,
    activation: ActivationName,
    options: ActivationOptions,
  ): void {
    const { gated, up = { buffer: input, column: output.columns } } = options;
    this.operations.push({
      kind: "activation",
      input: input.index,
      up: gated ? up.buffer.index : NONE,
      output: output.index,
      activation: Activation[activation],
      gated: gated ? 1 : 0,
      columns: output.columns,
      up_column: gated ? up.column : 0,
      alpha: options.alpha ?? 0,
      limit: options.limit ?? 0,
    });
  }

  /** output = a + b, or a + sigmoid(gate) * b with a gate of one column. */
  add(a: Buffer, b: Buffer, output: Buffer, options: { gate?: Buffer } = {}): void {
    this.operations.push({
      kind: "add",
      a: a.index,
      b: b.index,
      gate: options.gate?.index ?? NONE,
      output: output.index,
      columns: output.columns,
    });
  }

  /** output = cap(scale * input), cap(x) = softcap * tanh(x / softcap) where it is not 0. */
  softcap(input: Buffer, output: Buffer, options: { scale?: number; softcap?: number }): void {
    this.operations.push({
      kind: "softcap",
      input: input.index,
      output: output.index,
      columns: output.columns,
      scale: options.scale ?? 1,
      softcap: options.softcap ?? 0,
    });
  }

  /** output = groups of values of the input, each `inputStride` columns after the one before, side by side. */
  copy(
    input: Buffer,
    output: Buffer,
    options: { columns: number; groups: number; inputColumn: number; inputStride: number },
  ): void {
    this.operations.push({
      kind: "copy",
      input: input.index,
      output: output.index,
      columns: options.columns,
      n_groups: options.groups,
      input_column: options.inputColumn,
      input_stride: options.inputStride,
      output_column: 0,
      output_stride: options.columns,
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

  /**
   * What outputs give: tokens sampled from their logits, the logits, or rows of `hidden`, the buffer that the logits
   * are a product of.
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
    this.weights.assertAllUsed();
    const { operations, buffers, weights, cache, recurrent } = this;
    return {
      operations,
      buffers,
      weights: weights.weights,
      cacheLayers: cache.layers,
      states: recurrent.states,
    };
  }

  private addBuffer(rows: number, columns: number, options: Partial<BufferDesc> = {}): Buffer {
    this.buffers.push({ rows, rows_factor: 1, columns, element: Element.f32, ...options });
    return { index: this.buffers.length - 1, columns };
  }
}
