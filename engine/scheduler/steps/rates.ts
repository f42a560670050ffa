import type { StepReport } from "../report.ts";

/** Steps of fewer tokens say little of how fast prompts are computed. */
const LEAST_TOKENS = 32;
/** The weight of the last measurement in the average. */
const WEIGHT = 0.3;

/** How fast prompts are computed, and how fast KV blocks come from disk: as measured, unknown before that. */
export class Rates {
  private tokensPerMs?: number;
  private bytesPerMs?: number;

  /** Learns from a step that computed prompts alone. */
  observe({ promptTokens, decodeTokens, milliseconds }: StepReport): void {
    if (decodeTokens > 0 || promptTokens < LEAST_TOKENS || milliseconds <= 0) return;
    this.tokensPerMs = mean(this.tokensPerMs, promptTokens / milliseconds);
  }

  /** KV blocks of so many bytes have come from disk. */
  noteReading(bytes: number, milliseconds: number): void {
    if (bytes > 0 && milliseconds > 0) {
      this.bytesPerMs = mean(this.bytesPerMs, bytes / milliseconds);
    }
  }

  /** How long so many tokens of a prompt take. */
  computingMs(tokens: number): number | undefined {
    return this.tokensPerMs && tokens / this.tokensPerMs;
  }

  /** How long it takes until so many bytes of KV blocks have come from disk. */
  readingMs(bytes: number): number | undefined {
    return this.bytesPerMs && bytes / this.bytesPerMs;
  }
}

function mean(before: number | undefined, now: number): number {
  return before === undefined ? now : before + WEIGHT * (now - before);
}
