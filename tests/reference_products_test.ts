import { assertEquals } from "@std/assert";
import { NONE } from "../engine/device/structs.ts";
import {
  assertClose,
  dot,
  expertBuffer,
  indexBuffer,
  outputBuffer,
  Random,
  row,
  tokenBuffer,
  withDevice,
} from "./device_harness.ts";

// Products with weights, as programs of one operation, against the same in float64: matmul, and the operations of a
// mixture of experts.

Deno.test("matmul: awkward shapes, one to three weights, biases, and gaps between the outputs", async () => {
  await withDevice({ threads: 2 }, async (device) => {
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
      // Two columns that no weight writes stand before each weight's.
      const starts = rows.map((_, i) => 2 * (i + 1) + rows.slice(0, i).reduce((a, b) => a + b, 0));
      const width = starts.at(-1)! + rows.at(-1)! + 1;
      const three = <T>(values: T[], rest: T) => [0, 1, 2].map((i) => values[i] ?? rest);
      const before = random.floats(tokens * width);
      const got = await device.compute(
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
});

Deno.test("matmul adds a residual, from the output's own buffer too, and works on outputs and experts", async () => {
  await withDevice({ threads: 2 }, async (device) => {
    const random = new Random(4);
    const [tokens, columns, rows] = [6, 50, 150];
    for (const makeBuffer of [tokenBuffer, outputBuffer, (n: number) => expertBuffer(n, 2)]) {
      const n = makeBuffer(1).rows_factor * tokens;
      const input = random.floats(n * columns);
      const weight = random.floats(rows * columns);
      const residual = random.floats(n * rows);
      for (const from of [1, 2]) {
        const got = await device.compute(
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
});

Deno.test("matmul multiplies with the values that m40_tensor_read gives of a quantised weight", async () => {
  await withDevice({ threads: 2 }, async (device) => {
    const random = new Random(5);
    const [tokens, columns, rows] = [3, 96, 70];
    // Q8_0: a half and 32 signed bytes a block; 0x2800 is 2^-5.
    const data = new Uint8Array(rows * columns / 32 * 34).map(() => random.below(256));
    for (let i = 0; i < data.length; i += 34) data.set([random.below(256), 0x28], i);
    const weight = device.blocks(8, data, rows, columns);
    const values = device.context.readTensor(weight, 0, rows, columns);
    const input = random.floats(tokens * columns);
    const got = await device.compute(
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
});

/** The error function by its Taylor series, which converges everywhere. */

Deno.test("route: the largest logits, the lower index where equal, weights with and without normalising", async () => {
  await withDevice({}, async (device) => {
    const random = new Random(8);
    const [tokens, experts] = [12, 8];
    const logits = random.floats(tokens * experts, 2).map((value) => Math.round(value * 2) / 2);
    for (const used of [1, 2, 8]) {
      for (const normalise of [0, 1]) {
        const program = device.program({
          ops: [{
            kind: "route",
            input: 0,
            experts: 1,
            weights: 2,
            n_experts: experts,
            n_used: used,
            normalise,
            scale: 1.5,
          }],
          buffers: [tokenBuffer(experts), indexBuffer(used), tokenBuffer(used)],
        });
        program.writeBuffer(0, logits);
        await program.step(
          [{ tokens: new Array(tokens).fill(0), position: 0, pages: [], outputs: [] }],
        );
        const chosen = program.readBuffer(1, new Uint32Array(tokens * used));
        const weights = program.readBuffer(2, new Float32Array(tokens * used));
        for (let t = 0; t < tokens; t++) {
          const mine = row(logits, t, experts);
          const order = [...mine.keys()].sort((a, b) => mine[b] - mine[a] || a - b);
          assertEquals(Array.from(chosen.slice(t * used, (t + 1) * used)), order.slice(0, used));
          const odds = order.map((e) => Math.exp(mine[e]));
          const total = (normalise ? odds.slice(0, used) : odds).reduce((a, b) => a + b);
          assertClose(
            weights.slice(t * used, (t + 1) * used),
            odds.slice(0, used).map((p) => 1.5 * p / total),
            1e-6,
          );
        }
      }
    }
  });
});

Deno.test("expert_matmul and expert_sum: each row with its own expert's weights, then their weighted sum", async () => {
  await withDevice({ threads: 2 }, async (device) => {
    const random = new Random(9);
    const [tokens, columns, experts, used] = [7, 45, 5, 2];
    const rows = [70, 3];
    const weights = rows.map((n) => random.floats(experts * n * columns));
    const chosen = Uint32Array.from({ length: tokens * used }, (_, i) => (i * 3 + 1) % experts);
    const width = rows[0] + rows[1] + 2;
    for (const shared of [true, false]) {
      const n = shared ? tokens : tokens * used;
      const input = random.floats(n * columns);
      const got = await device.compute(
        {
          ops: [{
            kind: "expert_matmul",
            input: 0,
            experts: 1,
            output: 2,
            n_weights: 2,
            columns,
            n_used: used,
            n_experts: experts,
            weight: weights.map((w, i) => device.tensor(w, experts, rows[i], columns)),
            rows,
            output_column: [1, rows[0] + 2],
          }],
          buffers: [
            shared ? tokenBuffer(columns) : expertBuffer(columns, used),
            indexBuffer(used),
            expertBuffer(width, used),
          ],
        },
        tokens,
        { 0: input, 1: chosen, 2: new Float32Array(tokens * used * width) },
        { buffer: 2, values: tokens * used * width },
      );
      const wanted = new Array(tokens * used * width).fill(0);
      for (let r = 0; r < tokens * used; r++) {
        const values = row(input, shared ? Math.floor(r / used) : r, columns);
        for (let w = 0; w < 2; w++) {
          for (let i = 0; i < rows[w]; i++) {
            wanted[r * width + [1, rows[0] + 2][w] + i] = dot(
              values,
              row(weights[w], chosen[r] * rows[w] + i, columns),
            );
          }
        }
      }
      assertClose(got, wanted);
    }

    const parts = random.floats(tokens * used * columns);
    const shares = random.floats(tokens * used);
    const residual = random.floats(tokens * columns);
    for (const from of [NONE, 2, 3]) {
      const got = await device.compute(
        {
          ops: [{
            kind: "expert_sum",
            input: 0,
            weights: 1,
            residual: from,
            output: 3,
            columns,
            n_used: used,
          }],
          buffers: [
            expertBuffer(columns, used),
            tokenBuffer(used),
            tokenBuffer(columns),
            tokenBuffer(columns),
          ],
        },
        tokens,
        { 0: parts, 1: shares, ...(from === NONE ? {} : { [from]: residual }) },
        { buffer: 3, values: tokens * columns },
      );
      const wanted = Array.from({ length: tokens * columns }, (_, i) => {
        const [t, c] = [Math.floor(i / columns), i % columns];
        return (from === NONE ? 0 : residual[i]) +
          shares[t * used] * parts[t * used * columns + c] +
          shares[t * used + 1] * parts[(t * used + 1) * columns + c];
      });
      assertClose(got, wanted);
    }
  });
});
