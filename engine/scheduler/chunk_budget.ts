/** The weight of the newest measurement of a step that only decodes. */
const NEWEST = 0.25;
/** The share of the allowed time that a chunk is to take. */
const AIM = 0.9;

/**
 * How many tokens of prompts a step may compute beside decoding sequences, so that these do not wait
 * longer than a set time for them. The time that chunks take is measured, and the number follows it: it
 * is not assumed that twice the tokens take twice the time, since on a GPU few cost as much as many.
 */
export class ChunkBudget {
  private budget: number;
  private decodeMs = 0;

  /**
   * @param chunkMs The longest that a chunk may delay a decoding sequence, in milliseconds.
   * @param stepTokens The most tokens of any step.
   * @param leastTokens The fewest tokens of a chunk, whatever they take: what costs a device as much as
   * one token does.
   */
  constructor(
    private readonly chunkMs: number,
    private readonly stepTokens: number,
    private readonly leastTokens: number,
  ) {
    this.budget = Math.min(leastTokens, stepTokens);
  }

  /** Tokens of prompts in the next step that has decoding sequences as well. */
  get tokens(): number {
    return this.budget;
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
    if (took > this.chunkMs) {
      // A larger chunk, run when nobody waited for it, says nothing of one of this size.
      if (promptTokens > this.budget) return;
      this.set(promptTokens * AIM * this.chunkMs / took);
    } else if (promptTokens >= this.budget) {
      // Down as well as up: the further a prompt is, the longer its chunks take.
      this.set(promptTokens * Math.min(2, AIM * this.chunkMs / took));
    }
  }

  private set(tokens: number): void {
    this.budget = Math.min(Math.max(Math.floor(tokens), this.leastTokens), this.stepTokens);
  }
}
