import type { Turns } from "../turns.ts";
import { SHORT_BYTES, TokenMasks } from "./masks.ts";
import { type TokenBytes, type VocabularyTries, vocabularyTries } from "./vocabulary_trie.ts";

/** How long a piece of the work may block the event loop, in milliseconds, and how long the next one waits. */
const PIECE_MS = 1;
const PAUSE_MS = 2;

/**
 * The masks of a vocabulary, made in small pieces before they are needed; at once for a caller that needs them sooner.
 */
export class LazyMasks {
  private work: Generator<undefined, VocabularyTries>;
  private made?: TokenMasks;
  private timer?: number;

  /** @param vocabSize Tokens that the model knows: the bits of a mask. */
  constructor(private readonly tokenizer: TokenBytes, private readonly vocabSize: number) {
    this.work = vocabularyTries(tokenizer, SHORT_BYTES);
  }

  /** @throws {M40Error} "unsupported" for a vocabulary of more than 2^21 tokens. */
  get masks(): TokenMasks {
    while (this.made === undefined) this.proceed();
    return this.made;
  }

  /** Makes them in pieces, between which others have their turn. */
  begin(): void {
    const until = performance.now() + PIECE_MS;
    try {
      while (this.made === undefined && performance.now() < until) this.proceed();
    } catch {
      // The waiting callers are notified.
      return;
    }
    this.timer = this.made ? undefined : setTimeout(() => this.begin(), PAUSE_MS);
    // A program that has nothing else to do may end.
    if (this.timer !== undefined) Deno.unrefTimer(this.timer);
  }

  /**
   * Makes what is left of them in turn with others.
   *
   * @throws {M40Error} as {@link masks} does.
   */
  async ready(turns: Turns): Promise<void> {
    while (this.made === undefined) {
      this.proceed();
      await turns.next();
    }
  }

  /** They are not needed any more. */
  stop(): void {
    clearTimeout(this.timer);
  }

  private proceed(): void {
    const { tokenizer, vocabSize } = this;
    try {
      const { done, value } = this.work.next();
      if (done) this.made = new TokenMasks(tokenizer, value, vocabSize);
    } catch (error) {
      // A caller that asks again is notified again.
      this.work = vocabularyTries(tokenizer, SHORT_BYTES);
      throw error;
    }
  }
}
