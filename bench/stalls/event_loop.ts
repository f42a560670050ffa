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
 * Measures how long the event loop of the main thread is held: a timer that is due all the time, how late it comes, and
 * how much the thread has computed until then.
 */
export class EventLoopWatch implements Disposable {
  private last = performance.now();
  private lastComputed = computedMs();
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
    const computed = computedMs();
    this.clock = Math.max(this.clock, now - this.last - BEAT_MS);
    this.computed = Math.max(this.computed, computed - this.lastComputed);
    this.last = now;
    this.lastComputed = computed;
  }
}

/** What the main thread has computed, in milliseconds: of Linux, in nanoseconds, the first number of this file. */
function computedMs(): number {
  try {
    const [nanoseconds] = Deno.readTextFileSync(`/proc/self/task/${Deno.pid}/schedstat`).split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return 0;
  }
}
