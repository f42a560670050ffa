import type { Cache } from "./device/context.ts";
import type { StepSequence } from "./device/step_block.ts";
import type { StepResult } from "./device/step_result.ts";
import { Lockstep, type LockstepCard } from "./lockstep.ts";
import type { ProfiledDevice } from "./scheduled_device.ts";

type Indices = Uint32Array<ArrayBuffer>;
type Bytes = Uint8Array<ArrayBuffer>;

/** A card with some rows of a program's products, and with all that its sequences keep. */
export interface RowCard extends LockstepCard {
  readonly cache: Cache;
}

/**
 * A device of several cards that compute each step together, some rows of the large products each. All of them are asked for
 * the same, in the same order, and what a step gives is the same on all: the first one's is taken.
 */
export class RowSplitDevice implements ProfiledDevice {
  private readonly cards: Lockstep<RowCard>;

  /** @param origins Of each operation of the cards' programs, the whole program's that it is a part of. */
  constructor(cards: readonly RowCard[], private readonly origins: readonly number[]) {
    this.cards = new Lockstep(cards);
  }

  async step(sequences: readonly StepSequence[]): Promise<StepResult> {
    const [first] = await this.cards.step(({ program }) => program.step(sequences));
    return first;
  }

  /** The times of the whole program's operations on the first card, see {@link DeviceProgram.profile}: exchanges included. */
  async profile(sequences: readonly StepSequence[]): Promise<Float32Array> {
    const [times] = await this.cards.step(({ program }) => program.profile(sequences));
    const sums = new Float32Array(Math.max(...this.origins) + 1).fill(-1);
    for (const [i, origin] of this.origins.entries()) {
      if (times[i] >= 0) sums[origin] = Math.max(sums[origin], 0) + times[i];
    }
    return sums;
  }

  copyPages(from: Indices, to: Indices): Promise<void> {
    return this.cards.onAll(({ cache }) => cache.copyPages(from, to));
  }

  savePages(pages: Indices, memory: Bytes): Promise<void> {
    return this.cards.onFirst(({ cache }) => cache.savePages(pages, memory));
  }

  restorePages(pages: Indices, memory: Bytes): Promise<void> {
    return this.cards.onAll(({ cache }) => cache.restorePages(pages, memory));
  }

  saveSlots(slots: Indices, memory: Bytes): Promise<void> {
    return this.cards.onFirst(({ cache }) => cache.saveSlots(slots, memory));
  }

  restoreSlots(slots: Indices, memory: Bytes): Promise<void> {
    return this.cards.onAll(({ cache }) => cache.restoreSlots(slots, memory));
  }
}
