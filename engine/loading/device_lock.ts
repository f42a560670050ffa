/** Orders the users of a device by when they asked: one exclusive user, or several that share it. */
export class DeviceLock {
  /** Called when exclusive use is asked for: those who {@link share} it may end sooner then. */
  onWanted?: () => void;
  /** The last exclusive use, and the shared uses since then. */
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

  /** Runs `work` concurrently with other shared work, after the exclusive work that was asked for before. */
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
