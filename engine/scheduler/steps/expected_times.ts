import type { Turn } from "./turn.ts";

/** How much longer a step is expected to take than one that was quicker, after each that was not. */
const LONGER_SHARE = 0.02;

/**
 * How long steps take at least, from the last ones with as many rows. A longer step says little: other work
 * on the thread may have delayed its result until the expected time, and would do so again.
 */
export class ExpectedTimes {
  /** Milliseconds by the rows of a step, those with prompts below 0: as many as a step can have rows. */
  private readonly known = new Map<number, number>();

  /** How long a step takes, in milliseconds; Infinity where none was like it. */
  of(turns: readonly Turn[]): number {
    return this.known.get(kindOf(turns)) ?? Infinity;
  }

  /** Takes in what a step took. */
  observe(turns: readonly Turn[], ms: number): void {
    const kind = kindOf(turns);
    const before = this.known.get(kind) ?? Infinity;
    this.known.set(kind, Math.min(ms, before * (1 + LONGER_SHARE)));
  }
}

function kindOf(turns: readonly Turn[]): number {
  const rows = turns.reduce((sum, { count, guesses }) => sum + count + guesses.length, 0);
  return turns.every(({ samplesNext }) => samplesNext) ? rows : -rows;
}
