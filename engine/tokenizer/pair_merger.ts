/**
 * Merges neighbouring symbols of a text, at first its characters, as long as two of them together are
 * a token: the pair with the highest score first, the leftmost of equals.
 *
 * The method is that of SentencePiece's BPE and of llama.cpp: symbols are a linked list, and a heap holds
 * the pairs that can be merged. A merge leaves stale pairs behind in the heap; their length gives them away. For a text
 * of n characters it takes O(n log n).
 */
export class PairMerger {
  readonly #ids: Map<string, number>;
  readonly #scores: Float32Array;
  readonly #pairs = new PairCache();
  readonly #symbols = new Symbols();
  readonly #heap = new PairHeap();

  /**
   * @param ids The tokens that text can become, by their text.
   * @param scores The score of every token.
   */
  constructor(ids: Map<string, number>, scores: Float32Array) {
    this.#ids = ids;
    this.#scores = scores;
  }

  /**
   * Appends the tokens of a text.
   *
   * @param spell Called with the code point of a character that is in no token.
   */
  merge(text: string, tokens: number[], spell: (codePoint: number) => void): void {
    if (text === "") return;
    const symbols = this.#symbols;
    symbols.reset(text, this.#ids);
    for (let left = 0; left + 1 < symbols.count; left++) this.#offer(text, left, left + 1);
    const { start, length, token, previous, next } = symbols;
    const heap = this.#heap;
    while (heap.size > 0) {
      const left = heap.left[0];
      const merged = heap.token[0];
      const mergedLength = heap.length[0];
      heap.pop();
      const right = next[left];
      // The left one is gone, or one of the two has grown since: a symbol never shrinks but to nothing.
      if (length[left] === 0 || right < 0 || length[left] + length[right] !== mergedLength) {
        continue;
      }
      length[left] = mergedLength;
      length[right] = 0;
      token[left] = merged;
      next[left] = next[right];
      if (next[right] >= 0) previous[next[right]] = left;
      if (previous[left] >= 0) this.#offer(text, previous[left], left);
      if (next[left] >= 0) this.#offer(text, left, next[left]);
    }
    for (let i = 0; i >= 0; i = next[i]) {
      if (token[i] >= 0) tokens.push(token[i]);
      else spell(text.codePointAt(start[i])!);
    }
    symbols.trim();
    heap.trim();
  }

  /** Puts two neighbours into the heap if together they are a token. */
  #offer(text: string, left: number, right: number): void {
    const { start, length, token } = this.#symbols;
    const mergedLength = length[left] + length[right];
    let merged: number | undefined;
    if (token[left] < 0 || token[right] < 0) {
      merged = this.#ids.get(text.substring(start[left], start[left] + mergedLength));
    } else {
      merged = this.#pairs.get(token[left], token[right]);
      if (merged === undefined) {
        merged = this.#ids.get(text.substring(start[left], start[left] + mergedLength)) ?? -1;
        this.#pairs.set(token[left], token[right], merged);
      }
    }
    if (merged === undefined || merged < 0) return;
    this.#heap.push(this.#scores[merged], left, merged, mergedLength);
  }
}

/** The binary logarithm of the number of pairs that a {@link PairCache} holds. */
const CACHED_PAIRS_LOG2 = 16;

/**
 * What two tokens merge into (-1: nothing), for the latest pairs. Text repeats its pairs, and three array reads are a
 * tenth of the cost of looking up a string. A pair has one place, where the next one that falls on it takes over.
 */
class PairCache {
  readonly #left = new Int32Array(1 << CACHED_PAIRS_LOG2).fill(-1);
  readonly #right = new Int32Array(1 << CACHED_PAIRS_LOG2);
  readonly #merged = new Int32Array(1 << CACHED_PAIRS_LOG2);

  get(left: number, right: number): number | undefined {
    const place = placeOf(left, right);
    return this.#left[place] === left && this.#right[place] === right
      ? this.#merged[place]
      : undefined;
  }

  set(left: number, right: number, merged: number): void {
    const place = placeOf(left, right);
    this.#left[place] = left;
    this.#right[place] = right;
    this.#merged[place] = merged;
  }
}

/** Mixes two ids with odd multipliers; the high bits depend on all of them. */
function placeOf(left: number, right: number): number {
  const mixed = Math.imul(left, 0x9e3779b1) + Math.imul(right, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0 >>> (32 - CACHED_PAIRS_LOG2);
}

/** How many elements the arrays keep between texts; more is given back after a long one. */
const KEPT_CAPACITY = 1 << 14;

/** The symbols of a text as a doubly linked list in arrays; -1 is no symbol. */
class Symbols {
  count = 0;
  /** Where each symbol begins in the text, in code units. */
  start = new Int32Array(0);
  /** In code units; 0 for a symbol that was merged into the one before it. */
  length = new Int32Array(0);
  /** The token of each symbol, or -1. */
  token = new Int32Array(0);
  previous = new Int32Array(0);
  next = new Int32Array(0);

  /** Makes a symbol of every character of a text. */
  reset(text: string, ids: Map<string, number>): void {
    if (this.start.length < text.length) this.#allocate(Math.max(256, text.length));
    let count = 0;
    for (let at = 0; at < text.length; count++) {
      const length = text.codePointAt(at)! > 0xffff ? 2 : 1;
      this.start[count] = at;
      this.length[count] = length;
      this.token[count] = ids.get(text.substring(at, at + length)) ?? -1;
      this.previous[count] = count - 1;
      this.next[count] = count + 1;
      at += length;
    }
    if (count > 0) this.next[count - 1] = -1;
    this.count = count;
  }

  trim(): void {
    if (this.start.length > KEPT_CAPACITY) this.#allocate(0);
  }

  #allocate(capacity: number): void {
    this.start = new Int32Array(capacity);
    this.length = new Int32Array(capacity);
    this.token = new Int32Array(capacity);
    this.previous = new Int32Array(capacity);
    this.next = new Int32Array(capacity);
  }
}

/** A binary heap of pairs of neighbours: the highest score on top, the leftmost of equals. */
class PairHeap {
  size = 0;
  score = new Float32Array(0);
  /** The left symbol of each pair. */
  left = new Int32Array(0);
  /** The token that each pair becomes. */
  token = new Int32Array(0);
  /** The length of that token in code units. */
  length = new Int32Array(0);

  push(score: number, left: number, token: number, length: number): void {
    if (this.size === this.left.length) this.#resize(Math.max(256, 2 * this.size));
    let at = this.size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(score, left, parent)) break;
      this.#copy(parent, at);
      at = parent;
    }
    this.#set(at, score, left, token, length);
  }

  /** Removes the top. */
  pop(): void {
    const last = --this.size;
    const score = this.score[last];
    const left = this.left[last];
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= last) break;
      if (child + 1 < last && this.#isBefore(this.score[child + 1], this.left[child + 1], child)) {
        child++;
      }
      if (this.#isBefore(score, left, child)) break;
      this.#copy(child, at);
      at = child;
    }
    this.#set(at, score, left, this.token[last], this.length[last]);
  }

  trim(): void {
    if (this.left.length > KEPT_CAPACITY) this.#resize(0);
  }

  #isBefore(score: number, left: number, other: number): boolean {
    return score > this.score[other] || (score === this.score[other] && left < this.left[other]);
  }

  #copy(from: number, to: number): void {
    this.#set(to, this.score[from], this.left[from], this.token[from], this.length[from]);
  }

  #set(at: number, score: number, left: number, token: number, length: number): void {
    this.score[at] = score;
    this.left[at] = left;
    this.token[at] = token;
    this.length[at] = length;
  }

  #resize(capacity: number): void {
    this.score = resized(this.score, new Float32Array(capacity));
    this.left = resized(this.left, new Int32Array(capacity));
    this.token = resized(this.token, new Int32Array(capacity));
    this.length = resized(this.length, new Int32Array(capacity));
  }
}

function resized<T extends Int32Array | Float32Array>(from: T, to: T): T {
  to.set(from.subarray(0, to.length));
  return to;
}
