import { NONE, Norm } from "../../engine/device/structs.ts";
import {
  assertClose,
  dot,
  everyWay,
  Random,
  row,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";

// Norms as programs of one operation, against the same in float64.

function normalised(
  values: ArrayLike<number>,
  weight: ArrayLike<number> | undefined,
  epsilon: number,
  layer: boolean,
): number[] {
  const n = values.length;
  const mean = layer ? Array.from(values).reduce((a, b) => a + b) / n : 0;
  const centred = Array.from(values, (value) => value - mean);
  const scale = 1 / Math.sqrt(dot(centred, centred) / n + epsilon);
  return centred.map((value, i) => value * scale * (weight?.[i] ?? 1));
}

for (const kind of ["rms", "layer"] as const) {
  Deno.test(`norm ${kind}: any number of columns, with and without bias and residual, in place too`, async () => {
    using device = new TestDevice({ threads: 2 });
    const random = new Random(2);
    for (const columns of [1, 7, 64, 257, 1000, 4097, 9000]) {
      for (const [biased, residual, inPlace] of [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1]]) {
        const tokens = 9;
        const weight = random.floats(columns);
        const bias = random.floats(columns);
        const input = random.floats(tokens * columns, 3);
        const extra = random.floats(tokens * columns);
        const output = inPlace ? 0 : 2;
        const got = await device.computeTokens(
          {
            ops: [{
              kind: "norm",
              input: 0,
              output,
              weight: device.tensor(weight, columns),
              bias: biased ? device.tensor(bias, columns) : NONE,
              residual: residual ? 1 : NONE,
              norm: Norm[kind],
              columns,
              epsilon: 1e-5,
            }],
            buffers: [tokenBuffer(columns), tokenBuffer(columns), tokenBuffer(columns)],
          },
          tokens,
          { 0: input, 1: extra },
          { buffer: output, values: tokens * columns },
        );
        const wanted = Array.from(
          { length: tokens },
          (_, t) =>
            normalised(row(input, t, columns), weight, 1e-5, kind === "layer").map((value, i) =>
              value + (biased ? bias[i] : 0) + (residual ? extra[t * columns + i] : 0)
            ),
        ).flat();
        assertClose(got, wanted, 1e-6);
      }
    }
  });
}

/** The arguments of a norm of groups in addition to its columns. */
interface Case {
  readonly groups?: number;
  readonly weight?: "shared" | "per group";
  readonly bias?: boolean;
  readonly residual?: boolean;
  readonly factor?: number;
  readonly from?: number;
  readonly to?: number;
  readonly inPlace?: boolean;
}

const CASES: Record<string, Case> = {
  "without a weight": {},
  "without a weight, with a bias": { bias: true },
  "a factor": { weight: "shared", factor: 0.375 },
  "a factor and a residual": { weight: "shared", residual: true, factor: -1.5 },
  "columns in the middle of a row": { weight: "shared", from: 5, to: 2 },
  "columns in the middle, with a residual": { weight: "shared", residual: true, from: 3, to: 4 },
  "groups that share a weight": { groups: 5, weight: "shared" },
  "groups that share a weight and a bias": { groups: 3, weight: "shared", bias: true },
  "groups with weights of their own": { groups: 4, weight: "per group" },
  "groups with weights, biases, a residual and a factor, in place": {
    groups: 3,
    weight: "per group",
    bias: true,
    residual: true,
    factor: 2.5,
    from: 1,
    to: 1,
    inPlace: true,
  },
  "groups without a weight in the middle of a row": { groups: 7, from: 2, to: 9 },
};

for (const [name, options] of Object.entries(CASES)) {
  Deno.test(`norm, ${name}: every group by itself, and nothing else`, async () => {
    using device = new TestDevice({ threads: 2 });
    const random = new Random(31);
    const { groups = 1, from = 0, to = 0, inPlace = false, factor } = options;
    for (const columns of [1, 64, 100, 3000]) {
      for (const layer of [false, true]) {
        const tokens = 5;
        const width = groups * columns + 12;
        const nWeights = options.weight === "per group" ? groups * columns : columns;
        const weight = options.weight && random.floats(nWeights);
        const bias = options.bias ? random.floats(nWeights) : undefined;
        const input = random.floats(tokens * width, 3);
        const residual = random.floats(tokens * width);
        const before = random.floats(tokens * width);
        const output = inPlace ? 0 : 2;
        const vector = (values?: ArrayLike<number>) =>
          values ? device.tensor(values, values.length) : NONE;
        const results = await everyWay(
          device,
          {
            ops: [{
              kind: "norm",
              input: 0,
              output,
              weight: vector(weight),
              bias: vector(bias),
              residual: options.residual ? 1 : NONE,
              factor: vector(factor === undefined ? undefined : [factor]),
              norm: layer ? Norm.layer : Norm.rms,
              columns,
              n_groups: groups,
              weight_per_group: options.weight === "per group" ? 1 : 0,
              input_column: from,
              output_column: to,
              epsilon: 1e-3,
            }],
            buffers: [tokenBuffer(width), tokenBuffer(width), tokenBuffer(width)],
          },
          tokens,
          { 0: input, 1: residual, [output]: inPlace ? input : before },
          output,
        );
        const wanted = Array.from(inPlace ? input : before);
        for (let t = 0; t < tokens; t++) {
          for (let g = 0; g < groups; g++) {
            const first = t * width + g * columns;
            const own = nWeights === columns ? 0 : g * columns;
            const values = input.subarray(first + from, first + from + columns);
            normalised(values, weight?.subarray(own, own + columns), 1e-3, layer)
              .forEach((value, i) => {
                const sum = value + (bias?.[own + i] ?? 0) +
                  (options.residual ? residual[first + to + i] : 0);
                wanted[first + to + i] = (factor ?? 1) * sum;
              });
          }
        }
        for (const got of results) assertClose(got, wanted, 1e-6);
      }
    }
  });
}
