import process from "node:process";

/**
 * What work takes of a processor. Where others need the processors as well, that is less than by the clock, and a limit
 * by the clock would end work that is no longer than it may be. Counted is what the whole process takes, so never less
 * than this work, and never more than the clock says. Up to the first look, which short work never comes to, the clock
 * counts: asking the system takes longer than many a rendering.
 */
export class WorkClock {
  private readonly start = performance.now();
  /** What was used up to the first look. */
  private first?: { readonly passed: number; readonly used: number };

  /**
   * Milliseconds that are left; 0 or less where there are none.
   *
   * @param limitMs Of a processor.
   * @param mostMs By the clock.
   */
  left(limitMs: number, mostMs: number): number {
    const passed = performance.now() - this.start;
    const first = this.first ??= { passed, used: processorMs() };
    if (passed < limitMs) return limitMs - passed;
    const used = first.passed + processorMs() - first.used;
    return Math.min(limitMs - used, mostMs - passed);
  }
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
