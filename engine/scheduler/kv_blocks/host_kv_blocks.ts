/** KV blocks of a sequence in host memory. */
export interface SavedKvBlocks {
  /** The first of the slots that they are in, one after the other. */
  readonly slot: number;
  readonly count: number;
}

/**
 * Host memory for the KV blocks or states of preempted sequences. They return bit for bit. On an old card that takes
 * a hundredth of the time of computing them again.
 */
export class HostKvBlocks {
  private readonly taken: Uint8Array;

  /**
   * @param memory KV block-locked memory of the device's library.
   * @param kvBlockBytes Bytes of a KV block, or of a slot.
   * @param room For how many there is room; default as many as the memory holds.
   */
  constructor(
    private readonly memory: Uint8Array<ArrayBuffer>,
    private readonly kvBlockBytes: number,
    room = kvBlockBytes === 0 ? 0 : Math.floor(memory.length / kvBlockBytes),
  ) {
    this.taken = new Uint8Array(room);
  }

  /** How many KV blocks are saved, and how many there is room for. */
  get usage(): { saved: number; room: number } {
    return { saved: this.taken.reduce((sum, one) => sum + one, 0), room: this.taken.length };
  }

  /** Room for that many KV blocks, or undefined where there is none for them side by side. */
  allocate(count: number): SavedKvBlocks | undefined {
    const slot = this.findRun(count);
    if (slot === undefined) return undefined;
    this.taken.fill(1, slot, slot + count);
    return { slot, count };
  }

  /** Gives the room of KV blocks back. */
  release({ slot, count }: SavedKvBlocks): void {
    this.taken.fill(0, slot, slot + count);
  }

  /** The memory that KV blocks are in. */
  bytesOf({ slot, count }: SavedKvBlocks): Uint8Array<ArrayBuffer> {
    return this.memory.subarray(slot * this.kvBlockBytes, (slot + count) * this.kvBlockBytes);
  }

  private findRun(count: number): number | undefined {
    let start = 0;
    for (let slot = 0; slot < this.taken.length && slot - start < count; slot++) {
      if (this.taken[slot]) start = slot + 1;
    }
    return this.taken.length - start >= count ? start : undefined;
  }
}
