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

/** Linux's clock of what the thread that asks has computed. */
const CLOCK_THREAD_CPUTIME_ID = 3;

/** The two words of the C library's answer: seconds, nanoseconds. */
const time = new BigInt64Array(2);

const libc = openLibc();

/** What the thread has computed, in milliseconds; the scheduler's own files are as coarse as its ticks. */
function computedMs(): number {
  if (libc === undefined) return 0;
  libc.symbols.clock_gettime(CLOCK_THREAD_CPUTIME_ID, time);
  return Number(time[0]) * 1e3 + Number(time[1]) / 1e6;
}

function openLibc() {
  if (Deno.build.os !== "linux") return undefined;
  try {
    return Deno.dlopen("libc.so.6", {
      clock_gettime: { parameters: ["i32", "buffer"], result: "i32" },
    });
  } catch {
    return undefined;
  }
}
