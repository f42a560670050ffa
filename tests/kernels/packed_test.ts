import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { Arithmetic } from "../../engine/device/structs.ts";
import { PACKED_TYPES as PROGRAM_TYPES } from "../../engine/program/mod.ts";
import {
  BACKEND,
  bitsOf,
  plainSequence,
  Random,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";
import { blocksOf, FACTOR_BLOCKS, instructionSets } from "../fixtures/golden_blocks.ts";
import { floats, MOST_ROWS, productOf, wantedOf, weightOf } from "../fixtures/packed_products.ts";
import {
  decodeChains,
  fma,
  PACKED_TYPES,
  packedResult,
  packedRow,
  promptChains,
} from "../fixtures/packed_reference.ts";

// Products in packed arithmetic: to the bit what their definition gives, whoever else is in the step, with any number of
// threads and any instruction set.

const { present } = instructionSets();
const TYPES = Object.keys(PACKED_TYPES);
const range = (n: number) => Array.from({ length: n }, (_, i) => i);

for (const instructionSet of present) {
  Deno.test(`${instructionSet}: packed products have the bits of their definition, for every type that has them, decoded and of prompts`, async () => {
    const random = new Random(31);
    for (const type of TYPES) {
      using device = new TestDevice({ instructionSet, threads: 2 });
      // Parts of no block, of uneven numbers, splits of decode and of prompts.
      const { blockSize } = PACKED_TYPES[type];
      for (const [rows, columns] of [[1, blockSize], [29, 3 * 256], [19, 2048], [5, 5120]]) {
        // A weight of one row is a vector: floats, which no arithmetic changes.
        const weight = weightOf(type, Math.max(rows, 2), columns, random);
        const multiply = productOf(device, [weight]);
        // Values of the largest and the smallest sizes, too.
        const inputs = range(4).map((t) => random.floats(columns, [1, 1e-3, 1e17, 1e-20][t]));
        const results = await multiply(inputs.slice(0, 2), inputs.slice(2));
        const chains = [decodeChains, promptChains].map((of) => of(weight.rows, columns));
        results.forEach((got, t) =>
          assertEquals(
            bitsOf(got),
            bitsOf(floats(wantedOf(weight, inputs[t], chains[t < 2 ? 0 : 1]))),
            `${type} [${weight.rows}, ${columns}], row ${t}`,
          )
        );
      }
    }
  });
}

Deno.test("a packed product is within half a unit of each activation of the exact one", async () => {
  using device = new TestDevice();
  const random = new Random(32);
  for (const type of TYPES) {
    const weight = weightOf(type, 24, 512, random);
    const [input] = [random.floats(512)];
    const [got] = await productOf(device, [weight])([input], []);
    const { runs } = packedRow(input, PACKED_TYPES[type].room);
    got.forEach((value, r) => {
      let exact = 0;
      let bound = 0;
      for (let c = 0; c < 512; c++) {
        const w = weight.values[r * 512 + c];
        exact += w * input[c];
        bound += Math.abs(w) * (0.501 * runs[c >> 4].unit + 1e-5 * Math.abs(input[c]));
      }
      assert(Math.abs(value - exact) <= bound, `${type}, row ${r}: ${value}, exact ${exact}`);
    });
  }
});

Deno.test("the engine takes the same types for packed as the libraries", () => {
  assertEquals([...PROGRAM_TYPES].sort(), TYPES.toSorted());
});

Deno.test("weights of other types have exact arithmetic's bits in packed arithmetic, and beside packed ones", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(33);
  const columns = 512;
  const inputs = range(5).map(() => random.floats(columns));
  const packed = weightOf("Q4_K", 33, columns, random);
  const chains = [decodeChains, promptChains].map((of) => of(33, columns));
  for (const { type } of FACTOR_BLOCKS.filter(({ type }) => !TYPES.includes(type))) {
    const other = weightOf(type, 21, columns, random);
    const parts = [inputs.slice(0, 2), inputs.slice(2)] as const;
    const exact = await productOf(device, [other], { arithmetic: Arithmetic.exact })(...parts);
    assertEquals((await productOf(device, [other])(...parts)).map(bitsOf), exact.map(bitsOf), type);
    const beside = await productOf(device, [packed, other])(...parts);
    beside.forEach((row, t) => {
      assertEquals(bitsOf(row.slice(33)), bitsOf(exact[t]), `${type} beside Q4_K`);
      const wanted = wantedOf(packed, inputs[t], chains[t < 2 ? 0 : 1]);
      assertEquals(bitsOf(row.slice(0, 33)), bitsOf(floats(wanted)), `Q4_K beside ${type}`);
    });
  }
});

Deno.test("three weights in one packed product, of types with different rooms: each has the bits that it has alone", async () => {
  using device = new TestDevice({ threads: 3 });
  const random = new Random(34);
  const weights = ["MXFP4", "Q3_K", "MXFP4"].map((type) => weightOf(type, 40, 1024, random));
  const inputs = range(3).map(() => random.floats(1024));
  const together = await productOf(device, weights)(inputs.slice(0, 1), inputs.slice(1));
  for (const [w, weight] of weights.entries()) {
    const alone = await productOf(device, [weight])(inputs.slice(0, 1), inputs.slice(1));
    assertEquals(
      together.map((row) => bitsOf(row.slice(40 * w, 40 * (w + 1)))),
      alone.map(bitsOf),
    );
  }
});

Deno.test("a packed sum times a factor, plus a bias, times a scale, plus a residual: each step is rounded once", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(35);
  const [rows, columns] = [37, 768];
  for (const type of ["Q4_0", "Q2_K", "MXFP4"]) {
    const weight = weightOf(type, rows, columns, random);
    const inputs = range(3).map(() => random.floats(columns));
    const chains = [decodeChains, promptChains].map((of) => of(rows, columns));
    const sums = inputs.map((row, t) => wantedOf(weight, row, chains[t < 2 ? 0 : 1]));
    const bias = random.floats(rows);
    const [factor, scale] = [Math.fround(0.37), Math.fround(1.7)];
    for (const residual of [undefined, "in place", "apart"] as const) {
      const width = residual === "apart" ? rows + 3 : rows;
      const before = random.floats(3 * width);
      for (const options of [{}, { bias }, { factor, bias }, { scale }, { factor, scale, bias }]) {
        const multiply = productOf(device, [weight], { ...options, residual });
        const got = await multiply(inputs.slice(0, 2), inputs.slice(2), before);
        const wanted = sums.map((row, t) =>
          floats(row.map((sum, r) => {
            const added = residual === undefined ? 0 : before[t * width + r];
            const of = { ...options, bias: "bias" in options ? bias[r] : 0 };
            // Rows of another width are added after the rest.
            return residual === "apart"
              ? Math.fround(packedResult(sum, of) + added)
              : packedResult(sum, { ...of, residual: added });
          }))
        );
        const what = `${type}, ${Object.keys(options)}, residual ${residual}`;
        assertEquals(got.map(bitsOf), wanted.map(bitsOf), what);
      }
    }
  }
});

Deno.test("a packed row has the bits that it has alone, in any company, with any threads and instruction set", async () => {
  const random = new Random(36);
  const columns = 1024;
  const inputs = range(MOST_ROWS).map(() => random.floats(columns));
  for (const type of TYPES) {
    const weight = weightOf(type, 83, columns, random);
    let wanted: { decoded: Uint32Array[]; prompt: Uint32Array[] } | undefined;
    for (const instructionSet of present) {
      for (const threads of [1, 3]) {
        using device = new TestDevice({
          threads,
          instructionSet: BACKEND === "cpu" ? instructionSet : undefined,
        });
        const multiply = productOf(device, [weight]);
        const decoded = (await multiply(inputs, [])).map(bitsOf);
        const prompt = (await multiply([], inputs)).map(bitsOf);
        wanted ??= { decoded, prompt };
        assertEquals({ decoded, prompt }, wanted, `${type}, ${instructionSet}, ${threads} threads`);
        for (const [from, decodes, to] of [[0, 1, 1], [3, 3, 4], [5, 10, 30], [20, 21, 39]]) {
          const got = await multiply(inputs.slice(from, decodes), inputs.slice(decodes, to));
          assertEquals(
            got.map(bitsOf),
            [...wanted.decoded.slice(from, decodes), ...wanted.prompt.slice(decodes, to)],
            `${type}, ${instructionSet}: decoded from ${from}, a prompt from ${decodes} to ${to}`,
          );
        }
      }
    }
  }
});

Deno.test("activations that are not finite, or too large together, make their own packed row NaN and no other", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(37);
  const columns = 512;
  for (const type of TYPES) {
    const weight = weightOf(type, 20, columns, random);
    const inputs = range(9).map(() => random.floats(columns));
    const multiply = productOf(device, [weight]);
    const whole = await multiply(inputs.slice(0, 4), inputs.slice(4));
    for (const bad of [NaN, Infinity, -Infinity, 3e38, 5e19]) {
      const spoiled = inputs.map((row) => row.slice());
      spoiled[1].fill(bad, 37, 40);
      spoiled[6].fill(bad, 37, 40);
      const got = await multiply(spoiled.slice(0, 4), spoiled.slice(4));
      got.forEach((row, t) => {
        if (t === 1 || t === 6) return assert(row.every(Number.isNaN), `${type}, ${bad}, row ${t}`);
        assertEquals(bitsOf(row), bitsOf(whole[t]), `${type}, ${bad} elsewhere, row ${t}`);
      });
    }
    const nothing = await multiply([new Float32Array(columns)], [new Float32Array(columns)]);
    assert(nothing.every((row) => row.every((value) => value === 0)), `${type}: a row of zeros`);
  }
});

Deno.test("the multiply-add of the definition rounds once, also where that leaves few bits", () => {
  const { fround } = Math;
  assertEquals(fma(3, 5, 7), 22);
  // 1 + 2^-23 squared is above the tie that its rounded product hides.
  const next = 1 + 2 ** -23;
  assertEquals(fma(next, next, -(1 + 2 ** -22)), 2 ** -46);
  assertEquals(fma(2 ** -75, 2 ** -75, 0), 0);
  assertEquals(fma(2 ** -74, 1.25 * 2 ** -75, 0), 2 ** -149);
  assertEquals(fma(fround(1e38), 10, fround(-3e38)), Infinity);
  assert(Object.is(fma(1, -1, 1), 0) && Object.is(fma(-0, 1, -0), -0));
});

Deno.test("a packed product with some rows of a weight has the bits of the same rows of the whole one, whose shape says how its columns are split", async () => {
  const random = new Random(38);
  const [rows, columns, first, some] = [7168, 2048, 512, 40];
  const { id } = blocksOf("Q4_0");
  const weight = weightOf("Q4_0", rows, columns, random);
  const rowBytes = weight.bytes.length / rows;
  const inputs = range(3).map(() => random.floats(columns));
  using device = new TestDevice({ threads: 2 });
  const whole = await productOf(device, [weight])(inputs.slice(0, 1), inputs.slice(1));
  const part = { firstRow: first, wholeRows: rows };
  const slice = device.blocks(id, weight.bytes, some, columns, 1, part);
  const program = device.program({
    ops: [{
      ...{ kind: "matmul", input: 0, output: 1, columns, weight: [slice], rows: [some] },
      arithmetic: Arithmetic.packed,
    }],
    buffers: [tokenBuffer(columns), tokenBuffer(some)],
    limits: { n_tokens: 3, n_sequences: 3, n_outputs: 1 },
  });
  program.writeBuffer(0, Float32Array.from(inputs.flatMap((row) => [...row])));
  const outputs: [] = [];
  await program.step([
    { ...plainSequence(1), outputs, decode: true },
    { ...plainSequence(2), outputs },
  ]);
  const got = program.readBuffer(1, new Float32Array(3 * some));
  const wanted = floats(whole.flatMap((row) => [...row.slice(first, first + some)]));
  assertEquals(bitsOf(got), bitsOf(wanted));
  // As a weight of its own it would be split otherwise.
  const own = {
    ...weight,
    rows: some,
    bytes: weight.bytes.slice(first * rowBytes, (first + some) * rowBytes),
  };
  const alone = await productOf(device, [own])(inputs.slice(0, 1), inputs.slice(1));
  assertNotEquals(bitsOf(floats(alone.flatMap((row) => [...row]))), bitsOf(wanted));
});
