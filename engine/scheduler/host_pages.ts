import type { Cache } from "../device/context.ts";

/** Pages of a sequence in host memory. */
export interface SavedPages {
  /** The first of the slots that they are in, one after the other. */
  readonly slot: number;
  readonly count: number;
}

/** What moves pages between the device and host memory: {@link Cache}. */
export type PageMover = Pick<Cache, "savePages" | "restorePages">;

/**
 * Host memory for the pages of sequences that had to give way. They come back bit for bit, which on an
 * old card takes a hundredth of the time that computing them again would.
 */
export class HostPages {
  private readonly taken: Uint8Array;

  /**
   * @param memory Page-locked memory of the device's library.
   * @param pageBytes Bytes of a page.
   */
  constructor(
    private readonly mover: PageMover,
    private readonly memory: Uint8Array<ArrayBuffer>,
    private readonly pageBytes: number,
  ) {
    this.taken = new Uint8Array(pageBytes === 0 ? 0 : Math.floor(memory.length / pageBytes));
  }

  /** How many pages are saved, and how many there is room for. */
  get usage(): { saved: number; room: number } {
    return { saved: this.taken.reduce((sum, one) => sum + one, 0), room: this.taken.length };
  }

  /** Copies pages out, or gives undefined where there is no room for them side by side. */
  save(pages: readonly number[]): SavedPages | undefined {
    const slot = this.findRun(pages.length);
    if (slot === undefined) return undefined;
    const saved = { slot, count: pages.length };
    this.mover.savePages(Uint32Array.from(pages), this.bytesOf(saved));
    this.taken.fill(1, slot, slot + pages.length);
    return saved;
  }

  /** Copies pages back into `pages`, which may be others than before, and frees their room. */
  restore(saved: SavedPages, pages: readonly number[]): void {
    this.mover.restorePages(Uint32Array.from(pages), this.bytesOf(saved));
    this.drop(saved);
  }

  /** Frees the room of pages that are not needed any more. */
  drop(saved: SavedPages): void {
    this.taken.fill(0, saved.slot, saved.slot + saved.count);
  }

  private bytesOf({ slot, count }: SavedPages): Uint8Array<ArrayBuffer> {
    return this.memory.subarray(slot * this.pageBytes, (slot + count) * this.pageBytes);
  }

  private findRun(count: number): number | undefined {
    let start = 0;
    for (let slot = 0; slot < this.taken.length && slot - start < count; slot++) {
      if (this.taken[slot]) start = slot + 1;
    }
    return this.taken.length - start >= count ? start : undefined;
  }
}
