import process from "node:process";

/**
 * What a thread's work takes of a processor. Where others need the processors as well, that is less than by the clock,
 * and a limit by the clock would end work that is no longer than it may be. Up to the first look, which short work never
 * comes to, the clock counts: asking the system takes longer than many a rendering.
 */
export class WorkClock {
  private readonly start = performance.now();
  /** What was used up to the first look. */
  private first?: { readonly passed: number; readonly used: number };

  /** @param used Milliseconds of a processor that the thread has had. Default: this thread. */
  constructor(private readonly used: () => number = threadMs) {}

  /**
   * Milliseconds that are left; 0 or less where there are none.
   *
   * @param limitMs Of a processor.
   * @param mostMs By the clock.
   */
  left(limitMs: number, mostMs: number): number {
    const passed = performance.now() - this.start;
    const first = this.first ??= { passed, used: this.used() };
    if (passed < limitMs) return limitMs - passed;
    const used = first.passed + this.used() - first.used;
    return Math.min(limitMs - used, mostMs - passed);
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** This thread's folder below /proc, by which others see what it takes; undefined where the system has none. */
export function threadFolder(): string | undefined {
  try {
    return Deno.readLinkSync("/proc/thread-self");
  } catch {
    return undefined;
  }
}

/**
 * Milliseconds of a processor that another thread has had; those of the whole process where the system does not say.
 *
 * @param folder What {@link threadFolder} says in that thread.
 */
export function msOfThread(folder: string | undefined): () => number {
  const path = `/proc/${folder}/schedstat`;
  const read = () => parseInt(Deno.readTextFileSync(path)) / 1e6;
  try {
    read();
    return read;
  } catch {
    return () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    };
  }
}
