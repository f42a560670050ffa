/** Counts the changes that could let another sequence take part in a step, and wakes what waits for one. */
export class Changes {
  private waiters: (() => void)[] = [];
  private changes = 0;

  /** How often something has changed. */
  get count(): number {
    return this.changes;
  }

  /** Something has changed. */
  note(): void {
    this.changes++;
    for (const wake of this.waiters.splice(0)) wake();
  }

  /** Resolves when something has changed since it had so many times. */
  async since(count: number): Promise<void> {
    if (this.changes === count) await new Promise<void>((resolve) => this.waiters.push(resolve));
  }
}
