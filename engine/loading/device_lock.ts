/**
 * Who uses a device, in the order in which they asked: one alone, or several who do not mind each other.
 */
export class DeviceLock {
  /** Called when somebody wants to be alone with it: those who {@link share} it may end sooner then. */
  onWanted?: () => void;
  /** The last of those alone, and all who share with each other since then. */
  private last: Promise<unknown> = Promise.resolve();
  private sharing = new Set<Promise<unknown>>();

  /** Runs `work` when all that was asked for before is done; gives what it gives. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const before = this.settle();
    this.sharing = new Set();
    const result = before.then(work);
    this.last = result.catch(() => {});
    this.onWanted?.();
    return result;
  }

  /** Runs `work` beside others who share, when those who {@link run} alone and asked before are done. */
  share<T>(work: () => Promise<T>): Promise<T> {
    const { sharing } = this;
    const result = this.last.then(work);
    const forget = () => void sharing.delete(result);
    sharing.add(result);
    result.then(forget, forget);
    return result;
  }

  /** Resolves when all that was asked for so far is done. */
  async settle(): Promise<void> {
    await Promise.allSettled([this.last, ...this.sharing]);
  }
}
