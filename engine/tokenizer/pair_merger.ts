/**
 * Merges neighbouring symbols of a text, at first its characters, as long as two of them together are
 * a token: the pair with the highest score first, the leftmost of equals.
 *
 * The method is that of SentencePiece's BPE and of llama.cpp: symbols are a linked list, and a heap holds the pairs that
 * can be merged. A merge leaves stale pairs behind in the heap; they are told by their length. For a
 * text of n characters it takes O(n log n).
 */
export class PairMerger {
  readonly #ids: Map<string, number>;
  readonly #scores: Float32Array;
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
    const whole = this.#ids.get(text);
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
  }

  /** Puts two neighbours into the heap if together they are a token. */
  #offer(text: string, left: number, right: number): void {
    const { start, length } = this.#symbols;
    const mergedLength = length[left] + length[right];
    const token = this.#ids.get(text.substring(start[left], start[left] + mergedLength));
    if (token !== undefined) this.#heap.push(this.#scores[token], left, token, mergedLength);
  }
}
