import type { Cache, DeviceRun, StepResult, StepSequence } from "../device/mod.ts";
import type { Kept, SchedulerDevice } from "../scheduler/mod.ts";
import type { ExchangeMemory } from "./exchange_memory.ts";
import { Lockstep, type LockstepCard } from "./lockstep.ts";
import { type Bytes, type Indices, KvBlockParts } from "./kv_block_parts.ts";
import type { ProfiledDevice } from "./scheduled_device.ts";

type RunArguments = Parameters<NonNullable<SchedulerDevice["run"]>>;

/** A card with some rows of a program's products, and with its part of what sequences keep. */
export interface RowCard extends LockstepCard {
  readonly cache: Cache;
  /** Bytes of a KV block and of a slot in host memory. */
  readonly kvBlockBytes: number;
  readonly slotBytes: number;
}

/**
 * A device of several cards that compute each step together, some rows of the large products each. All of them are asked for
 * the same, in the same order, and what a step gives is the same on all: the first one's is taken.
 */
export class RowSplitDevice implements ProfiledDevice {
  private readonly together: Lockstep<RowCard>;
  private readonly parts: Readonly<Record<Kept, KvBlockParts>>;
  /** Where the cards' programs have runs: see {@link DeviceProgram.run}. */
  readonly run?: SchedulerDevice["run"];

  /**
   * @param origins Of each operation of the cards' programs, the whole program's that it is a part of.
   * @param memory What they exchange rows through.
   */
  constructor(
    private readonly cards: readonly RowCard[],
    private readonly origins: readonly number[],
    memory: ExchangeMemory,
  ) {
    this.together = new Lockstep(cards, memory);
    this.parts = {
      kvBlocks: new KvBlockParts(cards.map(({ kvBlockBytes }) => kvBlockBytes)),
      slots: new KvBlockParts(cards.map(({ slotBytes }) => slotBytes)),
    };
    if (cards.every(({ program }) => program.hasRuns)) {
      this.run = (...asked) => this.runTogether(...asked);
    }
  }

  /** Its cards let go of each other's memory, so that each can be closed. Nothing is computed there. */
  close(): Promise<void> {
    return this.together.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async step(sequences: readonly StepSequence[]): Promise<StepResult> {
    const [first] = await this.together.step(({ program }) => program.step(sequences));
    return first;
  }

  /** A run on all cards. The first one decides how many steps it has, so a stop goes to it. */
  private runTogether(...[sequences, steps, limits, take]: RunArguments): DeviceRun {
    const [first] = this.cards;
    let stops = false;
    let run: DeviceRun | undefined;
    const over = this.together.step(({ program }) => {
      if (program !== first.program) return program.run(sequences, steps, limits, () => {}).over;
      run = program.run(sequences, steps, limits, take);
      if (stops) run.stop();
      return run.over;
    }, steps);
    return {
      over: over.then(() => {}),
      stop() {
        stops = true;
        run?.stop();
      },
    };
  }

  /** The times of the whole program's operations on the first card, see {@link DeviceProgram.profile}: exchanges included. */
  async profile(sequences: readonly StepSequence[]): Promise<Float32Array> {
    const [times] = await this.together.step(({ program }) => program.profile(sequences));
    const sums = new Float32Array(Math.max(...this.origins) + 1).fill(-1);
    for (const [i, origin] of this.origins.entries()) {
      if (times[i] >= 0) sums[origin] = Math.max(sums[origin], 0) + times[i];
    }
    return sums;
  }

  copyKvBlocks(from: Indices, to: Indices): Promise<void> {
    return this.together.onAll(({ cache }) => cache.copyKvBlocks(from, to));
  }

  save(kept: Kept, which: Indices, memory: Bytes): Promise<void> {
    return this.move("save", kept, which, memory);
  }

  restore(kept: Kept, which: Indices, memory: Bytes): Promise<void> {
    return this.move("restore", kept, which, memory);
  }

  /** Moves each KV block or slot between each card and its part of the host's memory. */
  private async move(
    move: "save" | "restore",
    kept: Kept,
    which: Indices,
    memory: Bytes,
  ): Promise<void> {
    const parts = this.parts[kept];
    parts.check(which.length, memory);
    await this.together.onAll(async (card) => {
      const number = this.cards.indexOf(card);
      const copies = Array.from(
        which,
        (one, i) => card.cache[move](kept, Uint32Array.of(one), parts.of(number, i, memory)),
      );
      // Memory is free again when all have been made, whether or not one fails.
      await Promise.allSettled(copies);
      await Promise.all(copies);
    });
  }
}
