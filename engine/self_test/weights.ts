import type { TensorType } from "../gguf/mod.ts";
import type { Random } from "./random.ts";

/** Where the half-precision scales of a block stand, by the type's name; all other bits of a block may be random. */
const SCALES: Readonly<Record<string, readonly number[]>> = {
  Q4_0: [0],
  Q4_1: [0, 2],
  Q5_0: [0],
  Q5_1: [0, 2],
  Q8_0: [0],
  Q2_K: [80, 82],
  Q3_K: [108],
  Q4_K: [0, 2],
  Q5_K: [0, 2],
  Q6_K: [208],
  IQ1_S: [0],
  IQ2_XXS: [0],
  IQ2_XS: [0],
  IQ2_S: [0],
  IQ3_XXS: [0],
  IQ3_S: [0],
  IQ4_NL: [0],
  IQ4_XS: [0],
  TQ1_0: [52],
  TQ2_0: [64],
};

/** Random scales, from 1/64 to 1/16. */
function setScale(blocks: Uint8Array, at: number, random: Random): void {
  new DataView(blocks.buffer, blocks.byteOffset).setFloat16(
    at,
    (16 + random.below(48)) / 1024,
    true,
  );
}

/** Random weights of a type, in its blocks. */
export function randomWeights(
  type: TensorType,
  count: number,
  random: Random,
): Uint8Array<ArrayBuffer> {
  switch (type.name) {
    case "F32":
      return new Uint8Array(random.floats(count).buffer);
    case "F16":
      return new Uint8Array(new Float16Array(random.floats(count)).buffer);
    case "BF16": {
      const words = new Uint32Array(random.floats(count).buffer);
      return new Uint8Array(Uint16Array.from(words, (word) => word >>> 16).buffer);
    }
  }
  const size = type.typeSize;
  const blocks = random.bytes(count / type.blockSize * size);
  for (let block = 0; block < blocks.length; block += size) {
    for (const at of SCALES[type.name] ?? []) setScale(blocks, block + at, random);
    switch (type.name) {
      case "IQ1_M":
        // The scale's bits are the highest four of each of the last four words: those of 1/32.
        [0, 0, 8, 2].forEach((bits, i) => {
          const at = block + 49 + 2 * i;
          blocks[at] = (blocks[at] & 15) | (bits << 4);
        });
        break;
      case "TQ2_0":
        // Of each two bits 0, 1 and 2 mean something.
        for (let at = block; at < block + 64; at++) {
          blocks[at] &= ~((blocks[at] & (blocks[at] >> 1) & 0x55) << 1);
        }
        break;
      case "MXFP4":
        blocks[block] = 118 + random.below(6);
        break;
      case "NVFP4":
        for (let i = 0; i < 4; i++) blocks[block + i] = 0x10 + random.below(0x20);
        break;
    }
  }
  return blocks;
}
