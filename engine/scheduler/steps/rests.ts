/** When a step ended, and what it took, in milliseconds. */
export interface StepTime {
  readonly milliseconds: number;
  readonly end: number;
}

/** What a device rests between steps, of one lane or of several at the same time. */
export class Rests {
  /** The last step of each lane; of no length where the device has rested for it. */
  private readonly last: StepTime[];
  /** Until when rests have been counted. */
  private counted = -Infinity;

  /**
   * @param rest Rests after a step that took so long and has been over for so long; resolves to what it has rested.
   */
  constructor(
    lanes: number,
    private readonly rest: (stepMs: number, idleMs: number) => Promise<number>,
    private readonly now: () => number,
  ) {
    this.last = Array.from({ length: lanes }, () => ({ milliseconds: 0, end: 0 }));
  }

  /** A lane's step is over. */
  take(lane: number, step: StepTime): void {
    this.last[lane] = step;
  }

  /**
   * Rests before a lane looks for its next step, once for each step.
   *
   * @returns What was rested, in milliseconds, without what another lane has rested meanwhile.
   */
  async before(lane: number): Promise<number> {
    const { milliseconds, end } = this.last[lane];
    this.last[lane] = { milliseconds: 0, end };
    const start = this.now();
    const until = start + await this.rest(milliseconds, start - end);
    const rested = Math.max(0, until - Math.max(start, this.counted));
    this.counted = Math.max(this.counted, until);
    return rested;
  }
}
