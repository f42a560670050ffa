import { assert, assertEquals } from "@std/assert";
import { NONE } from "../../engine/device/structs.ts";
import {
  BACKEND,
  plainSequence,
  Random,
  TestDevice,
  tokenBuffer,
  withDevice,
} from "../fixtures/device_harness.ts";
import {
  FACTOR_BLOCKS,
  type GoldenBlocks,
  instructionSets,
  matrixOf,
} from "../fixtures/golden_blocks.ts";

// Products with weights of every tensor type, on every instruction set that this processor has.

const { present, absent } = instructionSets();
if (absent.length > 0) console.log(`not on this processor, so not tested: ${absent.join(", ")}`);

/**
 * A program of one matmul with one weight; `most` tokens at most, of a prompt or decoded ones. The input has `gap` columns
 * more than are multiplied.
 */
function product(
  device: TestDevice,
  blocks: GoldenBlocks,
  bytes: Uint8Array<ArrayBuffer>,
  rows: number,
  columns: number,
  most: number,
  { gap = 0, decode = false } = {},
): (input: Float32Array<ArrayBuffer>) => Promise<Float32Array<ArrayBuffer>> {
  const program = device.program({
    ops: [{
      kind: "matmul",
      input: 0,
      output: 1,
      n_weights: 1,
      columns,
      weight: [device.blocks(blocks.id, bytes, rows, columns), NONE, NONE],
      rows: [rows, 0, 0],
      output_column: [0, 0, 0],
    }],
    buffers: [tokenBuffer(columns + gap), tokenBuffer(rows)],
    limits: { n_tokens: most, n_outputs: most },
  });
  return async (input) => {
    const tokens = input.length / columns;
    const apart = new Float32Array(tokens * (columns + gap));
    for (let t = 0; t < tokens; t++) {
      apart.set(input.subarray(t * columns, (t + 1) * columns), t * (columns + gap));
    }
    program.writeBuffer(0, apart);
    const alone = { ...plainSequence(1), decode };
    await program.step(decode ? new Array(tokens).fill(alone) : [plainSequence(tokens)]);
    return program.readBuffer(1, new Float32Array(tokens * rows));
  };
}

/** For tests of one kernel's bits, which are slow in the emulation: a type of each kind there. */
const SOME_TYPES = BACKEND === "emulated"
  ? FACTOR_BLOCKS.filter(({ type }) =>
    ["F16", "Q8_0", "Q4_K", "IQ2_XS", "IQ1_M", "MXFP4"].includes(type)
  )
  : FACTOR_BLOCKS;

/**
 * Calls back with a weight of every type, for decoded tokens and for those of a prompt.
 *
 * @param most Tokens of a product, at most.
 * @param test Is given what makes products with so many columns of the input left out, and how many are multiplied.
 */
async function everyWeight(
  instructionSet: string,
  most: number,
  test: (
    make: (gap: number) => ReturnType<typeof product>,
    columns: number,
    random: Random,
    what: string,
  ) => Promise<void>,
): Promise<void> {
  const random = new Random(5);
  const rows = 29;
  for (const blocks of FACTOR_BLOCKS) {
    using device = new TestDevice({ instructionSet, threads: 2 });
    const columns = 2 * Math.max(blocks.blockSize, 128);
    const { bytes } = matrixOf(blocks, rows, columns, random);
    for (const decode of [true, false]) {
      const make = (gap: number) =>
        product(device, blocks, bytes, rows, columns, most, { decode, gap });
      await test(make, columns, random, `${blocks.type}, ${decode ? "decoded" : "a prompt's"}`);
    }
  }
}

/** Columns that end a vector, a tile of columns or a block early, and rows likewise. */
function shapes(blockSize: number): [rows: number, columns: number][] {
  if (blockSize === 1) return [[1, 1], [3, 31], [13, 33], [5, 255], [30, 300]];
  if (blockSize === 32) return [[1, 32], [3, 96], [13, 288], [30, 320]];
  if (blockSize === 64) return [[1, 64], [3, 192], [13, 320]];
  return [[1, 256], [5, 768], [30, 512]];
}

const bits = (values: Float32Array<ArrayBuffer>) => new Uint32Array(values.buffer);

for (const instructionSet of present) {
  Deno.test(`${instructionSet}: products with weights of every tensor type, in awkward shapes, of 1 to 9 tokens`, async () => {
    const random = new Random(2);
    for (const blocks of FACTOR_BLOCKS) {
      using device = new TestDevice({ instructionSet, threads: 2 });
      for (const [rows, columns] of shapes(blocks.blockSize)) {
        const { bytes, values } = matrixOf(blocks, rows, columns, random);
        const multiply = product(device, blocks, bytes, rows, columns, 9);
        for (let tokens = 1; tokens <= 9; tokens++) {
          const input = random.floats(tokens * columns);
          const got = await multiply(input);
          for (let i = 0; i < got.length; i++) {
            const [t, r] = [Math.floor(i / rows), i % rows];
            let wanted = 0;
            let size = 0;
            for (let c = 0; c < columns; c++) {
              const term = values[r * columns + c] * input[t * columns + c];
              wanted += term;
              size += Math.abs(term);
            }
            assert(
              Math.abs(got[i] - wanted) <= 1e-6 * size,
              `${blocks.type} [${rows}, ${columns}], ${tokens} tokens: row ${r} of token ${t} ` +
                `is ${got[i]}, wanted ${wanted}`,
            );
          }
        }
      }
    }
  });

  Deno.test(`${instructionSet}: a token's product has the same bits alone and in a batch of any size`, async () => {
    const random = new Random(3);
    for (const blocks of SOME_TYPES) {
      using device = new TestDevice({ instructionSet, threads: 2 });
      const rows = 29;
      const columns = ({ 1: 331, 32: 352, 64: 320 } as Record<number, number>)[blocks.blockSize] ??
        768;
      const { bytes } = matrixOf(blocks, rows, columns, random);
      const multiply = product(device, blocks, bytes, rows, columns, 130);
      const input = random.floats(130 * columns);
      const all = bits(await multiply(input));
      for (let t = 0; t < 130; t += t < 12 ? 1 : 13) {
        const alone = bits(await multiply(input.slice(t * columns, (t + 1) * columns)));
        assertEquals(alone, all.slice(t * rows, (t + 1) * rows), `${blocks.type}, token ${t}`);
      }
      for (const [first, tokens] of [[0, 2], [1, 3], [40, 7], [5, 8], [60, 33], [20, 97]]) {
        const some = bits(await multiply(input.slice(first * columns, (first + tokens) * columns)));
        const wanted = all.slice(first * rows, (first + tokens) * rows);
        assertEquals(some, wanted, `${blocks.type}, ${tokens} tokens from ${first} on`);
      }
    }
  });

  Deno.test(`${instructionSet}: products of tokens that cannot be loaded four columns at a time have the bits of those that can`, async () => {
    await everyWeight(instructionSet, 9, async (make, columns, random, what) => {
      const [apart, together] = [make(1), make(0)];
      for (const tokens of [1, 3, 9]) {
        const input = random.floats(tokens * columns);
        const wanted = bits(await together(input));
        assertEquals(bits(await apart(input)), wanted, `${what}, ${tokens} tokens`);
      }
    });
  });

  Deno.test(`${instructionSet}: a product of an input 2^40 times as large, or as small, has the same bits but for its exponents`, async () => {
    await everyWeight(instructionSet, 5, async (make, columns, random, what) => {
      const multiply = make(0);
      for (const tokens of [1, 5]) {
        const input = random.floats(tokens * columns);
        const plain = await multiply(input);
        for (const times of [2 ** 40, 2 ** -40]) {
          assertEquals(
            await multiply(input.map((value) => value * times)),
            plain.map((value) => value * times),
            `${what}, ${tokens} tokens`,
          );
        }
      }
    });
  });

  Deno.test(`${instructionSet}: a row's product has the same bits among any rows and on any number of threads`, async () => {
    const random = new Random(4);
    for (const blocks of SOME_TYPES) {
      const rows = 211;
      const columns = blocks.blockSize === 1 ? 301 : 256;
      const { bytes } = matrixOf(blocks, rows, columns, random);
      const rowBytes = bytes.length / rows;
      const backwards = new Uint8Array(bytes.length);
      for (let r = 0; r < rows; r++) {
        backwards.set(bytes.subarray(r * rowBytes, (r + 1) * rowBytes), (rows - 1 - r) * rowBytes);
      }
      for (const tokens of [1, 5]) {
        const input = random.floats(tokens * columns);
        const results: Uint32Array[] = [];
        for (const threads of [1, 2, 3]) {
          await withDevice({ instructionSet, threads }, async (device) => {
            const forwards = product(device, blocks, bytes, rows, columns, tokens);
            results.push(bits(await forwards(input)));
            if (threads > 1) return;
            const reversed = await product(device, blocks, backwards, rows, columns, tokens)(input);
            for (let t = 0; t < tokens; t++) reversed.subarray(t * rows, (t + 1) * rows).reverse();
            assertEquals(bits(reversed), results[0], `${blocks.type}, rows in reverse order`);
          });
        }
        assertEquals(results[1], results[0], `${blocks.type}, 2 threads`);
        assertEquals(results[2], results[0], `${blocks.type}, 3 threads`);
      }
    }
  });
}
