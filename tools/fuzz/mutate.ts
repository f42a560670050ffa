/** A seeded random number generator (mulberry32): whole numbers below a bound. */
export type Random = (below: number) => number;

/** @param seed Any number; the same seed gives the same numbers. */
export function randomOf(seed: number): Random {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor(((t ^ (t >>> 14)) >>> 0) / 0x100000000 * below);
  };
}

/** Numbers at which counts, lengths and offsets fail. */
const EDGES: readonly bigint[] = [
  ...[0n, 1n, 7n, 8n, 31n, 32n, 127n, 128n, 255n, 256n, 32767n, 65535n, 65536n],
  ...[31n, 32n, 40n, 53n, 60n, 61n, 63n].flatMap((bits) => [2n ** bits - 1n, 2n ** bits]),
  2n ** 64n - 1n,
];

/** What {@link mutate} works with. */
export interface MutateOptions {
  /** Texts of the format: keywords, separators, magic numbers. */
  readonly dictionary: readonly Uint8Array[];
  /** Inputs to splice with. */
  readonly corpus: readonly Uint8Array[];
  /** The longest result in bytes. */
  readonly maxBytes: number;
}

type Mutation = (bytes: Uint8Array, random: Random, options: MutateOptions) => Uint8Array;

/** `bytes` with those from `from` to `to` replaced. */
function replaced(bytes: Uint8Array, from: number, to: number, by: Uint8Array): Uint8Array {
  const result = new Uint8Array(from + by.length + bytes.length - to);
  result.set(bytes.subarray(0, from));
  result.set(by, from);
  result.set(bytes.subarray(to), from + by.length);
  return result;
}

function rangeOf(bytes: Uint8Array, random: Random): [from: number, to: number] {
  const from = random(bytes.length + 1);
  const length = Math.min(1 << random(8), bytes.length - from);
  return [from, from + random(length + 1)];
}

const MUTATIONS: readonly Mutation[] = [
  // A bit flipped.
  (bytes, random) => {
    const result = bytes.slice();
    if (result.length > 0) result[random(result.length)] ^= 1 << random(8);
    return result;
  },
  // A byte of any value.
  (bytes, random) => {
    const result = bytes.slice();
    if (result.length > 0) result[random(result.length)] = random(256);
    return result;
  },
  // A number at an edge, in 1, 2, 4 or 8 bytes.
  (bytes, random) => {
    const result = bytes.slice();
    const size = 1 << random(4);
    if (result.length < size) return result;
    let value = EDGES[random(EDGES.length)];
    const at = random(result.length - size + 1);
    for (let i = 0; i < size; i++, value >>= 8n) result[at + i] = Number(value & 255n);
    return result;
  },
  // A piece removed.
  (bytes, random) => {
    const [from, to] = rangeOf(bytes, random);
    return replaced(bytes, from, to, new Uint8Array());
  },
  // A piece repeated, some times many times.
  (bytes, random) => {
    const [from, to] = rangeOf(bytes, random);
    const piece = bytes.subarray(from, to);
    const times = 1 << random(10);
    const many = new Uint8Array(piece.length * times);
    for (let i = 0; i < times; i++) many.set(piece, i * piece.length);
    return replaced(bytes, to, to, many);
  },
  // A piece moved.
  (bytes, random) => {
    const [from, to] = rangeOf(bytes, random);
    const rest = replaced(bytes, from, to, new Uint8Array());
    const at = random(rest.length + 1);
    return replaced(rest, at, at, bytes.slice(from, to));
  },
  // A word of the format, put in or over something.
  (bytes, random, { dictionary }) => {
    if (dictionary.length === 0) return bytes.slice();
    const word = dictionary[random(dictionary.length)];
    const [from, to] = rangeOf(bytes, random);
    return replaced(bytes, from, random(2) === 0 ? from : to, word);
  },
  // The start of one input with the end of another.
  (bytes, random, { corpus }) => {
    const other = corpus[random(corpus.length)];
    return replaced(
      bytes,
      random(bytes.length + 1),
      bytes.length,
      other.subarray(random(other.length + 1)),
    );
  },
];

/** An input that is another one with one to eight changes. */
export function mutate(bytes: Uint8Array, random: Random, options: MutateOptions): Uint8Array {
  for (let i = 1 << random(4); i > 0; i--) {
    bytes = MUTATIONS[random(MUTATIONS.length)](bytes, random, options).subarray(
      0,
      options.maxBytes,
    );
  }
  return bytes;
}
