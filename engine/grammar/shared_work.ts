import { abortable } from "@std/async/abortable";
import { M40Error } from "../errors.ts";

/** Work that several may wait for. Where all of them have left, it is no longer wanted. */
export class SharedWork<T> {
  /** Resolves when the work is done, or has failed. */
  readonly ended: Promise<void>;
  private readonly result: Promise<T>;
  private readonly unwanted = new AbortController();
  private waiters = 0;

  /** @param start Starts the work; its signal is aborted when no caller waits for it any more. */
  constructor(start: (unwanted: AbortSignal) => Promise<T>) {
    this.result = start(this.unwanted.signal);
    // Waiting callers get the error; there may be none left.
    this.ended = this.result.then(() => {}, () => {});
  }

  /** Whether all waiting callers have left. */
  get isUnwanted(): boolean {
    return this.unwanted.signal.aborted;
  }

  /**
   * What the work gives.
   *
   * @param signal Aborts the caller's wait.
   * @throws {M40Error} "cancelled" where the signal is aborted; what the work throws.
   */
  async wait(signal?: AbortSignal): Promise<T> {
    this.waiters++;
    try {
      return await (signal === undefined ? this.result : abortable(this.result, signal));
    } catch (error) {
      if (signal?.aborted) throw new M40Error("cancelled", "the request was cancelled");
      throw error;
    } finally {
      if (--this.waiters === 0) this.unwanted.abort();
    }
  }
}
