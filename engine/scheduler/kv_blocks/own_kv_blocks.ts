import { NONE, type StepSequence } from "../../device/mod.ts";
import { M40Error } from "../../errors.ts";
import { type KvBlockLayout, NO_KV_BLOCK } from "./kv_block_layout.ts";
import type { SlotManager } from "./slot_manager.ts";

/** The block table of a sequence outside the scheduler. KV blocks behind its windows are reused. */
export class OwnKvBlocks {
  private readonly table: number[][];
  private readonly free: number[];
  /** Of each group the KV blocks before this one have been given up. */
  private readonly first: number[];

  /** @param kvBlocks As many as {@link KvBlockLayout.most} says, for all that is asked of it. */
  constructor(private readonly layout: KvBlockLayout, kvBlocks: readonly number[]) {
    this.free = kvBlocks.toReversed();
    this.table = layout.groups.map(() => []);
    this.first = layout.groups.map(() => 0);
  }

  /**
   * The table with KV blocks for so many tokens from a position on, and for those before it that they see. The
   * position is not before one asked for earlier.
   *
   * @throws {M40Error} "internal" where there are too few KV blocks.
   */
  cover(position: number, count: number): readonly (readonly number[])[] {
    const end = Math.ceil((position + count) / this.layout.kvBlockTokens);
    for (const [group, kvBlocks] of this.table.entries()) {
      const first = this.layout.firstKvBlock(group, position);
      const behind = Math.min(first, kvBlocks.length);
      this.free.push(...kvBlocks.slice(this.first[group], behind));
      kvBlocks.fill(NO_KV_BLOCK, this.first[group], behind);
      while (kvBlocks.length < end) {
        kvBlocks.push(kvBlocks.length < first ? NO_KV_BLOCK : this.take());
      }
      this.first[group] = first;
    }
    return this.table;
  }

  private take(): number {
    const kvBlock = this.free.pop();
    if (kvBlock === undefined) throw new M40Error("internal", "a sequence with too few KV blocks");
    return kvBlock;
  }
}

/** The slot of a sequence outside the scheduler. */
export class OwnSlot {
  private constructor(private readonly slots: SlotManager, private readonly slot: number) {}

  /** A slot, or undefined where there is none. */
  static take(slots: SlotManager): OwnSlot | undefined {
    const slot = slots.allocate();
    return slot === undefined ? undefined : new OwnSlot(slots, slot);
  }

  /** The slots of a step whose first token has this position. */
  at(position: number): StepSequence["states"] {
    return { from: position === 0 ? NONE : this.slot, to: this.slot };
  }

  /** The slots of a step that goes on from another's state. */
  after({ slot }: OwnSlot): StepSequence["states"] {
    return { from: slot, to: this.slot };
  }

  /** Gives it back. */
  release(): void {
    this.slots.release([this.slot]);
  }
}
