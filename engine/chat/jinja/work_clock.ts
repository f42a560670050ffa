import process from "node:process";

/**
 * What work takes of a processor. Where others need the processors as well, that is less than by the clock, and a limit
 * by the clock would end work that is no longer than it may be. Counted is what the whole process takes, so never less
 * than this work, and never more than the clock says.
 */
export class WorkClock {
  private readonly start = performance.now();
  private readonly used = processorMs();

  /**
   * Milliseconds that are left; 0 or less where there are none.
   *
   * @param limitMs Of a processor.
   * @param mostMs By the clock.
   */
  left(limitMs: number, mostMs: number): number {
    const passed = performance.now() - this.start;
    if (passed < limitMs) return limitMs - passed;
    return Math.min(limitMs - (processorMs() - this.used), mostMs - passed);
  }
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
