import { isDeviceLoss } from "../../errors.ts";
import type { Sequence } from "../sequences/sequence.ts";

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

/** What moves the slots of states between the device and host memory. */
export interface SlotMover {
  /** Copies slots to host memory, bit for bit, in the order given. */
  saveSlots(slots: Pages, memory: Bytes): Promise<void>;
  /** Copies slots back from host memory. */
  restoreSlots(slots: Pages, memory: Bytes): Promise<void>;
}

interface Move {
  /** Whose pages these are. */
  readonly sequences: Sequence[];
  readonly reads: number[];
  readonly writes: number[];
  /** Where it goes to or comes from; absent: from page to page. */
  readonly host?: { readonly memory: Bytes; readonly save: boolean };
  /** Whether slots are moved, not pages. */
  readonly slots?: true;
}

/** What was lost when pages or slots could not be moved. */
export interface LostPages {
  /** Whose pages or slots could not be moved. */
  readonly sequences: ReadonlySet<Sequence>;
  /** Pages that do not hold what they should. */
  readonly pages: ReadonlySet<number>;
}

/**
 * What has to be done to pages and slots before the next step, in the order in which it was decided: a page
 * may be saved, then given to somebody else and written to. Deciding takes no time; moving does, and happens
 * off the event loop.
 */
export class PageMoves {
  private moves: Move[] = [];

  constructor(private readonly mover: PageMover & SlotMover) {}

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

  /** A sequence's state is to be saved in host memory. */
  saveSlot(sequence: Sequence, slot: number, memory: Bytes): void {
    const host = { memory, save: true };
    this.moves.push({ sequences: [sequence], reads: [slot], writes: [], host, slots: true });
  }

  /** A sequence's state is to come back from host memory. */
  restoreSlot(sequence: Sequence, slot: number, memory: Bytes): void {
    const host = { memory, save: false };
    this.moves.push({ sequences: [sequence], reads: [], writes: [slot], host, slots: true });
  }

  /**
   * Moves the pages and slots.
   *
   * @returns What was lost because a move failed, or read what an earlier one had failed to write.
   * @throws {M40Error} "device" where the device was lost.
   */
  async run(): Promise<LostPages> {
    const sequences = new Set<Sequence>();
    const pages = new Set<number>();
    const slots = new Set<number>();
    for (const move of this.moves.splice(0)) {
      const spoiled = move.slots ? slots : pages;
      let lost = move.reads.some((one) => spoiled.has(one));
      try {
        if (!lost) await this.move(move);
      } catch (error) {
        if (isDeviceLoss(error)) throw error;
        lost = true;
      }
      if (lost) move.sequences.forEach((sequence) => sequences.add(sequence));
      for (const one of move.writes) {
        if (lost) spoiled.add(one);
        else spoiled.delete(one);
      }
    }
    return { sequences, pages };
  }

  /** Whether there is nothing to move. */
  get isEmpty(): boolean {
    return this.moves.length === 0;
  }

  private async move({ reads, writes, host, slots }: Move): Promise<void> {
    const { mover } = this;
    const [from, to] = [Uint32Array.from(reads), Uint32Array.from(writes)];
    if (host === undefined) await mover.copyPages(from, to);
    else if (slots) {
      await (host.save ? mover.saveSlots(from, host.memory) : mover.restoreSlots(to, host.memory));
    } else if (host.save) await mover.savePages(from, host.memory);
    else await mover.restorePages(to, host.memory);
  }
}
