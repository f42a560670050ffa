import { threadMs } from "../thread_time.ts";

/** How often the event loop is looked at, in milliseconds. */
const BEAT_MS = 1;

/** How long the event loop was held, in milliseconds. */
export interface Stall {
  /** By the clock. */
  readonly clock: number;
  /**
   * By what the thread computed between two looks: what it would be by the clock on a machine that does nothing else.
   * 0 where the system does not say.
   */
  readonly computed: number;
}

/**
 * Measures how long the event loop of the main thread is held: how late a timer fires that is always due, and how much
 * the thread has computed until then.
 */
export class EventLoopWatch implements Disposable {
  private last = performance.now();
  private lastComputed = threadMs();
  private clock = 0;
  private computed = 0;
  private readonly timer: number;

  constructor() {
    this.timer = setInterval(() => this.beat(), BEAT_MS);
  }

  /** The longest since this was called last. */
  take(): Stall {
    this.beat();
    const { clock, computed } = this;
    this.clock = this.computed = 0;
    return { clock, computed };
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }

  private beat(): void {
    const now = performance.now();
    const computed = threadMs();
    this.clock = Math.max(this.clock, now - this.last - BEAT_MS);
    this.computed = Math.max(this.computed, computed - this.lastComputed);
    this.last = now;
    this.lastComputed = computed;
  }
}
