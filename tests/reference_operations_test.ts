import { assertEquals, assertGreaterOrEqual } from "@std/assert";
import { Activation, NONE, Norm } from "../engine/device/structs.ts";
import {
  assertClose,
  expertBuffer,
  indexBuffer,
  outputBuffer,
  Random,
  row,
  TestDevice,
  tokenBuffer,
  withDevice,
} from "./device_harness.ts";

// Each operation of m40.h as a program of one operation, against the same in float64.

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

Deno.test("embed takes the rows of the tokens, scaled, and adds those of their positions", async () => {
  await withDevice({}, async (device) => {
    const random = new Random(1);
    const columns = 37;
    const table = random.floats(32 * columns);
    const positions = random.floats(50 * columns);
    for (const learned of [false, true]) {
      const program = device.program({
        ops: [{
          kind: "embed",
          output: 0,
          table: device.tensor(table, 32, columns),
          position_table: learned ? device.tensor(positions, 50, columns) : NONE,
          columns,
          scale: 2.5,
        }],
        buffers: [tokenBuffer(columns)],
      });
      const sequences = [
        { tokens: [31, 0, 7], position: 4, pages: [], outputs: [] },
        { tokens: [7], position: 49, pages: [], outputs: [] },
      ];
      await program.step(sequences, { sample: false });
      const got = program.readBuffer(0, new Float32Array(4 * columns));
      const wanted = sequences.flatMap(({ tokens, position }) =>
        tokens.flatMap((token, i) =>
          Array.from(
            row(table, token, columns),
            (value, c) => 2.5 * value + (learned ? positions[(position + i) * columns + c] : 0),
          )
        )
      );
      assertClose(got, wanted, 1e-7);
    }
  });
});

function normalised(
  values: ArrayLike<number>,
  weight: ArrayLike<number>,
  epsilon: number,
  layer: boolean,
): number[] {
  const n = values.length;
  const mean = layer ? Array.from(values).reduce((a, b) => a + b) / n : 0;
  const centred = Array.from(values, (value) => value - mean);
  const scale = 1 / Math.sqrt(dot(centred, centred) / n + epsilon);
  return centred.map((value, i) => value * scale * weight[i]);
}

for (const kind of ["rms", "layer"] as const) {
  Deno.test(`norm ${kind}: any number of columns, with and without bias and residual, in place too`, async () => {
    await withDevice({ threads: 2 }, async (device) => {
      const random = new Random(2);
      for (const columns of [1, 7, 64, 257, 1000, 4097, 9000]) {
        for (const [biased, residual, inPlace] of [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1]]) {
          const tokens = 9;
          const weight = random.floats(columns);
          const bias = random.floats(columns);
          const input = random.floats(tokens * columns, 3);
          const extra = random.floats(tokens * columns);
          const output = inPlace ? 0 : 2;
          const got = await device.compute(
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
  });
}

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
            residual: NONE,
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
              bias: [NONE, NONE, NONE],
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
          residual: NONE,
          n_weights: 1,
          columns,
          weight: [weight, NONE, NONE],
          bias: [NONE, NONE, NONE],
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
function erf(x: number): number {
  let sum = 0;
  let term = x;
  for (let n = 0; n < 200; n++) {
    sum += term / (2 * n + 1);
    term *= -x * x / (n + 1);
  }
  return 2 / Math.sqrt(Math.PI) * sum;
}

const ACTIVATIONS: Record<keyof typeof Activation, (x: number) => number> = {
  silu: (x) => x / (1 + Math.exp(-x)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  gelu_erf: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  relu: (x) => Math.max(x, 0),
};

for (const [name, f] of Object.entries(ACTIVATIONS)) {
  Deno.test(`activation ${name}: by itself, as a gate, and in place`, async () => {
    await withDevice({ threads: 2 }, async (device) => {
      const random = new Random(6);
      const [tokens, columns] = [3, 1500];
      const input = random.floats(tokens * 2 * columns, 1.2);
      for (const gated of [0, 1]) {
        for (const output of [0, 1]) {
          const program = device.program({
            ops: [{
              kind: "activation",
              input: 0,
              output,
              activation: Activation[name as keyof typeof Activation],
              gated,
              columns,
            }],
            buffers: [tokenBuffer(2 * columns), tokenBuffer(2 * columns)],
          });
          program.writeBuffer(0, input);
          await program.step([{
            tokens: [0, 0, 0],
            position: 0,
            pages: [],
            outputs: [],
          }], { sample: false });
          const got = program.readBuffer(output, new Float32Array(tokens * 2 * columns));
          for (let t = 0; t < tokens; t++) {
            const values = row(input, t, 2 * columns);
            const wanted = Array.from(
              { length: columns },
              (_, i) => f(values[i]) * (gated ? values[columns + i] : 1),
            );
            assertClose(got.slice(t * 2 * columns, t * 2 * columns + columns), wanted, 1e-6);
          }
        }
      }
    });
  });
}

Deno.test("add, select and softcap: every row and column, and nothing beside them", async () => {
  await withDevice({ threads: 2 }, async (device) => {
    const random = new Random(7);
    const [tokens, columns] = [5, 1027];
    const a = random.floats(tokens * columns, 4);
    const b = random.floats(tokens * columns);
    const sum = await device.compute(
      {
        ops: [{ kind: "add", a: 0, b: 1, output: 1, columns: columns - 1 }],
        buffers: [tokenBuffer(columns), tokenBuffer(columns)],
      },
      tokens,
      { 0: a, 1: b },
      { buffer: 1, values: tokens * columns },
    );
    assertClose(
      sum,
      Array.from(b, (value, i) => i % columns === columns - 1 ? value : value + a[i]),
      1e-7,
    );

    for (const softcap of [0, 3]) {
      const capped = await device.compute(
        {
          ops: [{ kind: "softcap", input: 0, output: 0, columns, scale: 0.5, softcap }],
          buffers: [tokenBuffer(columns)],
        },
        tokens,
        { 0: a },
        { buffer: 0, values: tokens * columns },
      );
      const wanted = Array.from(
        a,
        (value) => softcap === 0 ? value / 2 : softcap * Math.tanh(value / 2 / softcap),
      );
      assertClose(capped, wanted, 3e-7);
    }

    const program = device.program({
      ops: [{ kind: "select", input: 0, output: 1, columns }],
      buffers: [tokenBuffer(columns), outputBuffer(columns)],
    });
    program.writeBuffer(0, a);
    await program.step([
      { tokens: [0, 0, 0], position: 0, pages: [], outputs: [{ row: 1 }] },
      { tokens: [0, 0], position: 0, pages: [], outputs: [{ row: 0 }, { row: 1 }] },
    ], { sample: false });
    const selected = program.readBuffer(1, new Float32Array(3 * columns));
    assertEquals(
      Array.from(selected),
      [1, 3, 4].flatMap((t) => Array.from(row(a, t, columns))),
    );
  });
});

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
          { sample: false },
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

Deno.test("an arena takes exactly the bytes that tensors, caches and programs were said to take", () => {
  const device = new TestDevice({ threads: 3, arenaBytes: 1 << 24 });
  try {
    const { context, arena } = device;
    const add = (bytes: number, place: () => void) => {
      const before = arena.usedBytes;
      place();
      assertEquals(arena.usedBytes - before, bytes);
    };
    for (const [type, rows, columns] of [[0, 3, 5], [1, 1, 7], [8, 3, 32], [12, 1, 256]]) {
      const desc = { type, n_experts: 1, rows, columns };
      const blockBytes = { 0: 4, 1: 2, 8: 34, 12: 144 }[type]!;
      const blockWeights = { 0: 1, 1: 1, 8: 32, 12: 256 }[type]!;
      const data = new Uint8Array(rows * columns / blockWeights * blockBytes);
      add(context.tensorBytes(desc), () => arena.upload(desc, data));
    }
    const cacheDesc = {
      n_layers: 3,
      n_kv_heads: 2,
      head_dim: 6,
      page_tokens: 2,
      n_pages: 5,
      type: 1,
    };
    const { bytes, pageBytes } = context.cacheBytes(cacheDesc);
    assertGreaterOrEqual(bytes, 5 * pageBytes);
    let cache: ReturnType<typeof arena.createCache>;
    add(bytes, () => cache = arena.createCache(cacheDesc));
    const weight = device.tensor(new Float32Array(40 * 10), 40, 10);
    const desc = {
      limits: {
        n_tokens: 5,
        n_sequences: 2,
        n_outputs: 3,
        n_sequence_pages: 4,
        n_vocab: 40,
        reserved: 0,
        step_bytes: 4096n,
      },
      buffers: [tokenBuffer(10), tokenBuffer(40)],
      ops: new Uint8Array(128),
    };
    const words = new Uint32Array(desc.ops.buffer);
    words.set([3, 0, 0, 1, NONE, 1, 10, weight, NONE, NONE, NONE, NONE, NONE, 40]);
    add(context.programBytes(desc, cacheDesc), () => arena.createProgram(desc, cache));
  } finally {
    device.close();
  }
});
