/** How many steps that are not over use each KV block, or each slot; and which of them nobody else has any more. */
export class Holds {
  private readonly counts: Uint32Array;
  /** Those that were given up meanwhile: they are to be had when the last step is over. */
  private readonly givenUp = new Set<number>();

  /** @param size How many there are. */
  constructor(size: number) {
    this.counts = new Uint32Array(size);
  }

  /** How many will be to be had when the steps are over that are under way. */
  get coming(): number {
    return this.givenUp.size;
  }

  /** Whether a step uses it. */
  has(one: number): boolean {
    return this.counts[one] > 0;
  }

  /** A step uses them. */
  add(used: readonly number[]): void {
    for (const one of used) this.counts[one]++;
  }

  /** Nobody has it any more; whether it has to wait for a step. */
  giveUp(one: number): boolean {
    if (this.counts[one] === 0) return false;
    this.givenUp.add(one);
    return true;
  }

  /** Somebody has it again. */
  takeBack(one: number): void {
    this.givenUp.delete(one);
  }

  /** A step is over; gives those that were given up and that no step uses any more. */
  remove(used: readonly number[]): number[] {
    const free: number[] = [];
    for (const one of used) {
      if (--this.counts[one] === 0 && this.givenUp.delete(one)) free.push(one);
    }
    return free;
  }
}
