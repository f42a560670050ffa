import { M40Error } from "../engine/errors.ts";

/** When a request has to be done, what comes before its generation included. */
export class Deadline {
  private readonly end: number;

  /** @param timeoutMs From now on, in milliseconds; absent: there is none. */
  constructor(private readonly timeoutMs: number | undefined) {
    this.end = performance.now() + (timeoutMs ?? Infinity);
  }

  /** Whole milliseconds that are left, one at least; undefined: there is no deadline. */
  get millisecondsLeft(): number | undefined {
    if (this.timeoutMs === undefined) return undefined;
    return Math.max(1, Math.ceil(this.end - performance.now()));
  }

  /**
   * Does what a signal ends, and the deadline too.
   *
   * @param signal The request's: the client has left, or the server stops.
   * @param state What the request was at when the deadline passes.
   * @throws {M40Error} "timeout" when the deadline passes; else what the work throws.
   */
  async within<T>(
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
    state = "its prompt was still being made",
  ): Promise<T> {
    const left = this.millisecondsLeft;
    if (left === undefined) return await work(signal);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), left);
    try {
      return await work(AbortSignal.any([signal, late.signal]));
    } catch (error) {
      if (!late.signal.aborted) throw error;
      throw new M40Error(
        "timeout",
        `the request was not done after ${
          this.timeoutMs! / 1000
        } s: ${state}. Send it again, or serve ` +
          "with a longer --timeout.",
      );
    } finally {
      clearTimeout(timer);
    }
  }
}
