import { NONE } from "../../engine/device/structs.ts";
import {
  assertClose,
  dot,
  everyWay,
  expertBuffer,
  indexBuffer,
  Random,
  row,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";

// Products with the weights of experts and their sums, as programs of one operation, against the same in float64.
// With weights of every type and groups of every size: expert_matmul_test.ts.

Deno.test("expert_matmul and expert_sum: each row with its own expert's weights, then their weighted sum", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(9);
  const [tokens, columns, experts, used] = [7, 45, 5, 2];
  const rows = [70, 3];
  const weights = rows.map((n) => random.floats(experts * n * columns));
  const chosen = Uint32Array.from({ length: tokens * used }, (_, i) => (i * 3 + 1) % experts);
  const width = rows[0] + rows[1] + 2;
  for (const shared of [true, false]) {
    const n = shared ? tokens : tokens * used;
    const input = random.floats(n * columns);
    const got = await device.computeTokens(
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
    const got = await device.computeTokens(
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

for (const inputPerSlot of [false, true]) {
  const inputs = inputPerSlot ? "slot" : "token";
  Deno.test(
    `expert_matmul, inputs by ${inputs}: each expert's factor and bias, then the slot's weight`,
    async () => {
      using device = new TestDevice({ threads: 2 });
      const random = new Random(53);
      const [experts, used, columns] = [5, 3, 64];
      const rows = [70, 9];
      // Few tokens and many: groups of rows of an expert of either size.
      for (const tokens of [2, 70]) {
        for (const given of [["bias"], ["factor"], ["weights"], ["bias", "factor", "weights"]]) {
          const has = (what: string) => given.includes(what);
          const weights = rows.map((n) => random.floats(experts * n * columns));
          const biases = rows.map((n) => has("bias") ? random.floats(experts * n, 3) : undefined);
          const factors = rows.map(() => has("factor") ? random.floats(experts) : undefined);
          const chosen = Uint32Array.from(
            { length: tokens * used },
            (_, i) => (Math.floor(i / used) * 2 + i % used) % experts,
          );
          const shares = random.floats(tokens * used);
          const input = random.floats(tokens * columns * (inputPerSlot ? used : 1));
          const width = rows[0] + rows[1];
          const vector = (values?: Float32Array) =>
            values ? device.tensor(values, values.length) : NONE;
          const results = await everyWay(
            device,
            {
              ops: [{
                kind: "expert_matmul",
                input: 0,
                experts: 1,
                output: 2,
                weights: has("weights") ? 3 : NONE,
                columns,
                n_used: used,
                n_experts: experts,
                weight: weights.map((w, i) => device.tensor(w, experts, rows[i], columns)),
                bias: biases.map(vector),
                factor: factors.map(vector),
                rows,
              }],
              buffers: [
                inputPerSlot ? expertBuffer(columns, used) : tokenBuffer(columns),
                indexBuffer(used),
                expertBuffer(width, used),
                tokenBuffer(used),
              ],
            },
            tokens,
            { 0: input, 1: chosen, 3: shares },
            2,
          );
          const wanted: number[] = [];
          for (let i = 0; i < tokens * used; i++) {
            const expert = chosen[i];
            const values = row(input, inputPerSlot ? i : Math.floor(i / used), columns);
            rows.forEach((n, w) => {
              for (let r = 0; r < n; r++) {
                const product = dot(row(weights[w], expert * n + r, columns), values);
                const value = (factors[w]?.[expert] ?? 1) * product +
                  (biases[w]?.[expert * n + r] ?? 0);
                wanted.push(has("weights") ? value * shares[i] : value);
              }
            });
          }
          for (const got of results) assertClose(got, wanted);
        }
      }
    },
  );
}

Deno.test("expert_sum: a scale, and sums without weights", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(54);
  const [tokens, columns] = [5, 300];
  for (const used of [1, 4]) {
    const input = random.floats(tokens * used * columns);
    const shares = random.floats(tokens * used);
    const residual = random.floats(tokens * columns);
    for (const weighted of [false, true]) {
      for (const from of [NONE, 2, 3]) {
        const results = await everyWay(
          device,
          {
            ops: [{
              kind: "expert_sum",
              input: 0,
              weights: weighted ? 1 : NONE,
              residual: from,
              output: 3,
              columns,
              n_used: used,
              scale: -2.5,
            }],
            buffers: [
              expertBuffer(columns, used),
              tokenBuffer(used),
              tokenBuffer(columns),
              tokenBuffer(columns),
            ],
          },
          tokens,
          { 0: input, 1: shares, 2: residual, 3: residual },
          3,
        );
        const wanted = Array.from(residual, (value, i) => {
          const [t, c] = [Math.floor(i / columns), i % columns];
          let sum = 0;
          for (let slot = t * used; slot < (t + 1) * used; slot++) {
            sum += (weighted ? shares[slot] : 1) * input[slot * columns + c];
          }
          return (from === NONE ? 0 : value) - 2.5 * sum;
        });
        for (const got of results) assertClose(got, wanted);
      }
    }
  }
});
