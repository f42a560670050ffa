import type { TensorType } from "../../engine/gguf/types.ts";

/** A fast random number generator (xorshift32), good enough for weights that mean nothing. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) >>> 0 || 1;
  }

  /** 32 random bits. */
  bits(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return this.#state = x >>> 0;
  }

  /** A number from -1 to 1. */
  signed(): number {
    return this.bits() / 0x7fffffff - 1;
  }

  bytes(count: number): Uint8Array<ArrayBuffer> {
    const words = new Uint32Array(Math.ceil(count / 4));
    for (let i = 0; i < words.length; i++) words[i] = this.bits();
    return new Uint8Array(words.buffer, 0, count);
  }
}

/** Fills blocks of a type with weights of zero mean and the standard deviation asked for. */
type Fill = (count: number, deviation: number, random: Random) => Uint8Array<ArrayBuffer>;

const SQRT3 = Math.sqrt(3);

function uniform(count: number, deviation: number, random: Random): Float32Array<ArrayBuffer> {
  const values = new Float32Array(count);
  for (let i = 0; i < count; i++) values[i] = random.signed() * deviation * SQRT3;
  return values;
}

/** The little-endian bytes of a half-precision number. */
function halfBytes(value: number): [number, number] {
  const view = new DataView(new ArrayBuffer(2));
  view.setFloat16(0, value, true);
  return [view.getUint8(0), view.getUint8(1)];
}

/** Random blocks whose half-precision scale lies at `scaleAt`. */
function scaled(count: number, size: number, scaleAt: number, scale: number, random: Random) {
  const blocks = random.bytes(count * size);
  const [low, high] = halfBytes(scale);
  for (let at = scaleAt; at < blocks.length; at += size) {
    blocks[at] = low;
    blocks[at + 1] = high;
  }
  return blocks;
}

/** Sets the byte of blocks' scale at `at` to one of two codes whose scales are about `scale` in their mean square. */
function setScaleCodes(
  blocks: Uint8Array,
  at: (i: number) => number,
  count: number,
  scale: number,
  valueOf: (code: number) => number,
  random: Random,
) {
  let code = 0;
  while (code < 125 && valueOf(code + 1) <= scale) code++;
  const [low, high] = [valueOf(code) ** 2, valueOf(code + 1) ** 2];
  const share = (scale ** 2 - low) / (high - low);
  for (let i = 0; i < count; i++) blocks[at(i)] = random.bits() < share * 2 ** 32 ? code + 1 : code;
}

/** Random codes of 4 bits in E2M1, 0 to 6 and their negatives, have this deviation. */
const E2M1_DEVIATION = 2.926;

/**
 * Types whose random bits are as often positive as negative: bytes a block, where its scale lies, and the deviation
 * where that is 1.
 */
const RANDOM_BITS: Record<string, [size: number, scaleAt: number, deviation: number]> = {
  IQ1_S: [50, 0, 7.2],
  IQ2_XXS: [66, 0, 53.4],
  IQ2_XS: [74, 0, 55.9],
  IQ2_S: [82, 0, 56.4],
  IQ3_XXS: [98, 0, 142.5],
  IQ3_S: [110, 0, 140.2],
  TQ1_0: [54, 52, 0.817],
};

/**
 * Random blocks of weight = d s q - dmin m, eight scales and minimums of 6 bits, with m = s and
 * dmin = centre * d, which is d s (q - centre). s is from 32 to 63, with the root mean square 48.4.
 */
function pairsOf6(count: number, size: number, centre: number, deviation: number, random: Random) {
  const scale = deviation / 48.4;
  const blocks = scaled(count, size, 0, scale, random);
  const [low, high] = halfBytes(centre * scale);
  for (let block = 0; block < blocks.length; block += size) {
    blocks[block + 2] = low;
    blocks[block + 3] = high;
    // The first four of each lie in a byte's low bits, the last four as nibbles in the third word with
    // their high two bits on top of the first ones.
    for (let i = 0; i < 4; i++) {
      const first = 32 | (blocks[block + 4 + i] & 31);
      const last = 32 | (blocks[block + 12 + i] & 31);
      blocks[block + 4 + i] = blocks[block + 8 + i] = first | ((last >> 4) << 6);
      blocks[block + 12 + i] = (last & 15) | ((last & 15) << 4);
    }
  }
  return blocks;
}

// Weights with a mean other than zero add up, over thousands of columns, to the same large number in
// every row; so each filler makes quants that are symmetric about zero.
const FILLS: Record<string, Fill> = {
  F32: (count, deviation, random) => new Uint8Array(uniform(count, deviation, random).buffer),

  F16: (count, deviation, random) =>
    new Uint8Array(new Float16Array(uniform(count, deviation, random)).buffer),

  BF16(count, deviation, random) {
    const bits = new Uint32Array(uniform(count, deviation, random).buffer);
    return new Uint8Array(Uint16Array.from(bits, (word) => word >>> 16).buffer);
  },

  // weight = d (q - 8); q is never 0, and 8 twice as often as others: the deviation is 4.18.
  Q4_0(count, deviation, random) {
    const blocks = scaled(count, 18, 0, deviation / 4.18, random);
    for (let block = 0; block < blocks.length; block += 18) {
      for (let at = block + 2; at < block + 18; at++) {
        if ((blocks[at] & 0x0f) === 0) blocks[at] |= 0x08;
        if ((blocks[at] & 0xf0) === 0) blocks[at] |= 0x80;
      }
    }
    return blocks;
  },

  // weight = d q; q from -127 to 127 has the deviation 73.3.
  Q8_0(count, deviation, random) {
    const blocks = scaled(count, 34, 0, deviation / 73.3, random);
    for (let block = 0; block < blocks.length; block += 34) {
      for (let at = block + 2; at < block + 34; at++) if (blocks[at] === 0x80) blocks[at] = 0;
    }
    return blocks;
  },

  // weight = d (q - 16); q is never 0, and 16 twice as often as others: the deviation is 8.80.
  Q5_0(count, deviation, random) {
    const blocks = scaled(count, 22, 0, deviation / 8.8, random);
    for (let block = 0; block < blocks.length; block += 22) {
      for (let i = 0; i < 32; i++) {
        // The fifth bits of all weights stand before their nibbles.
        const [at, bit] = [block + 2 + (i >> 3), 1 << i % 8];
        const nibble = blocks[block + 6 + i % 16] >> (i < 16 ? 0 : 4) & 15;
        if (nibble === 0 && (blocks[at] & bit) === 0) blocks[at] |= bit;
      }
    }
    return blocks;
  },

  // weight = d s (q - 7.5): q has the deviation 4.61.
  Q4_K: (count, deviation, random) => pairsOf6(count, 144, 7.5, deviation / 4.61, random),

  // weight = d s (q - 15.5): q has the deviation 9.23.
  Q5_K: (count, deviation, random) => pairsOf6(count, 176, 15.5, deviation / 9.23, random),

  // weight = d s (q - 32). The quants' mean is -0.5, but s is negative as often as positive; q has
  // the deviation 18.5, |s| from 64 to 127 the root mean square 97.3.
  Q6_K(count, deviation, random) {
    const blocks = scaled(count, 210, 208, deviation / (18.5 * 97.3), random);
    for (let block = 0; block < blocks.length; block += 210) {
      for (let at = block + 192; at < block + 208; at++) {
        const size = 64 | (blocks[at] & 63);
        blocks[at] = blocks[at] & 64 ? size : 256 - size;
      }
    }
    return blocks;
  },

  ...Object.fromEntries(
    Object.entries(RANDOM_BITS).map(([type, [size, scaleAt, of1]]): [string, Fill] => [
      type,
      (count, deviation, random) => scaled(count, size, scaleAt, deviation / of1, random),
    ]),
  ),

  // As IQ1_S, but the scale's 16 bits are the highest four of each of the last four words.
  IQ1_M(count, deviation, random) {
    const blocks = random.bytes(count * 56);
    const [low, high] = halfBytes(deviation / 7.2);
    for (let at = 49; at < blocks.length; at += 56) {
      [low & 15, low >> 4, high & 15, high >> 4].forEach((bits, i) => {
        blocks[at + 2 * i] = (blocks[at + 2 * i] & 15) | (bits << 4);
      });
    }
    return blocks;
  },

  // weight = d (q - 1); a q of 3 becomes 1: the deviation is that of -1, 0, 0, 1.
  TQ2_0(count, deviation, random) {
    const blocks = scaled(count, 66, 64, deviation / Math.SQRT1_2, random);
    for (let block = 0; block < blocks.length; block += 66) {
      for (let at = block; at < block + 64; at++) {
        const threes = blocks[at] & (blocks[at] >> 1) & 0x55;
        blocks[at] &= ~(threes << 1);
      }
    }
    return blocks;
  },

  // A block's scale is a power of two.
  MXFP4(count, deviation, random) {
    const blocks = random.bytes(count * 17);
    const power = (code: number) => 2 ** (code - 127);
    setScaleCodes(blocks, (i) => 17 * i, count, deviation / E2M1_DEVIATION, power, random);
    return blocks;
  },

  // Every 16 weights have a scale with four bits of exponent and three of fraction.
  NVFP4(count, deviation, random) {
    const blocks = random.bytes(count * 36);
    const float8 = (code: number) =>
      code < 8 ? code * 2 ** -9 : (8 + code % 8) * 2 ** ((code >> 3) - 10);
    const at = (i: number) => 36 * (i >> 2) + i % 4;
    setScaleCodes(blocks, at, 4 * count, deviation / E2M1_DEVIATION, float8, random);
    return blocks;
  },
};

/** The tensor types that random blocks can be made of. */
export const RANDOM_TYPES: readonly string[] = Object.keys(FILLS);

/**
 * Endless random weights of one type and size, cheaply: blocks made once and read round and round,
 * each tensor from another place.
 */
export class BlockPool {
  readonly #blocks: Uint8Array;
  readonly #count: number;
  readonly #typeSize: number;

  /**
   * @param deviation The standard deviation of the weights.
   * @param rows The number of rows of the largest tensor: no two rows of a tensor will be alike.
   */
  constructor(type: TensorType, deviation: number, rows: number, random: Random) {
    // A prime number of blocks, more than there are rows: the first blocks of row after row come
    // round to the same place only after as many rows as there are blocks.
    this.#count = primeFrom(Math.max(rows + 1, Math.ceil(2 ** 22 / type.typeSize)));
    this.#typeSize = type.typeSize;
    this.#blocks = FILLS[type.name](this.#count, deviation, random);
  }

  /** `bytes` of weights, in pieces, from any block on. */
  *read(bytes: number, start: number): Generator<Uint8Array> {
    let at = (start % this.#count) * this.#typeSize;
    for (let left = bytes; left > 0;) {
      const piece = this.#blocks.subarray(at, at + left);
      yield piece;
      left -= piece.length;
      at = 0;
    }
  }
}

function primeFrom(least: number): number {
  for (let n = least | 1;; n += 2) {
    let prime = true;
    for (let divisor = 3; prime && divisor * divisor <= n; divisor += 2) {
      prime = n % divisor !== 0;
    }
    if (prime) return n;
  }
}
