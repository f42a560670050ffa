import { isDeviceLoss } from "../../errors.ts";
import type { Sequence } from "../sequences/sequence.ts";

type KvBlocks = Uint32Array<ArrayBuffer>;
type Bytes = Uint8Array<ArrayBuffer>;

/** What sequences keep that is moved to host memory and back: KV blocks, or the slots of states. */
export type Kept = "kvBlocks" | "slots";

/** What moves KV blocks on the device, and KV blocks and slots between it and host memory: its cache. */
export interface KvBlockMover {
  /** Copies KV block `from[i]` to KV block `to[i]`. */
  copyKvBlocks(from: KvBlocks, to: KvBlocks): Promise<void>;
  /** Copies KV blocks or slots to host memory, bit for bit, in the order given. */
  save(kept: Kept, which: KvBlocks, memory: Bytes): Promise<void>;
  /** Copies them back from host memory. */
  restore(kept: Kept, which: KvBlocks, memory: Bytes): Promise<void>;
}

interface Move {
  readonly of: Kept;
  /** The owners of these KV blocks. */
  readonly sequences: Sequence[];
  readonly reads: number[];
  readonly writes: number[];
  /** Where it goes to or comes from; absent: from KV block to KV block. */
  readonly host?: { readonly memory: Bytes; readonly save: boolean };
}

/** What was lost when KV blocks or slots could not be moved. */
export interface LostKvBlocks {
  /** The owners of KV blocks or slots that could not be moved. */
  readonly sequences: ReadonlySet<Sequence>;
  /** KV blocks that do not hold what they should. */
  readonly kvBlocks: ReadonlySet<number>;
}

/**
 * The moves of KV blocks and slots before the next step, in the order of the decisions. A KV block may be saved, then
 * reused and written to. Decisions take no time; moves do, and run off the event loop.
 */
export class KvBlockMoves {
  /** Those that are yet to be made. */
  readonly planned: Move[] = [];

  constructor(private readonly mover: KvBlockMover) {}

  /** A sequence is to write to KV blocks that others share: it gets copies. */
  copy(sequence: Sequence, from: readonly number[], to: readonly number[]): void {
    const last = this.planned[this.planned.length - 1];
    // One call copies in any order.
    const independent = last !== undefined && last.host === undefined &&
      !from.some((kvBlock) => last.writes.includes(kvBlock)) &&
      !to.some((kvBlock) => last.writes.includes(kvBlock) || last.reads.includes(kvBlock));
    if (!independent) {
      this.planned.push({
        sequences: [sequence],
        of: "kvBlocks",
        reads: [...from],
        writes: [...to],
      });
      return;
    }
    last.sequences.push(sequence);
    last.reads.push(...from);
    last.writes.push(...to);
  }

  /** A sequence's KV blocks, or its slot, are to be saved in host memory. */
  save(sequence: Sequence, those: readonly number[], memory: Bytes, of: Kept = "kvBlocks"): void {
    const host = { memory, save: true };
    this.planned.push({ sequences: [sequence], of, reads: [...those], writes: [], host });
  }

  /** A sequence's KV blocks, or its slot, are to come back from host memory. */
  restore(
    sequence: Sequence,
    those: readonly number[],
    memory: Bytes,
    of: Kept = "kvBlocks",
  ): void {
    const host = { memory, save: false };
    this.planned.push({ sequences: [sequence], of, reads: [], writes: [...those], host });
  }

  /**
   * Moves the KV blocks and slots.
   *
   * @returns What was lost because a move failed, or read what an earlier one had failed to write.
   * @throws {M40Error} "device" where the device was lost.
   */
  async run(): Promise<LostKvBlocks> {
    const sequences = new Set<Sequence>();
    const spoiled = { kvBlocks: new Set<number>(), slots: new Set<number>() };
    for (const move of this.planned.splice(0)) {
      const known = spoiled[move.of];
      let lost = move.reads.some((one) => known.has(one));
      try {
        if (!lost) await this.move(move);
      } catch (error) {
        if (isDeviceLoss(error)) throw error;
        lost = true;
      }
      if (lost) move.sequences.forEach((sequence) => sequences.add(sequence));
      for (const one of move.writes) {
        if (lost) known.add(one);
        else known.delete(one);
      }
    }
    return { sequences, kvBlocks: spoiled.kvBlocks };
  }

  private async move({ of, reads, writes, host }: Move): Promise<void> {
    const { mover } = this;
    const [from, to] = [Uint32Array.from(reads), Uint32Array.from(writes)];
    if (host === undefined) await mover.copyKvBlocks(from, to);
    else if (host.save) await mover.save(of, from, host.memory);
    else await mover.restore(of, to, host.memory);
  }
}
