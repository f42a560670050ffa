import type { KvBlockManager } from "../kv_blocks/kv_block_manager.ts";
import { kvBlocksIn } from "../kv_blocks/kv_block_layout.ts";
import { stepStates } from "../kv_blocks/states.ts";
import type { Turn } from "./turn.ts";
import { NONE } from "../../device/mod.ts";

/**
 * The KV blocks and slots that a step reads and writes, held until it is over.
 *
 * A device with one lane does what it is asked in the order of asking, so what somebody gives up is anybody's at once, also
 * in the midst of a step. With two lanes ({@link Lane}) nothing orders the steps of one and those of the other, nor a step
 * and a move of KV blocks. What holds instead:
 *
 * 1. A sequence takes part in one step at a time (`Sequence.canBegin`), and who gave way in the midst of one comes back
 *    after it. So a sequence's own steps, and the moves that it needs for them, follow each other.
 * 2. What is published, kept, or taken over from a leader was computed by steps that are over: that is noted when their
 *    results are there.
 * 3. What a step writes, nobody else reads: rows that are not yet computed, of KV blocks that only its sequence writes, and a
 *    slot that nobody else has. A KV block may be copied or saved meanwhile; its rows that are being written are of no meaning
 *    there.
 * 4. What a step reads or writes is not written by others until it is over: its sequence may finish or give way
 *    meanwhile, and its KV blocks and slots then have no owner, but nobody gets them, nor may one who shares such a slot write
 *    to it. That is what a hold is for.
 * 5. Decisions are taken one at a time, each with its moves, and so are copies to and from disk between them. So what a
 *    decision gives up can be saved by its own moves before a later one gives it to somebody.
 */
export class StepHolds {
  private readonly kvBlocks: readonly number[];
  private readonly slots: readonly number[];

  constructor(private readonly kvBlockManager: KvBlockManager, turns: readonly Turn[]) {
    this.kvBlocks = turns.flatMap(({ sequence }) => kvBlocksIn(sequence.kvBlocks));
    this.slots = turns.flatMap(({ sequence }) => {
      const { from = NONE, to = NONE } = stepStates(sequence) ?? {};
      return [from, to, sequence.laterSlot ?? NONE].filter((slot) => slot !== NONE);
    });
    kvBlockManager.holds.add(this.kvBlocks);
    kvBlockManager.slots?.holds.add(this.slots);
  }

  /** The step is over. */
  release(): void {
    this.kvBlockManager.endHold(this.kvBlocks);
    this.kvBlockManager.slots?.endHold(this.slots);
  }
}
