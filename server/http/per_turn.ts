/**
 * So many of a kind before everything else that waits has its turn of the event loop; more wait for the next turns,
 * the first of them first. What many clients begin at the same moment would otherwise be done in one turn, and
 * streams would wait for all of it.
 */
export class PerTurn {
  /** How many went on since anyone waited last: no fewer than in this turn. */
  private count = 0;
  /** Those that wait for a turn, the first of them first. */
  private waiting: (() => void)[] = [];

  /** @param most How many go on in one turn at most. */
  constructor(private readonly most: number) {}

  /** @returns undefined where it may go on; else what resolves in the turn in which it may. */
  take(): Promise<void> | undefined {
    if (this.waiting.length === 0 && this.count < this.most) {
      this.count++;
      return undefined;
    }
    return new Promise((resolve) => {
      if (this.waiting.push(resolve) === 1) setTimeout(() => this.nextTurn(), 0);
    });
  }

  private nextTurn(): void {
    const turn = this.waiting.slice(0, this.most);
    this.waiting = this.waiting.slice(this.most);
    this.count = turn.length;
    if (this.waiting.length > 0) setTimeout(() => this.nextTurn(), 0);
    for (const resolve of turn) resolve();
  }
}
