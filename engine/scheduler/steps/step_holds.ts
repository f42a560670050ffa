import type { KvBlockManager } from "../kv_blocks/kv_block_manager.ts";
import { kvBlocksIn } from "../kv_blocks/kv_block_layout.ts";
import type { Turn } from "../sequences/sequence.ts";
import { NONE } from "../../device/mod.ts";

/**
 * The KV blocks and slots that a step reads and writes, held until it ends.
 *
 * A device with one lane works in the order of the calls. So released blocks are free at once, even during a
 * step. With two lanes ({@link Lane}), the steps of one lane are not ordered against those of the other, nor
 * against moves of KV blocks. These rules hold instead:
 *
 * 1. A sequence takes part in one step at a time (`Sequence.canBegin`). One that is preempted during a step
 *    returns after the step. So its steps, and the moves that they need, follow each other.
 * 2. Published, kept and shared blocks were computed by steps that have ended: results are noted first.
 * 3. No other step reads what a step writes: rows not yet computed, of KV blocks that only its sequence writes,
 *    and a slot of its own. A copy or save may read such a KV block; the rows being written do not count.
 * 4. No other step writes what a step reads or writes before it ends. Its sequence may finish or be preempted
 *    meanwhile. Its KV blocks and slots then have no owner but are not free, and a sequence that shares such a
 *    slot does not write to it. A hold ensures that.
 * 5. Decisions are made one at a time, each with its moves, and so are copies to and from disk between them.
 *    So a decision's own moves can save what it releases before a later decision reuses it.
 */
export class StepHolds {
  private readonly kvBlocks: readonly number[];
  private readonly slots: readonly number[];

  constructor(private readonly kvBlockManager: KvBlockManager, turns: readonly Turn[]) {
    this.kvBlocks = turns.flatMap(({ sequence }) => kvBlocksIn(sequence.kvBlocks));
    this.slots = turns.flatMap(({ sequence, states }) => {
      const { from = NONE, to = NONE } = states ?? {};
      return [from, to, sequence.laterSlot ?? NONE].filter((slot) => slot !== NONE);
    });
    kvBlockManager.hold(this.kvBlocks);
    kvBlockManager.slots?.hold(this.slots);
  }

  /** The step is over. */
  release(): void {
    this.kvBlockManager.endHold(this.kvBlocks);
    this.kvBlockManager.slots?.endHold(this.slots);
  }
}
