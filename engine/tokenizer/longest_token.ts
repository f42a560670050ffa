import type { Tokenizer } from "./tokenizer.ts";

/** How long the tokens of a vocabulary can be, found out once where it matters. */
export class LongestToken {
  private bytes?: number;

  constructor(private readonly tokenizer: Tokenizer) {}

  /**
   * The fewest tokens that a text can have, if that is known to be more than `most`: such a text need not be
   * encoded, which takes time in proportion to its length.
   */
  leastBeyond(text: string, most: number): number | undefined {
    if (text.length <= 16 * most) return undefined;
    this.bytes ??= this.longest();
    const least = Math.ceil(text.length / this.bytes);
    return least > most ? least : undefined;
  }

  /** The prefix of a text that has at least its first `most` tokens; all of a text that may have no more. */
  within(text: string, most: number): string {
    if (text.length <= 16 * most) return text;
    this.bytes ??= this.longest();
    return text.slice(0, most * this.bytes);
  }

  /** Bytes of the longest token; a control token's text counts as well. */
  private longest(): number {
    const { tokenizer } = this;
    let longest = 1;
    for (let token = 0; token < tokenizer.vocabSize; token++) {
      const { length } = tokenizer.tokenBytes(token);
      longest = Math.max(longest, length, tokenizer.tokenText(token).length);
    }
    return longest;
  }
}
