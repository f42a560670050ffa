/** Up to this many symbols, looking through all pairs for the lowest rank is faster than a heap. */
const FEW = 48;
/** How many symbols the arrays keep room for between words. */
const KEPT_CAPACITY = 1 << 14;
/** In the heap, rank and position of a pair are one number, which orders by rank, then by position. */
const PLACES = 2 ** 31;
/** The most merges of a vocabulary, so that such a number is exact. */
export const MOST_MERGES = 2 ** 22;
const NONE = -1;
/** Characters without a symbol are the numbers from here down. */
const FIRST_STRANGER = -2;

/** The character of a negative symbol, which stands for one that is in no token. */
export function codePointOf(stranger: number): number {
  return FIRST_STRANGER - stranger;
}

/** Which symbols merge with the one after them. */
export interface Merges {
  /** The merge of two symbols, for the other methods; -1: they do not merge. */
  find(left: number, right: number): number;
  /** The lower, the earlier. */
  rankAt(merge: number): number;
  /** The symbol that the two become. */
  mergedAt(merge: number): number;
}

/**
 * Merges neighbouring symbols of a word by rank: the lowest first, the leftmost of equals, as byte pair
 * encoding (Sennrich et al., 2016) does. It takes O(n log n) for n symbols.
 */
export class RankMerger {
  readonly #table: Merges;
  /** The word: its symbols at first, what is left of them at the end. */
  symbols = new Int32Array(256);
  /** The merge of each symbol with the one after it, or -1. */
  #pairs = new Int32Array(256);
  #previous = new Int32Array(0);
  #next = new Int32Array(0);
  readonly #heap = new NumberHeap();

  constructor(table: Merges) {
    this.#table = table;
  }

  /** Makes room for a word of that many symbols in {@link symbols}. */
  reserve(count: number): void {
    if (this.symbols.length >= count && this.symbols.length <= Math.max(count, KEPT_CAPACITY)) {
      return;
    }
    const capacity = Math.max(256, count);
    this.symbols = new Int32Array(capacity);
    this.#pairs = new Int32Array(capacity);
    this.#previous = this.#next = new Int32Array(0);
  }

  /** Merges the first `count` of {@link symbols} in place; returns how many are left. */
  merge(count: number): number {
    if (count < 2) return count;
    const { symbols } = this;
    const pairs = this.#pairs;
    const table = this.#table;
    for (let i = 0; i + 1 < count; i++) pairs[i] = table.find(symbols[i], symbols[i + 1]);
    pairs[count - 1] = NONE;
    return count <= FEW ? this.#mergeFew(count) : this.#mergeMany(count);
  }

  /**
   * Merges the characters of a word; returns how many {@link symbols} are left.
   *
   * @param find The symbol of a character; one that has none is left as it is: see {@link codePointOf}.
   */
  mergeCharacters(word: string, find: (character: string) => number | undefined): number {
    this.reserve(word.length);
    let count = 0;
    for (let at = 0; at < word.length; count++) {
      const codePoint = word.codePointAt(at)!;
      const next = at + (codePoint > 0xffff ? 2 : 1);
      this.symbols[count] = find(word.substring(at, next)) ?? FIRST_STRANGER - codePoint;
      at = next;
    }
    return this.merge(count);
  }

  #mergeFew(count: number): number {
    const { symbols } = this;
    const pairs = this.#pairs;
    const table = this.#table;
    for (;;) {
      let best = NONE;
      let lowest = Infinity;
      for (let i = 0; i + 1 < count; i++) {
        if (pairs[i] === NONE) continue;
        const rank = table.rankAt(pairs[i]);
        if (rank < lowest) {
          lowest = rank;
          best = i;
        }
      }
      if (best === NONE) return count;
      symbols[best] = table.mergedAt(pairs[best]);
      count--;
      for (let i = best + 1; i < count; i++) {
        symbols[i] = symbols[i + 1];
        pairs[i] = pairs[i + 1];
      }
      if (best > 0) pairs[best - 1] = table.find(symbols[best - 1], symbols[best]);
      pairs[best] = best + 1 < count ? table.find(symbols[best], symbols[best + 1]) : NONE;
    }
  }

  #mergeMany(count: number): number {
    const { symbols } = this;
    const pairs = this.#pairs;
    const table = this.#table;
    const heap = this.#heap;
    this.#link(count);
    const previous = this.#previous;
    const next = this.#next;
    heap.reset();
    for (let i = 0; i + 1 < count; i++) this.#offer(i);
    while (heap.size > 0) {
      const top = heap.pop();
      const left = top % PLACES;
      // One of the two has merged with another since, or is gone: then the pair has another rank or none.
      if (pairs[left] === NONE || table.rankAt(pairs[left]) !== Math.floor(top / PLACES)) continue;
      const right = next[left];
      symbols[left] = table.mergedAt(pairs[left]);
      pairs[right] = NONE;
      next[left] = next[right];
      if (next[left] >= 0) previous[next[left]] = left;
      this.#pair(left);
      if (previous[left] >= 0) this.#pair(previous[left]);
    }
    let left = 0;
    for (let i = 0; i >= 0; i = next[i]) symbols[left++] = symbols[i];
    heap.trim();
    return left;
  }

  #link(count: number): void {
    if (this.#next.length < count) {
      this.#previous = new Int32Array(this.symbols.length);
      this.#next = new Int32Array(this.symbols.length);
    }
    for (let i = 0; i < count; i++) {
      this.#previous[i] = i - 1;
      this.#next[i] = i + 1;
    }
    this.#next[count - 1] = NONE;
  }

  /** Looks up what a symbol and the one after it become. */
  #pair(left: number): void {
    const right = this.#next[left];
    this.#pairs[left] = right < 0
      ? NONE
      : this.#table.find(this.symbols[left], this.symbols[right]);
    this.#offer(left);
  }

  #offer(left: number): void {
    const pair = this.#pairs[left];
    if (pair !== NONE) this.#heap.push(this.#table.rankAt(pair) * PLACES + left);
  }
}

/** A binary heap of numbers, the lowest on top. */
class NumberHeap {
  size = 0;
  #values = new Float64Array(256);

  reset(): void {
    this.size = 0;
  }

  push(value: number): void {
    if (this.size === this.#values.length) {
      const values = new Float64Array(2 * this.size);
      values.set(this.#values);
      this.#values = values;
    }
    const values = this.#values;
    let at = this.size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (values[parent] <= value) break;
      values[at] = values[parent];
      at = parent;
    }
    values[at] = value;
  }

  /** Removes the lowest. */
  pop(): number {
    const values = this.#values;
    const top = values[0];
    const last = values[--this.size];
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.size) break;
      if (child + 1 < this.size && values[child + 1] < values[child]) child++;
      if (last <= values[child]) break;
      values[at] = values[child];
      at = child;
    }
    values[at] = last;
    return top;
  }

  trim(): void {
    if (this.#values.length > KEPT_CAPACITY) this.#values = new Float64Array(256);
  }
}
