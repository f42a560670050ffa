import { assert } from "@std/assert";

/** What a step or a move reads and writes: rows of pages and slots, each by a number of its own. */
export interface Use {
  readonly reads: ReadonlySet<number>;
  readonly writes: ReadonlySet<number>;
}

/**
 * What is under way at the same time on a device with two lanes, where nothing orders one and the other: what one of them
 * writes, no other reads or writes.
 */
export class LaneWatch {
  private readonly underWay = new Set<Use>();

  /** Watches something from now until it is done; fails where it may not be beside what is under way. */
  async during<T>(use: Use, work: () => Promise<T>): Promise<T> {
    for (const other of this.underWay) {
      const overlap = [use, other].some(({ writes }, i) => {
        const { reads, writes: written } = [other, use][i];
        for (const one of writes) if (reads.has(one) || written.has(one)) return true;
        return false;
      });
      assert(!overlap, "written while something else that is under way reads or writes it");
    }
    this.underWay.add(use);
    try {
      return await work();
    } finally {
      this.underWay.delete(use);
    }
  }

  /** Whether it is being written by what is under way: whoever reads it may get anything. */
  isWritten(one: number): boolean {
    for (const { writes } of this.underWay) if (writes.has(one)) return true;
    return false;
  }
}
