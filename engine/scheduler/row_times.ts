/** The weight of the newest measurement. */
const NEWEST = 0.25;
/** Steps after which a measurement says nothing any more: sequences have grown, the device has other clocks. */
const STALE_STEPS = 1024;
/** Fewer measurements may be of steps that were the first of their kind, which take longer: they are soon tried again. */
const FEW = 3;
const FEW_STALE_STEPS = 32;

interface Measured {
  readonly ms: number;
  readonly times: number;
  readonly step: number;
}

/**
 * How long steps of so many decoded rows take, as measured. A device computes rows in groups: within one a row more
 * costs next to nothing, and the first row of the next one as much as all of it. Rows that a step could also do without
 * (tokens that are certain, guesses) are worth computing where they make the time of a row less.
 */
export class RowTimes {
  private readonly measured = new Map<number, Measured>();
  private step = 0;

  /** Takes in what a step of nothing but decoded rows took. */
  observe(rows: number, ms: number): void {
    this.step++;
    const { ms: before = ms, times = 0 } = this.fresh(rows) ?? {};
    this.measured.set(rows, {
      ms: times < FEW ? Math.min(before, ms) : before + NEWEST * (ms - before),
      times: times + 1,
      step: this.step,
    });
  }

  /**
   * Of the numbers of rows from `least` to `most`, the one with the least time a row. A number that was not measured
   * is taken to cost what the next smaller one does, so that it is tried; of two that are as good it is the smaller.
   */
  best(least: number, most: number): number {
    let ms = this.below(least);
    if (ms === undefined) return this.measured.size === 0 ? most : least;
    let best = least;
    let leastTime = ms / least;
    for (let rows = least + 1; rows <= most; rows++) {
      ms = this.fresh(rows)?.ms ?? ms;
      if (ms / rows < leastTime) {
        best = rows;
        leastTime = ms / rows;
      }
    }
    return best;
  }

  /** The time of so many rows, or of the next smaller number that was measured. */
  private below(rows: number): number | undefined {
    for (let n = rows; n > 0; n--) {
      const measured = this.fresh(n);
      if (measured !== undefined) return measured.ms;
    }
    return undefined;
  }

  private fresh(rows: number): Measured | undefined {
    const measured = this.measured.get(rows);
    if (measured === undefined) return undefined;
    const age = this.step - measured.step;
    return age < (measured.times < FEW ? FEW_STALE_STEPS : STALE_STEPS) ? measured : undefined;
  }
}
