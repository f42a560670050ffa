import { isDeviceLoss } from "../errors.ts";
import type { Sequence } from "./sequence.ts";

type Pages = Uint32Array<ArrayBuffer>;
type Bytes = Uint8Array<ArrayBuffer>;

/** What moves KV pages on the device, and between it and host memory: its cache. */
export interface PageMover {
  /** Copies page `from[i]` to page `to[i]`. */
  copyPages(from: Pages, to: Pages): Promise<void>;
  /** Copies pages to host memory, bit for bit, in the order given. */
  savePages(pages: Pages, memory: Bytes): Promise<void>;
  /** Copies pages back from host memory. */
  restorePages(pages: Pages, memory: Bytes): Promise<void>;
}

interface Move {
  /** Whose pages these are. */
  readonly sequences: Sequence[];
  readonly reads: number[];
  readonly writes: number[];
  /** Where it goes to or comes from; absent: from page to page. */
  readonly host?: { readonly memory: Bytes; readonly save: boolean };
}

/** What was lost when pages could not be moved. */
export interface LostPages {
  /** Whose pages could not be moved. */
  readonly sequences: ReadonlySet<Sequence>;
  /** Pages that do not hold what they should. */
  readonly pages: ReadonlySet<number>;
}

/**
 * What has to be done to pages before the next step, in the order in which it was decided: a page may be
 * saved, then given to somebody else and written to. Deciding takes no time; moving does, and happens off
 * the event loop.
 */
export class PageMoves {
  private moves: Move[] = [];

  constructor(private readonly mover: PageMover) {}

  /** A sequence is to write to pages that others share: it gets copies. */
  copy(sequence: Sequence, from: readonly number[], to: readonly number[]): void {
    const last = this.moves[this.moves.length - 1];
    // One call copies in any order.
    const independent = last !== undefined && last.host === undefined &&
      !from.some((page) => last.writes.includes(page)) &&
      !to.some((page) => last.writes.includes(page) || last.reads.includes(page));
    if (!independent) {
      this.moves.push({ sequences: [sequence], reads: [...from], writes: [...to] });
      return;
    }
    last.sequences.push(sequence);
    last.reads.push(...from);
    last.writes.push(...to);
  }

  /** A sequence's pages are to be saved in host memory. */
  save(sequence: Sequence, pages: readonly number[], memory: Bytes): void {
    const host = { memory, save: true };
    this.moves.push({ sequences: [sequence], reads: [...pages], writes: [], host });
  }

  /** A sequence's pages are to come back from host memory. */
  restore(sequence: Sequence, pages: readonly number[], memory: Bytes): void {
    const host = { memory, save: false };
    this.moves.push({ sequences: [sequence], reads: [], writes: [...pages], host });
  }

  /**
   * Moves the pages.
   *
   * @returns What was lost because a move failed, or read what an earlier one had failed to write.
   * @throws {M40Error} "device" where the device was lost.
   */
  async run(): Promise<LostPages> {
    const sequences = new Set<Sequence>();
    const pages = new Set<number>();
    for (const move of this.moves.splice(0)) {
      let lost = move.reads.some((page) => pages.has(page));
      try {
        if (!lost) await this.move(move);
      } catch (error) {
        if (isDeviceLoss(error)) throw error;
        lost = true;
      }
      if (lost) move.sequences.forEach((sequence) => sequences.add(sequence));
      for (const page of move.writes) {
        if (lost) pages.add(page);
        else pages.delete(page);
      }
    }
    return { sequences, pages };
  }

  /** Whether there is nothing to move. */
  get isEmpty(): boolean {
    return this.moves.length === 0;
  }

  private async move({ reads, writes, host }: Move): Promise<void> {
    if (host === undefined) {
      await this.mover.copyPages(Uint32Array.from(reads), Uint32Array.from(writes));
    } else if (host.save) await this.mover.savePages(Uint32Array.from(reads), host.memory);
    else await this.mover.restorePages(Uint32Array.from(writes), host.memory);
  }
}
