import { Activation, KHeads, NONE } from "../device/mod.ts";
import type { Operation } from "./operation.ts";
import type { ActivationName, Buffer } from "./operands.ts";
import type { WeightTable } from "./weight_table.ts";

/** A causal convolution; see m40_op_conv. */
export interface ConvOptions {
  /** Columns that are convolved, each by itself. */
  readonly columns: number;
  /** Tokens that each result sees. */
  readonly kernel: number;
  /** Name of a tensor [columns, kernel]. */
  readonly weight: string;
  /** Name of a tensor [columns]. */
  readonly bias?: string;
  readonly activation?: ActivationName;
  readonly inputColumn?: number;
  /** Where what multiplies the input stands, and what multiplies the result, in the buffer of the input. */
  readonly factorColumn?: number;
  readonly gateColumn?: number;
}

/** The heads of a gated delta rule, and where they stand; see m40_op_delta_rule. */
export interface DeltaRuleOptions {
  readonly heads: number;
  readonly keyHeads: number;
  readonly keyDim: number;
  readonly valueDim: number;
  /** Which head of K a head has. */
  readonly order: keyof typeof KHeads;
  /** Where the numbers a and b stand: those of `heads` heads side by side, the next as many `stride` columns on. */
  readonly gates: {
    readonly buffer: Buffer;
    readonly aColumn: number;
    readonly bColumn: number;
    readonly heads: number;
    readonly stride: number;
  };
  /** Names of tensors [heads]. */
  readonly decay: string;
  readonly aBias: string;
  readonly scale: number;
  readonly epsilon: number;
}

/** The heads of a state space, and where they stand; see m40_op_selective_scan. */
export interface SelectiveScanOptions {
  readonly heads: number;
  readonly groups: number;
  readonly headDim: number;
  readonly stateDim: number;
  readonly steps: { readonly buffer: Buffer; readonly column: number };
  /** Names of tensors [heads]. */
  readonly decay: string;
  readonly skip: string;
  readonly dtBias: string;
}

/**
 * Appends the operations that keep a state of each sequence, and counts their states.
 *
 * @throws {M40Error} From every method: "invalid_model" where a tensor is missing or of another shape.
 */
export class StateOperations {
  /** Floats of each state of one sequence, by the numbers that operations name them by. */
  readonly states: number[] = [];

  constructor(
    private readonly append: (operation: Operation) => void,
    private readonly weights: WeightTable,
  ) {}

  /** output = f(each column's convolution over the last tokens (+ bias)) (* gate). */
  conv(input: Buffer, output: Buffer, options: ConvOptions): void {
    const { columns, kernel, weight, bias, activation } = options;
    this.append({
      kind: "conv",
      input: input.index,
      output: output.index,
      weight: this.weights.flat(weight, [kernel, columns]),
      bias: bias === undefined ? NONE : this.weights.vector(bias, columns),
      state: this.state((kernel - 1) * columns),
      columns,
      kernel,
      activation: activation === undefined ? NONE : Activation[activation],
      input_column: options.inputColumn ?? 0,
      factor_column: options.factorColumn ?? NONE,
      gate_column: options.gateColumn ?? NONE,
      output_column: 0,
    });
  }

  /**
   * output [heads, value dimension]: what each head's memory, after it has learned the token's key and value, has for its
   * query.
   *
   * @param qkv The queries, the keys and the values of all heads, one after the other.
   */
  deltaRule(qkv: Buffer, output: Buffer, options: DeltaRuleOptions): void {
    const { heads, keyHeads, keyDim, valueDim, gates } = options;
    this.append({
      kind: "delta_rule",
      qkv: qkv.index,
      gates: gates.buffer.index,
      output: output.index,
      decay: this.weights.vector(options.decay, heads),
      a_bias: this.weights.vector(options.aBias, heads),
      state: this.state(heads * keyDim * valueDim),
      n_heads: heads,
      n_k_heads: keyHeads,
      key_dim: keyDim,
      value_dim: valueDim,
      q_column: 0,
      k_column: keyHeads * keyDim,
      v_column: 2 * keyHeads * keyDim,
      a_column: gates.aColumn,
      b_column: gates.bColumn,
      gate_heads: gates.heads,
      gate_stride: gates.stride,
      k_heads: KHeads[options.order],
      scale: options.scale,
      epsilon: options.epsilon,
    });
  }

  /**
   * output [heads, head dimension]: what each head's state, after it has taken in the token, gives.
   *
   * @param input x of all heads, then B and C of all groups.
   */
  selectiveScan(input: Buffer, output: Buffer, options: SelectiveScanOptions): void {
    const { heads, groups, headDim, stateDim, steps } = options;
    this.append({
      kind: "selective_scan",
      input: input.index,
      steps: steps.buffer.index,
      output: output.index,
      decay: this.weights.flat(options.decay, [1, heads]),
      skip: this.weights.flat(options.skip, [1, heads]),
      dt_bias: this.weights.vector(options.dtBias, heads),
      state: this.state(heads * headDim * stateDim),
      n_heads: heads,
      n_groups: groups,
      head_dim: headDim,
      state_dim: stateDim,
      x_column: 0,
      b_column: heads * headDim,
      c_column: heads * headDim + groups * stateDim,
      dt_column: steps.column,
    });
  }

  /** The number of a new state. */
  private state(values: number): number {
    return this.states.push(values) - 1;
  }
}
