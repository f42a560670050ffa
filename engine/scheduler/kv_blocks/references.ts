/**
 * Reference counts of KV blocks, or of slots of states. What has no reference is free; what an unfinished step uses
 * becomes free when the step ends. A device whose steps and moves follow each other needs none held: see {@link StepHolds}.
 */
export abstract class References {
  /** Called when some are free: a waiting sequence may find room. */
  onRelease?: () => void;
  protected readonly references: Uint32Array;
  /** How many unfinished steps use each. */
  protected readonly users: Uint32Array;
  /** Those that hold nothing. */
  protected readonly empty: number[];
  /** Those without references that a step still uses. */
  private readonly coming = new Set<number>();

  /** @param count How many there are. */
  constructor(count: number) {
    this.references = new Uint32Array(count);
    this.users = new Uint32Array(count);
    this.empty = Array.from({ length: count }, (_, i) => count - 1 - i);
  }

  /** How many become free when the running steps end. */
  get comingFree(): number {
    return this.coming.size;
  }

  /** A reference more to each. */
  share(those: readonly number[]): void {
    for (const one of those) {
      this.references[one]++;
      this.coming.delete(one);
      this.use(one);
    }
  }

  /** A reference less to each. */
  release(those: readonly number[]): void {
    if (those.length === 0) return;
    // Later KV blocks first, so that the end of a prefix is evicted before its start.
    for (let i = those.length - 1; i >= 0; i--) {
      const one = those[i];
      if (--this.references[one] > 0) continue;
      if (this.users[one] > 0) this.coming.add(one);
      else this.lay(one);
    }
    this.onRelease?.();
  }

  /** A step uses them until {@link endHold}. */
  hold(those: readonly number[]): void {
    for (const one of those) this.users[one]++;
  }

  /** The step is over: those whose references went meanwhile are free. */
  endHold(those: readonly number[]): void {
    let isFree = false;
    for (let i = those.length - 1; i >= 0; i--) {
      const one = those[i];
      if (--this.users[one] > 0 || !this.coming.delete(one)) continue;
      this.lay(one);
      isFree = true;
    }
    if (isFree) this.onRelease?.();
  }

  /** One that may have had no reference has one. */
  protected abstract use(one: number): void;

  /** One without references is free. */
  protected abstract lay(one: number): void;
}
