/** The weight of the newest measurement of a step that only decodes. */
const NEWEST = 0.25;
/** The share of the allowed time that a chunk is to take. */
const AIM = 0.9;
/** A size that is larger than what was aimed at by no more than this does. */
const CLOSE = 1.05;
/** The least that a token more is taken to cost, as a share of what all cost on average. */
const LEAST_GROWTH = 0.5;

/** What a chunk took. */
interface Measured {
  readonly tokens: number;
  readonly ms: number;
}

/**
 * How many prompt tokens a step may compute together with decoding sequences, so that these wait no longer
 * than a set time. The number follows the measured time of chunks: twice the tokens need not take twice the
 * time.
 */
export class ChunkBudget {
  /** Tokens of prompts in the next step that has decoding sequences as well. */
  tokens: number;
  private decodeMs = 0;
  /** The last chunk that was smaller than those after it. */
  private smaller?: Measured;
  private last?: Measured;

  /**
   * @param chunkMs The longest that a chunk may delay a decoding sequence, in milliseconds.
   * @param stepTokens The most tokens of any step.
   * @param leastTokens The fewest tokens of a chunk, whatever they take.
   * @param tileTokens The rising numbers of tokens that a device computes at a time. A chunk consists of the
   * largest and at most one smaller: sizes between take as long as the next larger one. Empty: any number is
   * as good.
   */
  constructor(
    private readonly chunkMs: number,
    private readonly stepTokens: number,
    private readonly leastTokens: number,
    private readonly tileTokens: readonly number[] = [],
  ) {
    this.tokens = Math.min(leastTokens, stepTokens);
  }

  /** Takes in what a step took. */
  observe(step: { promptTokens: number; decodeTokens: number; milliseconds: number }): void {
    const { promptTokens, decodeTokens, milliseconds } = step;
    if (promptTokens === 0) {
      this.decodeMs += (this.decodeMs === 0 ? 1 : NEWEST) * (milliseconds - this.decodeMs);
      return;
    }
    const others = decodeTokens > 0 ? Math.min(this.decodeMs, milliseconds) : 0;
    const took = Math.max(milliseconds - others, 0.001);
    // A larger chunk, run when no sequence waited, says nothing of this size.
    if (took > this.chunkMs && promptTokens > this.tokens) return;
    if (took <= this.chunkMs && promptTokens < this.tokens) return;
    const aim = AIM * this.chunkMs;
    // Down as well as up: the further a prompt is, the longer its chunks take.
    let tokens = promptTokens * Math.min(2, aim / took);
    if (took <= this.chunkMs) {
      const measured = { tokens: promptTokens, ms: took };
      if (this.last && this.last.tokens < promptTokens) this.smaller = this.last;
      this.last = measured;
      tokens = Math.max(tokens, Math.min(2 * promptTokens, this.byLastGrowth(measured, aim)));
    }
    this.tokens = this.sizeUpTo(tokens);
  }

  /** How many tokens would take so long, if each one more took what the last ones did that were added. */
  private byLastGrowth({ tokens, ms }: Measured, aim: number): number {
    if (this.smaller === undefined || this.smaller.tokens >= tokens) return 0;
    const perToken = (ms - this.smaller.ms) / (tokens - this.smaller.tokens);
    // A measurement may be of a step that something else held up.
    return tokens + (aim - ms) / Math.max(perToken, LEAST_GROWTH * ms / tokens);
  }

  /** The largest size of a chunk that is not more than so many tokens, or hardly more. */
  private sizeUpTo(tokens: number): number {
    let size = Math.floor(tokens);
    if (this.tileTokens.length > 0) {
      const close = Math.floor(tokens * CLOSE);
      const largest = this.tileTokens[this.tileTokens.length - 1];
      const rest = this.tileTokens.findLast((tile) => tile <= close % largest) ?? 0;
      size = close - close % largest + rest;
    }
    return Math.min(Math.max(size, this.leastTokens), this.stepTokens);
  }
}
