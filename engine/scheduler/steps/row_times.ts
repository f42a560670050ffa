/**
 * How much more than was known steps of so many rows are taken to take, after one that took longer: most that do have
 * waited for something else.
 */
const LONGER_SHARE = 0.1;
/** Steps after which a measurement says nothing any more: sequences have grown, the device has other clocks. */
const STALE_STEPS = 1024;
/** A single measurement may be of a step that was the first of its kind, which takes longer: it is soon tried again. */
const FEW = 2;
const FEW_STALE_STEPS = 32;
/** Numbers of rows that were not measured are tried so many times at first, and once more every so many steps. */
const FIRST_TRIES = 4;
const STEPS_A_TRY = 256;
/**
 * The time that an optional row may take, as a share of what the others take. It gains less: sequences that
 * get ahead of the others leave steps of fewer rows that take as long.
 */
const MOST_SHARE = 0.8;

interface Measured {
  readonly ms: number;
  readonly times: number;
  readonly step: number;
}

/** A number of rows, and how long steps of so many take. */
interface Known {
  readonly rows: number;
  readonly ms: number;
}

/**
 * How long steps of so many decoded rows take, as measured. A device computes rows in groups: within one a row more
 * costs next to nothing, and the first row of the next one as much as all of it. Rows that a step could also do without
 * (tokens that are certain, drafts) are worth computing where they take clearly less than the others.
 */
export class RowTimes {
  private readonly measured = new Map<number, Measured>();
  private step = 0;
  /** The most rows that were measured. */
  private mostRows = 0;
  /** How often a number of rows that was not measured was chosen. */
  private tries = 0;

  /** Takes in what a step of nothing but decoded rows took. */
  observe(rows: number, ms: number): void {
    this.step++;
    this.mostRows = Math.max(this.mostRows, rows);
    // One that is to be tried again is not forgotten: twice is enough.
    const known = this.measured.get(rows);
    const { ms: before = ms, times = 0 } = known && this.age(known) < STALE_STEPS ? known : {};
    this.measured.set(rows, {
      ms: Math.min(ms, before * (1 + LONGER_SHARE)),
      times: times + 1,
      step: this.step,
    });
  }

  /**
   * The number of rows, from `least` to `most`, with the least time a row, if its rows beyond `least` are
   * worth it; of equals, the smallest. An unmeasured number usually counts like the next larger one. Now and
   * then it counts like the nearest smaller one, to try it: so the end of a group is found in a few steps.
   */
  best(least: number, most: number): number {
    let before = this.nearest(least, -1);
    if (before === undefined) return this.measured.size === 0 ? most : least;
    const mayTry = this.tries < FIRST_TRIES + Math.floor(this.step / STEPS_A_TRY);
    const leastMs = before.ms;
    let best = least;
    let bestTime = leastMs / least;
    const mostTime = MOST_SHARE * bestTime;
    let after: Known | undefined;
    for (let rows = least + 1; rows <= most; rows++) {
      if (after === undefined || after.rows < rows) after = this.nearest(rows, 1);
      if (after?.rows === rows) before = after;
      const isNearer = after !== undefined && after.rows - rows < rows - before.rows;
      const isKnown = before.rows === rows;
      // What more rows took, fewer take no longer.
      const ms = isKnown || (mayTry && !isNearer)
        ? Math.min(before.ms, after?.ms ?? Infinity)
        : after?.ms ?? Infinity;
      if (ms / rows < bestTime && ms - leastMs <= mostTime * (rows - least)) {
        best = rows;
        bestTime = ms / rows;
      }
    }
    if (best > least && this.fresh(best) === undefined) this.tries++;
    return best;
  }

  /** The nearest measured number of rows, from one on down to 1 or up to the most there were. */
  private nearest(rows: number, step: -1 | 1): Known | undefined {
    for (; rows > 0 && (step < 0 || rows <= this.mostRows); rows += step) {
      const ms = this.fresh(rows)?.ms;
      if (ms !== undefined) return { rows, ms };
    }
    return undefined;
  }

  private fresh(rows: number): Measured | undefined {
    const measured = this.measured.get(rows);
    if (measured === undefined) return undefined;
    const most = measured.times < FEW ? FEW_STALE_STEPS : STALE_STEPS;
    return this.age(measured) < most ? measured : undefined;
  }

  /** Steps since then. */
  private age({ step }: Measured): number {
    return this.step - step;
  }
}
