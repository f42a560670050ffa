/**
 * The operations with a state, computed in float64 from a sequence's first token on, and cases of them.
 *
 * @module
 */
import { Activation, KHeads, NONE } from "../engine/device/structs.ts";
import { Random, type TestDevice } from "./device_harness.ts";
import type { GivenOperation } from "./operations.ts";

/** An operation over input buffers 0, 1, ...; its output is the buffer behind them. */
export interface StateCase {
  readonly name: string;
  /** Columns of the input buffers. */
  readonly inputs: readonly number[];
  readonly outputColumns: number;
  /** Floats of its state; 0: it has none. */
  readonly state: number;
  /** The operation, with its weights uploaded. */
  operation(device: TestDevice): GivenOperation;
  /** What it makes of a sequence's tokens: `at(input, token, column)` is what they are. */
  compute(tokens: number, at: (input: number, token: number, column: number) => number): number[][];
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const softplus = (x: number) => x > 20 ? x : Math.log1p(Math.exp(x));
const range = <T>(n: number, make: (i: number) => T) =>
  Array.from({ length: n }, (_, i) => make(i));

interface ConvShape {
  columns: number;
  kernel: number;
  silu?: boolean;
  bias?: boolean;
  /** Whether the input is multiplied by other columns, and the output. */
  gated?: boolean;
  outputColumn?: number;
}

export function convCase(shape: ConvShape): StateCase {
  const { columns, kernel, silu = false, bias = false, gated = false, outputColumn = 0 } = shape;
  const random = new Random(columns * 8 + kernel);
  const weight = random.floats(columns * kernel, 0.5);
  const biases = random.floats(columns);
  // Where they are gated: the gate, the input, the factor, with a column between them.
  const place = (i: number) => gated ? i * (columns + 1) : 0;
  return {
    name: `conv ${JSON.stringify(shape)}`,
    inputs: [gated ? place(3) : columns],
    outputColumns: outputColumn + columns,
    state: (kernel - 1) * columns,
    operation: (device) => ({
      kind: "conv",
      input: 0,
      output: 1,
      weight: device.tensor(weight, columns * kernel),
      bias: bias ? device.tensor(biases, columns) : NONE,
      columns,
      kernel,
      activation: silu ? Activation.silu : NONE,
      gate_column: gated ? place(0) : NONE,
      input_column: place(1),
      factor_column: gated ? place(2) : NONE,
      output_column: outputColumn,
    }),
    compute(tokens, at) {
      const x = (t: number, c: number) =>
        t < 0 ? 0 : at(0, t, place(1) + c) * (gated ? at(0, t, place(2) + c) : 1);
      return range(tokens, (t) =>
        range(outputColumn + columns, (column) => {
          const c = column - outputColumn;
          if (c < 0) return 0;
          let sum = bias ? biases[c] : 0;
          for (let j = 0; j < kernel; j++) sum += weight[c * kernel + j] * x(t - kernel + 1 + j, c);
          if (silu) sum *= sigmoid(sum);
          return gated ? sum * at(0, t, c) : sum;
        }));
    },
  };
}

interface DeltaShape {
  heads: number;
  kHeads: number;
  keyDim: number;
  valueDim: number;
  cycled?: boolean;
  /** Heads whose a stand together, and behind them their b; all where absent. */
  gateHeads?: number;
}

export function deltaCase(shape: DeltaShape): StateCase {
  const { heads, kHeads, keyDim, valueDim, cycled = false, gateHeads = heads } = shape;
  const random = new Random(heads * keyDim + valueDim);
  const decay = random.floats(heads).map((x) => -Math.exp(x));
  const aBias = random.floats(heads);
  // v, q, k with a column between them.
  const qColumn = heads * valueDim + 1;
  const kColumn = qColumn + kHeads * keyDim + 1;
  const [scale, epsilon] = [keyDim ** -0.5, 1e-6];
  return {
    name: `delta_rule ${JSON.stringify(shape)}`,
    inputs: [kColumn + kHeads * keyDim, 2 * heads],
    outputColumns: heads * valueDim,
    state: heads * keyDim * valueDim,
    operation: (device) => ({
      kind: "delta_rule",
      qkv: 0,
      gates: 1,
      output: 2,
      decay: device.tensor(decay, heads),
      a_bias: device.tensor(aBias, heads),
      n_heads: heads,
      n_k_heads: kHeads,
      key_dim: keyDim,
      value_dim: valueDim,
      q_column: qColumn,
      k_column: kColumn,
      v_column: 0,
      a_column: 0,
      b_column: gateHeads,
      gate_heads: gateHeads,
      gate_stride: 2 * gateHeads,
      k_heads: cycled ? KHeads.cycled : KHeads.grouped,
      scale,
      epsilon,
    }),
    compute(tokens, at) {
      const states = range(heads, () => range(keyDim, () => new Array<number>(valueDim).fill(0)));
      return range(tokens, (t) =>
        states.flatMap((state, h) => {
          const kHead = cycled ? h % kHeads : Math.floor(h / (heads / kHeads));
          const unit = (column: number) => {
            const values = range(keyDim, (i) => at(0, t, column + kHead * keyDim + i));
            const length = Math.sqrt(values.reduce((sum, x) => sum + x * x, epsilon));
            return values.map((x) => x / length);
          };
          const [q, k] = [unit(qColumn), unit(kColumn)];
          const gate = Math.floor(h / gateHeads) * 2 * gateHeads + h % gateHeads;
          const g = Math.exp(decay[h] * softplus(at(1, t, gate) + aBias[h]));
          const beta = sigmoid(at(1, t, gateHeads + gate));
          return range(valueDim, (j) => {
            let seen = 0;
            for (let i = 0; i < keyDim; i++) seen += (state[i][j] *= g) * k[i];
            const change = beta * (at(0, t, h * valueDim + j) - seen);
            let sum = 0;
            for (let i = 0; i < keyDim; i++) sum += (state[i][j] += k[i] * change) * q[i];
            return scale * sum;
          });
        }));
    },
  };
}

interface ScanShape {
  heads: number;
  groups: number;
  headDim: number;
  stateDim: number;
  /** Whether dt stands behind C, in the same buffer. */
  oneBuffer?: boolean;
}

export function scanCase(shape: ScanShape): StateCase {
  const { heads, groups, headDim, stateDim, oneBuffer = false } = shape;
  const random = new Random(heads * headDim + stateDim);
  const decay = random.floats(heads).map((x) => -Math.exp(x));
  const [skip, dtBias] = [random.floats(heads), random.floats(heads)];
  // C, x, B with a column between them.
  const xColumn = groups * stateDim + 1;
  const bColumn = xColumn + heads * headDim + 1;
  const end = bColumn + groups * stateDim;
  const [steps, dtColumn] = oneBuffer ? [0, end] : [1, 2];
  return {
    name: `selective_scan ${JSON.stringify(shape)}`,
    inputs: oneBuffer ? [end + heads] : [end, heads + 3],
    outputColumns: heads * headDim,
    state: heads * headDim * stateDim,
    operation: (device) => ({
      kind: "selective_scan",
      input: 0,
      steps,
      output: oneBuffer ? 1 : 2,
      decay: device.tensor(decay, heads),
      skip: device.tensor(skip, heads),
      dt_bias: device.tensor(dtBias, heads),
      n_heads: heads,
      n_groups: groups,
      head_dim: headDim,
      state_dim: stateDim,
      x_column: xColumn,
      b_column: bColumn,
      c_column: 0,
      dt_column: dtColumn,
    }),
    compute(tokens, at) {
      const states = range(heads, () => range(headDim, () => new Array<number>(stateDim).fill(0)));
      return range(tokens, (t) =>
        states.flatMap((state, h) => {
          const group = Math.floor(h / (heads / groups)) * stateDim;
          const dt = softplus(at(steps, t, dtColumn + h) + dtBias[h]);
          const g = Math.exp(dt * decay[h]);
          return range(headDim, (i) => {
            const x = at(0, t, xColumn + h * headDim + i);
            let sum = skip[h] * x;
            for (let j = 0; j < stateDim; j++) {
              state[i][j] = g * state[i][j] + dt * x * at(0, t, bColumn + group + j);
              sum += state[i][j] * at(0, t, group + j);
            }
            return sum;
          });
        }));
    },
  };
}

/** Cases in which vectors end everywhere; the shapes of models, smaller. */
export const CASES: readonly StateCase[] = [
  convCase({ columns: 300, kernel: 4, silu: true }),
  convCase({ columns: 37, kernel: 3, gated: true, outputColumn: 5 }),
  convCase({ columns: 64, kernel: 2, bias: true }),
  convCase({ columns: 33, kernel: 8, silu: true, bias: true, gated: true }),
  deltaCase({ heads: 4, kHeads: 2, keyDim: 16, valueDim: 32, cycled: true }),
  deltaCase({ heads: 4, kHeads: 2, keyDim: 16, valueDim: 32, gateHeads: 2 }),
  deltaCase({ heads: 3, kHeads: 1, keyDim: 5, valueDim: 37 }),
  deltaCase({ heads: 2, kHeads: 2, keyDim: 128, valueDim: 128 }),
  scanCase({ heads: 4, groups: 2, headDim: 16, stateDim: 32 }),
  scanCase({ heads: 3, groups: 1, headDim: 21, stateDim: 5, oneBuffer: true }),
  scanCase({ heads: 2, groups: 1, headDim: 64, stateDim: 128 }),
];
