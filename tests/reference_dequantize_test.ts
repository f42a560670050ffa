import { assert, assertEquals } from "@std/assert";
import { BACKEND, Random, withDevice } from "./device_harness.ts";
import { GOLDEN_BLOCKS, instructionSets, matrixOf } from "./golden_blocks.ts";

// Every tensor type through m40_tensor_read. Values must be the golden ones exactly: scales are so short that each
// is the result of one float32 rounding, or of two that m40 makes in the golden's order. A GPU's kernels take another
// way from quants to floats, which rounds once more; F16, F32 and BF16 are exact there too.

const { present, absent } = instructionSets();
if (absent.length > 0) console.log(`not on this processor, so not tested: ${absent.join(", ")}`);

/** Equal, or both not a number; 0 and -0 are the same. */
function assertSame(got: Float32Array, wanted: ArrayLike<number>, what: string): void {
  assertEquals(got.length, wanted.length);
  const exact = BACKEND === "cpu" || /^B?F\d/.test(what);
  const largest = exact ? 0 : Array.from(wanted).reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  for (let i = 0; i < wanted.length; i++) {
    const same = got[i] === wanted[i] || Math.abs(got[i] - wanted[i]) < 4e-6 * largest ||
      (Number.isNaN(got[i]) && Number.isNaN(wanted[i]));
    assert(same, `${what}: value ${i} is ${got[i]}, wanted ${wanted[i]}`);
  }
}

/** What 16 bits of half precision stand for, by the definition of IEEE 754. */
function halfValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

for (const instructionSet of present) {
  Deno.test(`${instructionSet}: blocks of every tensor type are read as the golden values`, async () => {
    await withDevice({ instructionSet }, (device) => {
      assertEquals(GOLDEN_BLOCKS.length, 15);
      for (const { type, id, bytes, values } of GOLDEN_BLOCKS) {
        const tensor = device.blocks(id, bytes, 1, values.length);
        const got = device.context.readTensor(tensor, 0, 1, values.length);
        assertSame(got, values, type);
      }
    });
  });

  Deno.test(`${instructionSet}: rows are read from any row on, whatever their length`, async () => {
    await withDevice({ instructionSet }, (device) => {
      const random = new Random(1);
      for (const blocks of GOLDEN_BLOCKS) {
        for (const n of blocks.blockSize === 1 ? [1, 3, 17, 31, 33, 63, 65, 100] : [1, 2, 5]) {
          const columns = n * blocks.blockSize;
          const { bytes, values } = matrixOf(blocks, 7, columns, random);
          const tensor = device.blocks(blocks.id, bytes, 7, columns);
          for (const [first, rows] of [[0, 7], [3, 2], [6, 1]]) {
            const got = device.context.readTensor(tensor, first, rows, columns);
            const wanted = values.subarray(first * columns, (first + rows) * columns);
            assertSame(got, wanted, `${blocks.type}, ${columns} columns, from row ${first}`);
          }
        }
      }
    });
  });

  Deno.test(`${instructionSet}: every half and every bfloat16 is read exactly, subnormal, infinite or no number`, async () => {
    await withDevice({ instructionSet }, (device) => {
      const patterns = Uint16Array.from({ length: 65536 }, (_, bits) => bits);
      const data = new Uint8Array(patterns.buffer);
      const halves = device.context.readTensor(device.blocks(1, data, 256, 256), 0, 256, 256);
      assertSame(halves, Array.from(patterns, halfValue), "F16");
      const brains = device.context.readTensor(device.blocks(30, data, 256, 256), 0, 256, 256);
      const wanted = new Float32Array(Uint32Array.from(patterns, (bits) => bits << 16).buffer);
      assertSame(brains, wanted, "BF16");
    });
  });

  Deno.test(`${instructionSet}: block scales that are subnormal halves keep their value`, async () => {
    await withDevice({ instructionSet }, (device) => {
      // Q8_0: the scale, then 32 signed bytes. Scales m * 2^-24, and the largest that is not normal.
      for (const bits of [1, 2, 0x155, 0x3FF, 0x8001, 0x83FF]) {
        const data = new Uint8Array(34).map((_, i) => 7 * i);
        data.set([bits & 255, bits >> 8]);
        const got = device.context.readTensor(device.blocks(8, data, 1, 32), 0, 1, 32);
        const quants = Array.from(new Int8Array(data.buffer, 2));
        assertSame(got, quants.map((q) => q * halfValue(bits)), `scale 0x${bits.toString(16)}`);
      }
    });
  });
}
