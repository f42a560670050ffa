/** How many unfinished steps use each KV block or slot, and which of them have lost their owner meanwhile. */
export class Holds {
  private readonly counts: Uint32Array;
  /** How many steps use any. */
  steps = 0;
  /** Those without an owner: they become free when the last step that uses them ends. */
  private readonly givenUp = new Set<number>();

  /** @param size How many there are. */
  constructor(size: number) {
    this.counts = new Uint32Array(size);
  }

  /** How many become free when the running steps end. */
  get coming(): number {
    return this.givenUp.size;
  }

  /** Whether a step uses it. */
  has(one: number): boolean {
    return this.counts[one] > 0;
  }

  /** Counts a step that uses them. */
  add(used: readonly number[]): void {
    this.steps++;
    for (const one of used) this.counts[one]++;
  }

  /** Its owner releases it. Returns whether it must wait for a step before it is free. */
  giveUp(one: number): boolean {
    if (this.counts[one] === 0) return false;
    this.givenUp.add(one);
    return true;
  }

  /** It has an owner again. */
  takeBack(one: number): void {
    this.givenUp.delete(one);
  }

  /** A step has ended. Returns those that have neither an owner nor a step any more. */
  remove(used: readonly number[]): number[] {
    this.steps--;
    const free: number[] = [];
    for (const one of used) {
      if (--this.counts[one] === 0 && this.givenUp.delete(one)) free.push(one);
    }
    return free;
  }
}
