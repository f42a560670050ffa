/** Whether a server is on its way out: it answers what runs, and takes nothing new, at once or soon. */
export class Drain {
  /** Whether the server drains. */
  active = false;
  private end = Infinity;
  private refusal = Infinity;

  /**
   * From now on the server drains.
   *
   * @param milliseconds How long running answers may go on, when the notice is over.
   * @param noticeMs How long it still takes new requests before, while it already says that it drains.
   */
  begin(milliseconds: number, noticeMs = 0): void {
    this.refusal = performance.now() + noticeMs;
    this.end = this.refusal + milliseconds;
    this.active = true;
  }

  /** Whether it takes no new request any more. */
  get refusing(): boolean {
    return performance.now() >= this.refusal;
  }

  /** How long running answers may still go on, in milliseconds. */
  get millisecondsLeft(): number {
    return Math.max(0, this.end - performance.now());
  }
}
