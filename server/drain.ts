/** Whether a server is on its way out: it answers what runs, and takes nothing new. */
export class Drain {
  private end?: number;

  /** From now on the server drains, for so many milliseconds at most. */
  begin(milliseconds: number): void {
    this.end = performance.now() + milliseconds;
  }

  /** Whether the server drains. */
  get active(): boolean {
    return this.end !== undefined;
  }

  /** How long running answers may still go on, in milliseconds. */
  get millisecondsLeft(): number {
    return this.end === undefined ? Infinity : Math.max(0, this.end - performance.now());
  }
}
