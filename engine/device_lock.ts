/** One call at a time on a device, in the order in which they were asked for. */
export class DeviceLock {
  private last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when all that was asked for before is done; gives what it gives. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.last.then(work);
    this.last = result.catch(() => {});
    return result;
  }

  /** Resolves when all that was asked for so far is done. */
  async settle(): Promise<void> {
    await this.last;
  }
}
