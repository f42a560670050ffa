/** How often the event loop is looked at, in milliseconds. */
const BEAT_MS = 1;

/**
 * Measures how long the event loop of this thread is held: a timer that is due all the time, and how late it comes.
 * `node:perf_hooks` has `monitorEventLoopDelay`, which in Deno 2.7.11 is not implemented.
 */
export class EventLoopWatch implements Disposable {
  private last = performance.now();
  private longest = 0;
  private readonly timer: number;

  constructor() {
    this.timer = setInterval(() => this.beat(), BEAT_MS);
  }

  /** The longest that the loop was held since this was called last, in milliseconds. */
  take(): number {
    this.beat();
    const { longest } = this;
    this.longest = 0;
    return longest;
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }

  private beat(): void {
    const now = performance.now();
    this.longest = Math.max(this.longest, now - this.last - BEAT_MS);
    this.last = now;
  }
}
