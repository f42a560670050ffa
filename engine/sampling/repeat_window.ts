import { TokenCounts } from "../device/mod.ts";

/**
 * The tokens that repetition, frequency and presence penalties look at: those of the prompt and the answer, or
 * the last of them. A token's count is of the answer alone.
 */
export class RepeatWindow {
  /** The window's tokens, for the step block. */
  readonly counts: TokenCounts;
  /** How often each of them is in the window, the prompt's included. Kept where tokens leave it. */
  private readonly occurrences?: Map<number, number>;

  /**
   * @param tokens The sequence's tokens so far, to which its owner adds; the window reads them.
   * @param promptLength How many of them are the prompt's.
   * @param length Tokens that the window has at most; Infinity: none leaves it.
   */
  constructor(
    private readonly tokens: readonly number[],
    private readonly promptLength: number,
    private readonly length: number,
    from?: RepeatWindow,
  ) {
    this.counts = from?.counts.copy() ?? new TokenCounts();
    if (length !== Infinity) this.occurrences = new Map(from?.occurrences);
    if (from === undefined) {
      for (let i = Math.max(0, tokens.length - length); i < tokens.length; i++) this.enter(i);
    }
  }

  /** Takes in the sequence's last token. */
  advance(): void {
    const last = this.tokens.length - 1;
    if (this.length > 0) this.enter(last);
    if (last - this.length >= 0 && this.length > 0) this.leave(last - this.length);
  }

  /** The same window of other tokens that begin alike, to be advanced by itself. */
  copy(tokens: readonly number[]): RepeatWindow {
    return new RepeatWindow(tokens, this.promptLength, this.length, this);
  }

  private enter(index: number): void {
    const token = this.tokens[index];
    if (index < this.promptLength) this.counts.mention(token);
    else this.counts.increment(token);
    this.occurrences?.set(token, (this.occurrences.get(token) ?? 0) + 1);
  }

  private leave(index: number): void {
    const token = this.tokens[index];
    const left = this.occurrences!.get(token)! - 1;
    if (left === 0) {
      this.counts.forget(token);
      this.occurrences!.delete(token);
      return;
    }
    this.occurrences!.set(token, left);
    if (index >= this.promptLength) this.counts.decrement(token);
  }
}
