/** The binary logarithm of the number of bits. */
const BITS_LOG2 = 22;

/**
 * The pairs of neighbouring code units within the texts of tokens. No token reaches across any other
 * pair, so a text can be cut there, and its parts become tokens by themselves.
 *
 * Each pair is one bit of a table, which it may share with others: such a one is taken for a pair of a
 * token, and the text not cut there.
 */
export class TokenPairs {
  readonly #bits = new Uint32Array(1 << (BITS_LOG2 - 5));

  /** Adds the pairs of a token's text. */
  add(text: string): void {
    for (let at = 1; at < text.length; at++) {
      const bit = bitOf(text.charCodeAt(at - 1), text.charCodeAt(at));
      this.#bits[bit >>> 5] |= 1 << (bit & 31);
    }
  }

  /** Where the part of a text that begins at `start` ends: before the second of the next pair of no token. */
  partEnd(text: string, start: number): number {
    const bits = this.#bits;
    let left = text.charCodeAt(start);
    for (let at = start + 1; at < text.length; at++) {
      const right = text.charCodeAt(at);
      const bit = bitOf(left, right);
      // The halves of a character stay together.
      if ((bits[bit >>> 5] >>> (bit & 31) & 1) === 0 && (right & 0xfc00) !== 0xdc00) return at;
      left = right;
    }
    return text.length;
  }
}

function bitOf(left: number, right: number): number {
  return Math.imul((left << 16) | right, 0x9e3779b1) >>> (32 - BITS_LOG2);
}
