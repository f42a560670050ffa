import { assertEquals } from "@std/assert";
import {
  bitsOf,
  plainSequence,
  Random,
  row,
  type TestDevice,
  tokenBuffer,
  withDevice,
} from "../../fixtures/device_harness.ts";
import { withEnvironment } from "../../fixtures/emulated_environment.ts";
import { blocksOf, FACTOR_BLOCKS, matrixOf } from "../../fixtures/golden_blocks.ts";

// The number of thread blocks that a card runs at a time decides the tokens of a thread block, and the rows of a
// product with a launch of their own. It must not change any bit. Run by slow/emulated_test.ts: only the emulated
// device can have any number of multiprocessors.

const TOKENS = [1, 2, 3, 5, 8, 17, 32];

/** Bits of products of so many decoded tokens with weights of one type and so many rows each, one after the other. */
async function products(
  device: TestDevice,
  types: string[],
  rows: number[],
  columns: number,
  tokens: number[],
) {
  const random = new Random(11);
  const weights = types.map((type, i) => {
    const blocks = blocksOf(type);
    const { bytes } = matrixOf(blocks, rows[i], columns, random);
    return device.blocks(blocks.id, bytes, rows[i], columns);
  });
  const width = rows.reduce((a, b) => a + b);
  const program = device.program({
    ops: [{
      kind: "matmul",
      input: 0,
      output: 1,
      columns,
      weight: weights,
      rows,
      bias: rows.map((n) => device.tensor(random.floats(n), n)),
      ...types.length === 1 && { residual: 2 },
    }],
    buffers: [tokenBuffer(columns), tokenBuffer(width), tokenBuffer(width)],
    limits: { n_sequences: 32 },
  });
  const input = random.floats(32 * columns);
  program.writeBuffer(2, random.floats(32 * width));
  const found: Uint32Array[] = [];
  for (const n of tokens) {
    program.writeBuffer(0, input.slice(0, n * columns));
    await program.step(new Array(n).fill({ ...plainSequence(1), decode: true }));
    const values = program.readBuffer(1, new Float32Array(n * width));
    for (let t = 0; t < n; t++) found.push(bitsOf(row(values, t, width).slice()));
  }
  return found;
}

/** Fails where a product's bits depend on the number of multiprocessors. */
async function sameOn(cards: number[], compute: (device: TestDevice) => Promise<Uint32Array[]>) {
  let wanted: Uint32Array[] | undefined;
  for (const multiprocessors of cards) {
    const environment = { M40_EMULATION_MULTIPROCESSORS: String(multiprocessors) };
    await withEnvironment(environment, () =>
      withDevice({}, async (device) => {
        const got = await compute(device);
        wanted ??= got;
        assertEquals(got, wanted, `${multiprocessors} multiprocessors`);
      }));
  }
}

for (
  const [types, rows] of [
    [["F32"], [128]],
    [["F32"], [1]],
    [["Q4_K"], [300]],
    [["Q4_K"], [870]],
    [["Q4_K", "Q6_K"], [160, 32]],
    [["Q4_K", "Q4_K", "Q4_K"], [500, 300, 40]],
    [["Q4_K", "Q4_K", "Q6_K"], [40, 600, 300]],
    [["Q8_0", "F16"], [64, 40]],
    [["MXFP4"], [130]],
  ] as [string[], number[]][]
) {
  Deno.test(`a product with ${rows} rows of ${types} has the same bits on small and large cards`, () =>
    sameOn([1, 4, 5, 6, 8, 24, 132], (device) => products(device, types, rows, 1024, TOKENS)));
}

Deno.test("products with weights of every type have the same bits whether many tokens share a thread block or few", async () => {
  for (const { type } of FACTOR_BLOCKS) {
    await sameOn([1, 132], (device) => products(device, [type], [130], 256, [3, 8, 32]));
  }
});
