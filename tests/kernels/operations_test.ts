import { assertEquals, assertGreaterOrEqual } from "@std/assert";
import { Activation, NONE } from "../../engine/device/structs.ts";
import { encodeOperations } from "../../engine/program/operation.ts";
import {
  assertClose,
  cacheOf,
  everyWay,
  outputBuffer,
  Random,
  row,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";
import { completed } from "../fixtures/operations.ts";

// Each operation of m40.h as a program of one operation, against the same in float64.
// Norms: reference_norm_test.ts; products with weights: reference_products_test.ts; routing: reference_route_test.ts.

Deno.test("embed takes the rows of the tokens, scaled, and adds those of their positions", async () => {
  using device = new TestDevice();
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
      { tokens: [31, 0, 7], position: 4, kvBlocks: [], outputs: [] },
      { tokens: [7], position: 49, kvBlocks: [], outputs: [] },
    ];
    await program.step(sequences);
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

function erf(x: number): number {
  let sum = 0;
  let term = x;
  for (let n = 0; n < 200; n++) {
    sum += term / (2 * n + 1);
    term *= -x * x / (n + 1);
  }
  return 2 / Math.sqrt(Math.PI) * sum;
}

const ACTIVATIONS: Record<
  Exclude<keyof typeof Activation, "swiglu_clamped">,
  (x: number) => number
> = {
  silu: (x) => x / (1 + Math.exp(-x)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  gelu_erf: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  relu: (x) => Math.max(x, 0),
  relu_squared: (x) => Math.max(x, 0) ** 2,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
};

for (const [name, f] of Object.entries(ACTIVATIONS)) {
  Deno.test(`activation ${name}: by itself, as a gate, and in place`, async () => {
    using device = new TestDevice({ threads: 2 });
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
        await program.step([{ tokens: [0, 0, 0], position: 0, kvBlocks: [], outputs: [] }]);
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
}

Deno.test(
  "activation: the up values stand anywhere in the gate's row, or in another buffer",
  async () => {
    using device = new TestDevice({ threads: 2 });
    const random = new Random(61);
    const [tokens, columns, width] = [4, 1030, 2100];
    const gates = random.floats(tokens * width);
    const ups = random.floats(tokens * width);
    for (
      const [up, up_column, output] of [
        [0, 1070, 0],
        [0, 7, 2],
        [1, 0, 0],
        [1, 33, 2],
        [1, 0, 1],
        [1, 1030, 1],
      ]
    ) {
      const results = await everyWay(
        device,
        {
          ops: [{
            kind: "activation",
            input: 0,
            up,
            output,
            activation: Activation.silu,
            gated: 1,
            columns,
            up_column,
          }],
          buffers: [tokenBuffer(width), tokenBuffer(width), tokenBuffer(width)],
        },
        tokens,
        { 0: gates, 1: ups, [output]: output === 1 ? ups : gates },
        output,
      );
      const wanted = Array.from(output === 1 ? ups : gates);
      for (let t = 0; t < tokens; t++) {
        for (let i = 0; i < columns; i++) {
          const at = t * width + i;
          wanted[at] = ACTIVATIONS.silu(gates[at]) * (up ? ups : gates)[at + up_column];
        }
      }
      for (const got of results) assertClose(got, wanted, 1e-6);
    }
  },
);

Deno.test(
  "activation swiglu_clamped: the gate from above, the up values from both sides",
  async () => {
    using device = new TestDevice({ threads: 2 });
    const random = new Random(62);
    const [tokens, columns] = [3, 1500];
    const input = random.floats(tokens * 2 * columns, 6);
    for (const [alpha, limit] of [[1.702, 7], [0.5, 1]]) {
      const results = await everyWay(
        device,
        {
          ops: [{
            kind: "activation",
            input: 0,
            output: 1,
            activation: Activation.swiglu_clamped,
            gated: 1,
            columns,
            alpha,
            limit,
          }],
          buffers: [tokenBuffer(2 * columns), tokenBuffer(columns)],
        },
        tokens,
        { 0: input },
        1,
      );
      const wanted = Array.from({ length: tokens * columns }, (_, i) => {
        const at = Math.floor(i / columns) * 2 * columns + i % columns;
        const gate = Math.min(input[at], limit);
        const up = Math.min(Math.max(input[at + columns], -limit), limit);
        return gate / (1 + Math.exp(-alpha * gate)) * (up + 1);
      });
      for (const got of results) assertClose(got, wanted, 1e-6);
    }
  },
);

for (const name of Object.keys(Activation) as (keyof typeof Activation)[]) {
  Deno.test(
    `activation ${name}: what is not a number stays none, as a gate and as an up value`,
    async () => {
      using device = new TestDevice();
      const results = await everyWay(
        device,
        {
          ops: [{
            kind: "activation",
            input: 0,
            output: 1,
            activation: Activation[name],
            gated: 1,
            columns: 3,
            alpha: 1,
            limit: 2,
          }],
          buffers: [tokenBuffer(6), tokenBuffer(3)],
        },
        1,
        { 0: Float32Array.of(NaN, 1, 1, 1, NaN, 1) },
        1,
      );
      for (const got of results) {
        assertEquals(Array.from(got, Number.isNaN), [true, true, false], `${got}`);
      }
    },
  );
}

Deno.test(
  "add with a gate: a + sigmoid(gate) * b, each row with its own, in place too",
  async () => {
    using device = new TestDevice({ threads: 2 });
    const random = new Random(63);
    const [tokens, columns] = [7, 1027];
    const a = random.floats(tokens * columns);
    const b = random.floats(tokens * columns);
    const gates = random.floats(tokens * 3, 4);
    for (const output of [0, 1, 2]) {
      const results = await everyWay(
        device,
        {
          ops: [{ kind: "add", a: 0, b: 1, gate: 3, output, columns }],
          buffers: [
            tokenBuffer(columns),
            tokenBuffer(columns),
            tokenBuffer(columns),
            tokenBuffer(3),
          ],
        },
        tokens,
        { 0: a, 1: b, 3: gates },
        output,
      );
      const wanted = Array.from(
        a,
        (value, i) => value + b[i] / (1 + Math.exp(-gates[3 * Math.floor(i / columns)])),
      );
      for (const got of results) assertClose(got, wanted, 1e-6);
    }
  },
);

Deno.test("add, select and softcap: every row and column, and nothing else", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(7);
  const [tokens, columns] = [5, 1027];
  const a = random.floats(tokens * columns, 4);
  const b = random.floats(tokens * columns);
  const sum = await device.computeTokens(
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
    const capped = await device.computeTokens(
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
    { tokens: [0, 0, 0], position: 0, kvBlocks: [], outputs: [{ row: 1 }] },
    { tokens: [0, 0], position: 0, kvBlocks: [], outputs: [{ row: 0 }, { row: 1 }] },
  ]);
  const selected = program.readBuffer(1, new Float32Array(3 * columns));
  assertEquals(Array.from(selected), [1, 3, 4].flatMap((t) => Array.from(row(a, t, columns))));
});

Deno.test("an arena takes exactly the bytes that tensors, caches and programs were said to take", () => {
  using device = new TestDevice({ threads: 3, arenaBytes: 1 << 24 });
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
  const cacheDesc = cacheOf({
    n_layers: 3,
    n_kv_heads: 2,
    head_dim: 6,
    kv_block_tokens: 2,
    n_kv_blocks: 5,
    type: 1,
  });
  const { bytes, kvBlockBytes } = context.cacheBytes(cacheDesc);
  assertGreaterOrEqual(bytes, 5 * kvBlockBytes);
  let cache: ReturnType<typeof arena.createCache>;
  add(bytes, () => cache = arena.createCache(cacheDesc));
  const weight = device.tensor(new Float32Array(40 * 10), 40, 10);
  const desc = {
    limits: {
      n_tokens: 5,
      n_sequences: 2,
      n_outputs: 3,
      n_sequence_kv_blocks: 4,
      n_vocab: 40,
      lane: 0,
      step_bytes: 4096n,
    },
    buffers: [tokenBuffer(10), tokenBuffer(40)],
    ops: encodeOperations(
      [completed({ kind: "matmul", input: 0, output: 1, columns: 10, weight: [0], rows: [40] })],
      [weight],
    ),
  };
  add(context.programBytes(desc, cacheDesc), () => arena.createProgram(desc, cache));
});
