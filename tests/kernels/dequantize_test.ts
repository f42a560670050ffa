import { assert, assertEquals } from "@std/assert";
import { BACKEND, Random, TestDevice } from "../fixtures/device_harness.ts";
import { GOLDEN_BLOCKS, instructionSets, matrixOf } from "../fixtures/golden_blocks.ts";

// Every tensor type through m40_tensor_read. Values must be the golden ones exactly: scales are so short that each
// is the result of one float32 rounding, or of two that m40 makes in the golden's order. A GPU's kernels take another
// way from quants to floats, which rounds once more; F16, F32, BF16 and the types of DIGESTS are exact there too.

const { present, absent } = instructionSets();
if (absent.length > 0) console.log(`not on this processor, so not tested: ${absent.join(", ")}`);

/** Equal, or both not a number; 0 and -0 are the same. */
function assertSame(got: Float32Array, wanted: ArrayLike<number>, what: string): void {
  assertEquals(got.length, wanted.length);
  const exact = BACKEND === "cpu" || /^B?F\d/.test(what) || what in DIGESTS;
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

/**
 * The 32 first hex digits of the SHA-256 of what gguf-py makes of {@link randomBlocks}: of every entry of a codebook,
 * with every sign, and of every scale of 8 bits.
 */
const DIGESTS: Record<string, string> = {
  IQ2_XXS: "5cf950722853d21cc975ca77958a18ba",
  IQ2_XS: "6fcf02c653bc2994ef05cd33da70d118",
  IQ3_XXS: "8424b2fce022b9d66b85df21478fe4eb",
  IQ1_S: "265e2da150a01d1c8368bbd169950a3e",
  IQ3_S: "e91117a9a3a24d5edb877257793f6f3c",
  IQ2_S: "d9da2ad29134766dbab1b0b35d5541c5",
  IQ1_M: "6d495c570ffc3ab66ed8a293a6b2e277",
  TQ1_0: "53ea2d43a5b7c0ffd45a923c95c2c841",
  TQ2_0: "17c7349ffec5527f4f7b3e1af471a465",
  // Above scales of 2^121, where the largest weights are infinite soon, a GPU's are sooner.
  MXFP4: BACKEND === "cpu"
    ? "c7e28bf7db16a0207ff5fe30c5b66d9e"
    : "c95356c6ea57f2bfc68e94be050b24cc",
  NVFP4: "40160f015cb7c91c654fa6a81d086f0b",
};

/** Where a block's half-precision scale lies. IQ1_M's is in pieces; MXFP4 and NVFP4 have others. */
const SCALE_AT: Record<string, number> = {
  ...{ IQ1_S: 0, IQ2_XXS: 0, IQ2_XS: 0, IQ2_S: 0, IQ3_XXS: 0, IQ3_S: 0 },
  ...{ TQ1_0: 52, TQ2_0: 64 },
};

/** Blocks of bytes from a linear congruential generator, but with a half-precision scale of 1. */
function randomBlocks(type: string, count: number, size: number): Uint8Array<ArrayBuffer> {
  let state = 1;
  const bytes = Uint8Array.from({ length: count * size }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  });
  for (let block = 0; block < bytes.length; block += size) {
    // 0x3C00: two bytes, or of IQ1_M the highest four bits of four words.
    if (type === "MXFP4" && BACKEND !== "cpu" && bytes[block] >= 249) bytes[block] &= 127;
    if (type in SCALE_AT) bytes.set([0x00, 0x3C], block + SCALE_AT[type]);
    if (type !== "IQ1_M") continue;
    for (const [i, bits] of [0x00, 0x00, 0xC0, 0x30].entries()) {
      bytes[block + 49 + 2 * i] = bytes[block + 49 + 2 * i] & 15 | bits;
    }
  }
  return bytes;
}

for (const instructionSet of present) {
  Deno.test(`${instructionSet}: blocks of every tensor type are read as the golden values`, () => {
    using device = new TestDevice({ instructionSet });
    assertEquals(GOLDEN_BLOCKS.length, 26);
    for (const { type, id, bytes, values } of GOLDEN_BLOCKS) {
      const tensor = device.blocks(id, bytes, 1, values.length);
      const got = device.context.readTensor(tensor, 0, 1, values.length);
      assertSame(got, values, type);
    }
  });

  Deno.test(`${instructionSet}: rows are read from any row on, whatever their length`, () => {
    using device = new TestDevice({ instructionSet });
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

  Deno.test(`${instructionSet}: every half and every bfloat16 is read exactly, subnormal, infinite or no number`, () => {
    using device = new TestDevice({ instructionSet });
    const patterns = Uint16Array.from({ length: 65536 }, (_, bits) => bits);
    const data = new Uint8Array(patterns.buffer);
    const halves = device.context.readTensor(device.blocks(1, data, 256, 256), 0, 256, 256);
    assertSame(halves, Array.from(patterns, halfValue), "F16");
    const brains = device.context.readTensor(device.blocks(30, data, 256, 256), 0, 256, 256);
    const wanted = new Float32Array(Uint32Array.from(patterns, (bits) => bits << 16).buffer);
    assertSame(brains, wanted, "BF16");
  });

  Deno.test(`${instructionSet}: block scales that are subnormal halves keep their value`, () => {
    using device = new TestDevice({ instructionSet });
    // Q8_0: the scale, then 32 signed bytes. Scales m * 2^-24, and the largest that is not normal.
    for (const bits of [1, 2, 0x155, 0x3FF, 0x8001, 0x83FF]) {
      const data = new Uint8Array(34).map((_, i) => 7 * i);
      data.set([bits & 255, bits >> 8]);
      const got = device.context.readTensor(device.blocks(8, data, 1, 32), 0, 1, 32);
      const quants = Array.from(new Int8Array(data.buffer, 2));
      assertSame(got, quants.map((q) => q * halfValue(bits)), `scale 0x${bits.toString(16)}`);
    }
  });

  Deno.test(`${instructionSet}: every entry of the codebooks, sign and scale is gguf-py's, to the bit`, async () => {
    using device = new TestDevice({ instructionSet });
    for (const [type, digest] of Object.entries(DIGESTS)) {
      const { id, blockSize, typeSize } = GOLDEN_BLOCKS.find((blocks) => blocks.type === type)!;
      const bytes = randomBlocks(type, 1024, typeSize);
      const tensor = device.blocks(id, bytes, 1024, blockSize);
      const values = device.context.readTensor(tensor, 0, 1024, blockSize);
      const unsignedZeros = Float32Array.from(values, (value) => value + 0);
      const got = new Uint8Array(await crypto.subtle.digest("SHA-256", unsignedZeros));
      assertEquals(got.toHex().slice(0, 32), digest, type);
    }
  });
}
