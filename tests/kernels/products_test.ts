import { NONE } from "../../engine/device/structs.ts";
import {
  assertClose,
  dot,
  everyWay,
  expertBuffer,
  outputBuffer,
  Random,
  row,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";
import { GOLDEN_BLOCKS, matrixOf } from "../fixtures/golden_blocks.ts";

// Products with weights, as programs of one operation, against the same in float64.

Deno.test("matmul: awkward shapes, one to three weights, biases, and gaps between the outputs", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(3);
  for (
    const [tokens, columns, rows] of [
      [1, 1, [1]],
      [1, 300, [129]],
      [5, 33, [7, 1, 65]],
      [16, 64, [200, 3]],
      [33, 100, [17, 18, 19]],
    ] as [number, number, number[]][]
  ) {
    const stride = columns + 3;
    const input = random.floats(tokens * stride);
    const weights = rows.map((n) => random.floats(n * columns));
    const biases = rows.map((n, i) => i === 1 ? undefined : random.floats(n));
    // Two columns that no weight writes precede each weight's.
    const starts = rows.map((_, i) => 2 * (i + 1) + rows.slice(0, i).reduce((a, b) => a + b, 0));
    const width = starts.at(-1)! + rows.at(-1)! + 1;
    const three = <T>(values: T[], rest: T) => [0, 1, 2].map((i) => values[i] ?? rest);
    const before = random.floats(tokens * width);
    const got = await device.computeTokens(
      {
        ops: [{
          kind: "matmul",
          input: 0,
          output: 1,
          n_weights: rows.length,
          columns,
          weight: three(weights.map((w, i) => device.tensor(w, rows[i], columns)), NONE),
          bias: three(biases.map((b, i) => b ? device.tensor(b, rows[i]) : NONE), NONE),
          rows: three(rows, 0),
          output_column: three(starts, 0),
        }],
        buffers: [tokenBuffer(stride), tokenBuffer(width)],
      },
      tokens,
      { 0: input, 1: before },
      { buffer: 1, values: tokens * width },
    );
    const wanted = Array.from(before);
    for (let t = 0; t < tokens; t++) {
      const values = input.slice(t * stride, t * stride + columns);
      rows.forEach((n, w) => {
        for (let r = 0; r < n; r++) {
          wanted[t * width + starts[w] + r] = dot(values, row(weights[w], r, columns)) +
            (biases[w]?.[r] ?? 0);
        }
      });
    }
    assertClose(got, wanted);
  }
});

Deno.test("matmul adds a residual, from the output's own buffer too, and works on outputs and experts", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(4);
  const [tokens, columns, rows] = [6, 50, 150];
  for (const makeBuffer of [tokenBuffer, outputBuffer, (n: number) => expertBuffer(n, 2)]) {
    const n = makeBuffer(1).rows_factor * tokens;
    const input = random.floats(n * columns);
    const weight = random.floats(rows * columns);
    const residual = random.floats(n * rows);
    for (const from of [1, 2]) {
      const got = await device.computeTokens(
        {
          ops: [{
            kind: "matmul",
            input: 0,
            output: 1,
            residual: from,
            n_weights: 1,
            columns,
            weight: [device.tensor(weight, rows, columns), NONE, NONE],
            rows: [rows, 0, 0],
            output_column: [0, 0, 0],
          }],
          buffers: [makeBuffer(columns), makeBuffer(rows), makeBuffer(rows)],
        },
        tokens,
        { 0: input, [from]: residual },
        { buffer: 1, values: n * rows },
      );
      const wanted = Array.from(
        residual,
        (value, i) =>
          value +
          dot(row(input, Math.floor(i / rows), columns), row(weight, i % rows, columns)),
      );
      assertClose(got, wanted);
    }
  }
});

Deno.test("matmul multiplies with the values that m40_tensor_read gives of a quantised weight", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(5);
  const [tokens, columns, rows] = [3, 96, 70];
  // Q8_0: a half and 32 signed bytes a block; 0x2800 is 2^-5.
  const data = new Uint8Array(rows * columns / 32 * 34).map(() => random.below(256));
  for (let i = 0; i < data.length; i += 34) data.set([random.below(256), 0x28], i);
  const weight = device.blocks(8, data, rows, columns);
  const values = device.context.readTensor(weight, 0, rows, columns);
  const input = random.floats(tokens * columns);
  const got = await device.computeTokens(
    {
      ops: [{
        kind: "matmul",
        input: 0,
        output: 1,
        n_weights: 1,
        columns,
        weight: [weight, NONE, NONE],
        rows: [rows, 0, 0],
        output_column: [0, 0, 0],
      }],
      buffers: [tokenBuffer(columns), tokenBuffer(rows)],
    },
    tokens,
    { 0: input },
    { buffer: 1, values: tokens * rows },
  );
  const wanted = Array.from(
    { length: tokens * rows },
    (_, i) => dot(row(input, Math.floor(i / rows), columns), row(values, i % rows, columns)),
  );
  assertClose(got, wanted);
});

/** Three weights of one matmul, with what their products become. */
interface Finish {
  readonly scale?: number;
  readonly factors?: readonly (number | undefined)[];
  readonly biased?: readonly boolean[];
  readonly residual?: "apart" | "output";
}

const FINISHES: Record<string, { rows: number[] } & Finish> = {
  "a scale": { rows: [33], scale: 0.3 },
  "a scale and biases": { rows: [40, 7], scale: -2, biased: [true, false] },
  "factors of some weights": { rows: [5, 64, 9], factors: [0.01, undefined, 300] },
  "a factor, a bias, a scale and a residual": {
    rows: [70],
    scale: 0.22,
    factors: [1.7],
    biased: [true],
    residual: "apart",
  },
  "a factor and a scale onto the residual in place": {
    rows: [70],
    scale: 12,
    factors: [-0.4],
    residual: "output",
  },
  "a scale of 0": { rows: [8], scale: 0, biased: [true] },
};

for (
  const [name, { rows, scale = 1, factors = [], biased = [], residual }] of Object.entries(FINISHES)
) {
  Deno.test(`matmul, ${name}: scale * (factor * product + bias) + residual`, async () => {
    using device = new TestDevice({ threads: 2 });
    const random = new Random(41);
    for (const [tokens, columns] of [[3, 40], [19, 256]]) {
      const width = rows.reduce((a, b) => a + b);
      const starts = rows.map((_, i) => rows.slice(0, i).reduce((a, b) => a + b, 0));
      const input = random.floats(tokens * columns);
      const before = random.floats(tokens * width);
      const other = random.floats(tokens * width);
      const weights = rows.map((n) => random.floats(n * columns));
      const biases = rows.map((n, i) => biased[i] ? random.floats(n, 5) : undefined);
      const results = await everyWay(
        device,
        {
          ops: [{
            kind: "matmul",
            input: 0,
            output: 1,
            residual: residual === undefined ? NONE : residual === "output" ? 1 : 2,
            columns,
            scale,
            weight: weights.map((w, i) => device.tensor(w, rows[i], columns)),
            bias: biases.map((b, i) => b ? device.tensor(b, rows[i]) : NONE),
            factor: rows.map((_, i) =>
              factors[i] === undefined ? NONE : device.tensor([factors[i]!], 1)
            ),
            rows,
            output_column: starts,
          }],
          buffers: [tokenBuffer(columns), tokenBuffer(width), tokenBuffer(width)],
        },
        tokens,
        { 0: input, 1: before, 2: other },
        1,
      );
      const wanted: number[] = [];
      for (let t = 0; t < tokens; t++) {
        rows.forEach((n, w) => {
          for (let r = 0; r < n; r++) {
            const product = dot(row(input, t, columns), row(weights[w], r, columns));
            const at = t * width + starts[w] + r;
            wanted[at] = scale * ((factors[w] ?? 1) * product + (biases[w]?.[r] ?? 0)) +
              (residual === undefined ? 0 : residual === "output" ? before[at] : other[at]);
          }
        });
      }
      for (const got of results) assertClose(got, wanted);
    }
  });
}

for (
  const [what, shape] of Object.entries({
    "heads side by side": { heads: 3, columns: 40, rows: 17, copied: 0, gap: 0, beside: 0 },
    "values copied after the product": {
      heads: 4,
      columns: 32,
      rows: 70,
      copied: 9,
      gap: 0,
      beside: 0,
    },
    "gaps between the heads": { heads: 2, columns: 64, rows: 130, copied: 3, gap: 5, beside: 0 },
    "heads in rows that are longer": {
      heads: 3,
      columns: 64,
      rows: 48,
      copied: 5,
      gap: 2,
      beside: 7,
    },
    "one head": { heads: 1, columns: 33, rows: 1, copied: 1, gap: 0, beside: 0 },
    "many heads": { heads: 40, columns: 128, rows: 64, copied: 64, gap: 0, beside: 0 },
  })
) {
  Deno.test(`head_matmul, ${what}: each head with its own weight`, async () => {
    using device = new TestDevice({ threads: 2 });
    const random = new Random(42);
    const { heads, columns, rows, copied, gap, beside } = shape;
    const tokens = 6;
    const [from, to] = [columns + copied + gap, rows + copied + gap];
    const weight = random.floats(heads * rows * columns);
    const [inputRow, outputRow] = [heads * from + beside, heads * to + beside];
    const input = random.floats(tokens * inputRow);
    const before = random.floats(tokens * outputRow);
    const results = await everyWay(
      device,
      {
        ops: [{
          kind: "head_matmul",
          input: 0,
          output: 1,
          weight: device.tensor(weight, heads, rows, columns),
          n_heads: heads,
          columns,
          rows,
          input_stride: from,
          output_stride: to,
          copied,
        }],
        buffers: [tokenBuffer(inputRow), tokenBuffer(outputRow)],
      },
      tokens,
      { 0: input, 1: before },
      1,
    );
    const wanted = Array.from(before);
    for (let i = 0; i < tokens * heads; i++) {
      const [t, h] = [Math.floor(i / heads), i % heads];
      const values = row(input, t, inputRow).slice(h * from, (h + 1) * from);
      const at = t * outputRow + h * to;
      for (let r = 0; r < rows; r++) {
        wanted[at + r] = dot(row(weight, h * rows + r, columns), values.slice(0, columns));
      }
      for (let c = 0; c < copied; c++) wanted[at + rows + c] = values[columns + c];
    }
    for (const got of results) assertClose(got, wanted);
  });
}

Deno.test("head_matmul multiplies with quantised weights", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(43);
  const [tokens, heads, rows] = [5, 3, 40];
  for (const blocks of GOLDEN_BLOCKS.filter(({ type }) => type !== "F32")) {
    const columns = blocks.blockSize === 256 ? 256 : 64;
    const { bytes, values } = matrixOf(blocks, heads * rows, columns, random);
    const input = random.floats(tokens * heads * columns);
    const results = await everyWay(
      device,
      {
        ops: [{
          kind: "head_matmul",
          input: 0,
          output: 1,
          weight: device.blocks(blocks.id, bytes, rows, columns, heads),
          n_heads: heads,
          columns,
          rows,
          input_stride: columns,
          output_stride: rows,
        }],
        buffers: [tokenBuffer(heads * columns), tokenBuffer(heads * rows)],
      },
      tokens,
      { 0: input },
      1,
    );
    const wanted = Array.from({ length: tokens * heads * rows }, (_, i) => {
      const item = Math.floor(i / rows);
      const mine = row(values, item % heads * rows + i % rows, columns);
      return dot(row(input, item, columns), mine);
    });
    for (const got of results) assertClose(got, wanted, 1e-5);
  }
});
