import { M40Error } from "../../engine/errors.ts";
import type { GenerateRequest } from "../../engine/mod.ts";
import { follow } from "./follow.ts";

/** When a request has to be done, what comes before its generation included. */
export class Deadline {
  private readonly start = performance.now();

  /** @param timeoutMs From now on, in milliseconds; absent: there is none. */
  constructor(private readonly timeoutMs: number | undefined) {}

  /** The same deadline for what the engine does. */
  get ofEngine(): Pick<GenerateRequest, "timeoutMs" | "timeoutFrom"> {
    return { timeoutMs: this.timeoutMs, timeoutFrom: this.start };
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
    const { timeoutMs, start } = this;
    if (timeoutMs === undefined) return await work(signal);
    const end = new AbortController();
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      end.abort();
    }, start + timeoutMs - performance.now());
    const unfollow = follow(signal, end);
    try {
      return await work(end.signal);
    } catch (error) {
      if (!late) throw error;
      throw new M40Error(
        "timeout",
        `the request was not done after ${timeoutMs / 1000} s: ${state}. Send it again, or serve ` +
          "with a longer --timeout.",
      );
    } finally {
      unfollow();
      clearTimeout(timer);
    }
  }
}
