import { assert, assertEquals } from "@std/assert";
import { bitsOf, Random, TestDevice } from "../fixtures/device_harness.ts";
import { floats, productOf, wantedOf, type Weight, weightOf } from "../fixtures/packed_products.ts";
import { decodeChains, PACKED_TYPES, promptChains } from "../fixtures/packed_reference.ts";

// Products in packed arithmetic at the ends of what weights and activations can be: sums as large as two tokens can share
// a float, scales of any size and sign, rows of zeros, and shapes that fill no tile.

const TYPES = Object.keys(PACKED_TYPES);

/** Where a type's blocks have their FP16 scales; MXFP4's is one byte, an exponent. */
const SCALES: Readonly<Record<string, readonly number[]>> = {
  Q4_0: [0],
  Q4_1: [0, 2],
  Q2_K: [80, 82],
  Q3_K: [108],
  Q4_K: [0, 2],
  TQ1_0: [52],
  TQ2_0: [64],
};

/** Gives every block of a weight that scale, and that minimum's scale. */
function setScales({ type, bytes }: Weight, bits: number): void {
  const { typeSize } = PACKED_TYPES[type];
  for (let block = 0; block < bytes.length; block += typeSize) {
    if (type === "MXFP4") bytes[block] = bits;
    else for (const at of SCALES[type]) bytes.set([bits & 255, bits >> 8], block + at);
  }
}

/** Gives every byte of a weight that is no FP16 scale, nor MXFP4's exponent, that value. */
function setQuants({ type, bytes }: Weight, value: number): void {
  const { typeSize } = PACKED_TYPES[type];
  const kept = type === "MXFP4" ? [0] : SCALES[type].flatMap((at) => [at, at + 1]);
  for (let i = 0; i < bytes.length; i++) if (!kept.includes(i % typeSize)) bytes[i] = value;
}

/** Ensures that rows have the bits of the definition: some decoded, and as a prompt. */
async function assertDefined(
  device: TestDevice,
  weight: Weight,
  rows: readonly Float32Array<ArrayBuffer>[],
  what: string,
) {
  const got = await productOf(device, [weight])(rows, rows);
  const chains = [decodeChains, promptChains].map((of) => of(weight.rows, weight.columns));
  got.forEach((bits, i) => {
    const wanted = floats(wantedOf(weight, rows[i % rows.length], chains[i < rows.length ? 0 : 1]));
    assertEquals(bitsOf(bits), bitsOf(wanted), `${weight.type}, ${what}, row ${i}`);
  });
  return got;
}

Deno.test("packed sums as large as they can be, of both tokens of a pair and of either sign, are exact", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(51);
  const columns = 1024;
  const row = (of: (i: number) => number) =>
    floats(Array.from({ length: columns }, (_, i) => of(i)));
  const rows = [
    ...[1, -1].map((sign) => row(() => sign)),
    // All of the room on one activation; half of it beside fifteen small ones.
    ...[1, -1].map((sign) => row((i) => i % 16 === 5 ? 3.3 * sign : 0)),
    ...[1, -1].map((sign) => row((i) => sign * (i % 16 === 0 ? 15 : 1))),
    // Halves of a unit, which are rounded to even.
    row((i) => (i % 2 === 0 ? -1.5 : 0.5) / 353),
    row((i) => i === 0 ? 1e19 : 1e-19),
    random.floats(columns),
  ];
  for (const type of TYPES) {
    // The least and the greatest quants, nibbles of both, and the middle ones.
    for (const value of [0x00, 0xff, 0x0f, 0xf0, 0x77, 0x88]) {
      const weight = weightOf(type, 33, columns, random);
      setQuants(weight, value);
      await assertDefined(device, weight, rows, `quants ${value.toString(16)}`);
    }
  }
});

Deno.test("packed products with scales of zero, of either sign, subnormal and the largest have the bits of their definition", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(52);
  const rows = [1, 1e-6, 1e6].map((size) => random.floats(1024, size));
  for (const type of TYPES) {
    const halves = [0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0xbc00, 0x7bff, 0xfbff];
    for (const bits of type === "MXFP4" ? [0, 1, 2, 64, 127, 170] : halves) {
      const weight = weightOf(type, 17, 1024, random);
      setScales(weight, bits);
      const got = await assertDefined(device, weight, rows, `scales ${bits.toString(16)}`);
      assert(got.every((row) => row.every(Number.isFinite)), `${type}, scales ${bits}`);
    }
  }
});

Deno.test("rows of zeros of either sign give zeros in packed products, beside others", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(53);
  for (const type of TYPES) {
    const weight = weightOf(type, 33, 1024, random);
    const zeros = [0, -0].map((value) => new Float32Array(1024).fill(value));
    const others = random.floats(1024);
    // Some runs of zeros in others, too.
    const some = others.map((value, i) => (i >> 4) % 3 === 0 ? 0 : value);
    const got = await assertDefined(device, weight, [zeros[0], others, zeros[1], some], "zeros");
    for (const i of [0, 2, 4, 6]) assert(got[i].every((value) => value === 0), `${type}, row ${i}`);
  }
});

Deno.test("packed products with few and odd numbers of rows, and odd numbers of blocks, have the bits of their definition", async () => {
  const random = new Random(54);
  for (const type of TYPES) {
    using device = new TestDevice({ threads: 3 });
    for (const columns of PACKED_TYPES[type].blockSize === 32 ? [32, 96, 1056] : [256, 768]) {
      for (const rows of [2, 3, 7, 9, 31, 33, 65, 129]) {
        const weight = weightOf(type, rows, columns, random);
        const inputs = [0, 1, 2].map(() => random.floats(columns));
        await assertDefined(device, weight, inputs, `[${rows}, ${columns}]`);
      }
    }
  }
});
