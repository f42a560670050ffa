import { codePointOf, type Merges } from "./rank_merger.ts";

/** The binary logarithm of the number of pairs that are remembered. */
const CACHED_PAIRS_LOG2 = 16;

/**
 * The merges of SentencePiece's BPE: two neighbours become the token that has the texts of both, the earlier the
 * higher its score.
 *
 * The latest pairs are remembered: text repeats them, and three array reads are a tenth of the cost of looking up a
 * string. A pair has one place, where the next one that falls on it takes over.
 */
export class ScoreMerges implements Merges {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #texts: ArrayLike<string>;
  /** By token: how many scores are higher. */
  readonly #ranks: Int32Array;
  readonly #left = new Int32Array(1 << CACHED_PAIRS_LOG2).fill(-1);
  readonly #right = new Int32Array(1 << CACHED_PAIRS_LOG2);
  readonly #merged = new Int32Array(1 << CACHED_PAIRS_LOG2);

  /**
   * @param ids The tokens that text can become, by their text.
   * @param texts The text of every token.
   * @param scores The score of every token.
   */
  constructor(ids: ReadonlyMap<string, number>, texts: ArrayLike<string>, scores: Float32Array) {
    this.#ids = ids;
    this.#texts = texts;
    const ascending = scores.toSorted();
    this.#ranks = Int32Array.from(scores, (score) => countAbove(ascending, score));
  }

  find(left: number, right: number): number {
    const place = placeOf(left, right);
    if (this.#left[place] !== left || this.#right[place] !== right) {
      this.#left[place] = left;
      this.#right[place] = right;
      this.#merged[place] = this.#ids.get(this.#textOf(left) + this.#textOf(right)) ?? -1;
    }
    return this.#merged[place];
  }

  rankAt(token: number): number {
    return this.#ranks[token];
  }

  mergedAt(token: number): number {
    return token;
  }

  #textOf(symbol: number): string {
    return symbol < 0 ? String.fromCodePoint(codePointOf(symbol)) : this.#texts[symbol];
  }
}

/** How many numbers of an ascending list are above one. */
function countAbove(ascending: Float32Array, value: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] > value) high = middle;
    else low = middle + 1;
  }
  return ascending.length - low;
}

/** Mixes two ids with odd multipliers; the high bits depend on all of them. */
function placeOf(left: number, right: number): number {
  const mixed = Math.imul(left, 0x9e3779b1) + Math.imul(right, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0 >>> (32 - CACHED_PAIRS_LOG2);
}
