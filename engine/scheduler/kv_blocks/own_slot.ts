import { NONE, type StepSequence } from "../../device/mod.ts";
import type { SlotManager } from "./slot_manager.ts";

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
    this.slots.release(this.slot);
  }
}
