import type { RunLimits } from "../../device/mod.ts";
import type { HostKvBlocks } from "./host_kv_blocks.ts";
import type { KvBlockManager } from "./kv_block_manager.ts";
import type { KvBlockMoves } from "./kv_block_moves.ts";
import type { Sequence } from "../sequences/sequence.ts";
import type { SlotManager } from "./slot_manager.ts";

/**
 * The states of the sequences of a {@link Roster}, of models that have them next to K and V.
 *
 * A state covers exactly a sequence's computed tokens; it cannot be cut as KV blocks can. A step reads it from one
 * slot and writes it to the same. It writes to another slot where the old state is still needed: others start from
 * it, the prefix cache keeps it, or drafts may be wrong.
 */
export class States {
  /** @param host Where preempted sequences keep their states; without it they are recomputed. */
  constructor(
    private readonly kvBlockManager: KvBlockManager,
    private readonly slots: SlotManager,
    private readonly moves: KvBlockMoves,
    private readonly host?: HostKvBlocks,
  ) {}

  /** Whether a slot is free for another sequence. */
  get hasRoom(): boolean {
    return this.slots.free > 0;
  }

  /** Whether steps still use released slots, which become free when these steps end. */
  get comes(): boolean {
    return this.slots.comingFree > 0;
  }

  /**
   * How many tokens of a sequence a step computes, of so many at most. One step ends at the last KV block border of
   * the prompt, where the state is kept for the prefix cache. Where followers wait, one ends before the last token of
   * the prompt.
   */
  cut(sequence: Sequence, most: number): number {
    const { computed, prompt, leads } = sequence;
    const ends = [this.lastBorder(sequence), ...(leads ? [prompt.length - 1] : [])];
    const next = ends.find((end) => computed < end);
    return next === undefined ? most : Math.min(most, next - computed);
  }

  /** A sequence goes on from the state in a slot, where there is one. */
  takeOver(sequence: Sequence, slot: number | undefined): void {
    sequence.slot = slot;
    if (slot !== undefined) this.slots.share([slot]);
  }

  /**
   * Ensures that the next step has a slot for a sequence's state. Returns whether it has.
   *
   * @param apart Whether the state before the step must stay as it is.
   */
  reserve(sequence: Sequence, apart = false): boolean {
    const { slot, nextSlot } = sequence;
    if (nextSlot !== undefined) return true;
    if (!apart && slot !== undefined && this.slots.isWritable(slot)) return true;
    sequence.nextSlot = this.slots.allocate();
    if (sequence.nextSlot !== undefined) return true;
    if (apart) return false;
    // Drops a kept state rather than preempt a sequence.
    if (sequence.startSlot !== undefined) {
      this.dropStart(sequence);
      return this.reserve(sequence);
    }
    return slot !== undefined && this.slots.makeWritable(slot);
  }

  /**
   * How many steps a run can have, one token each, of so many that a sequence would take part in. They end at the KV
   * block border where its state would have to be kept a second time. A second slot takes the run past the first
   * border; where none is free, it ends there.
   */
  reserveRun(sequence: Sequence, steps: number): number {
    const toBorder = this.stepsToBorder(sequence);
    if (steps <= toBorder) return steps;
    sequence.laterSlot ??= this.slots.allocate();
    if (sequence.laterSlot === undefined) return toBorder;
    return Math.min(steps, toBorder + this.kvBlockManager.kvBlockTokens);
  }

  /** Where a run that is about to begin writes a sequence's state behind the next KV block border, if it is to go on there. */
  laterOf(sequence: Sequence): RunLimits["later"] {
    const { laterSlot } = sequence;
    if (laterSlot === undefined) return undefined;
    return { slot: laterSlot, from: this.stepsToBorder(sequence) };
  }

  /** There are no more steps of a run: the slot is given back that it would have gone on in. */
  endRun(sequence: Sequence): void {
    const { laterSlot } = sequence;
    sequence.laterSlot = undefined;
    if (laterSlot !== undefined) this.slots.release([laterSlot]);
  }

  /** Tokens from those that are computed to the next KV block border, at least one. */
  private stepsToBorder({ computed }: Sequence): number {
    const { kvBlockTokens } = this.kvBlockManager;
    return kvBlockTokens - computed % kvBlockTokens;
  }

  /** A step has computed a sequence up to `computed`, and written its state. */
  advance(sequence: Sequence): void {
    const { slot, nextSlot } = sequence;
    if (nextSlot !== undefined) {
      sequence.slot = nextSlot;
      sequence.nextSlot = undefined;
      if (slot !== undefined) this.slots.release([slot]);
    }
    this.keep(sequence);
    if (
      sequence.laterSlot !== undefined &&
      sequence.computed % this.kvBlockManager.kvBlockTokens === 0
    ) {
      // A run writes there from here on.
      sequence.nextSlot = sequence.laterSlot;
      sequence.laterSlot = undefined;
    }
    if (sequence.leads && sequence.computed === sequence.prompt.length - 1) {
      sequence.startSlot = sequence.slot!;
      this.slots.share([sequence.startSlot]);
    }
  }

  /** Releases the state before the last token of a prompt, which no follower waits for any more. */
  dropStart(sequence: Sequence): void {
    const { startSlot } = sequence;
    sequence.startSlot = undefined;
    if (startSlot !== undefined) this.slots.release([startSlot]);
  }

  /** A step has computed drafts that were wrong: the state is that before it, and its tokens come again. */
  retreat(sequence: Sequence): void {
    sequence.uncomputed = sequence.left - 1;
  }

  /** A sequence needs no state any more. */
  release(sequence: Sequence): void {
    this.dropStart(sequence);
    this.endRun(sequence);
    const { slot, nextSlot } = sequence;
    sequence.slot = sequence.nextSlot = undefined;
    if (slot !== undefined) this.slots.release([slot]);
    if (nextSlot !== undefined) this.slots.release([nextSlot]);
  }

  /** A sequence's state goes to host memory; whether there was room for it. */
  save(sequence: Sequence): boolean {
    const { slot } = sequence;
    if (slot === undefined) return false;
    sequence.savedState = this.host?.allocate(1);
    if (sequence.savedState === undefined) return false;
    this.moves.save(sequence, [slot], this.host!.bytesOf(sequence.savedState), "slots");
    return true;
  }

  /** It comes back; there is a slot for it. */
  bringBack(sequence: Sequence): void {
    sequence.slot = this.slots.allocate()!;
    this.moves.restore(
      sequence,
      [sequence.slot],
      this.host!.bytesOf(sequence.savedState!),
      "slots",
    );
    this.dropSaved(sequence);
  }

  /** Nothing comes of a sequence any more: the last state that was kept of its answer stays. */
  finish({ answered }: Sequence): void {
    if (answered?.slot !== undefined) this.kvBlockManager.onKeepState?.(answered);
  }

  /** A state in host memory is of no use any more. */
  dropSaved(sequence: Sequence): void {
    if (sequence.savedState) this.host!.release(sequence.savedState);
    sequence.savedState = undefined;
  }

  /** The last KV block border before the last token of a sequence's prompt, which is always computed. */
  private lastBorder({ prompt }: Sequence): number {
    const last = prompt.length - 1;
    return last - last % this.kvBlockManager.kvBlockTokens;
  }

  /**
   * Keeps a state at a KV block border: at the end of a prompt, between its chunks where there is room, and the
   * newest of an answer, because a conversation continues there.
   */
  private keep(sequence: Sequence): void {
    const { computed, prefixes, prompt } = sequence;
    if (computed % this.kvBlockManager.kvBlockTokens !== 0) return;
    const prefix = prefixes[computed / this.kvBlockManager.kvBlockTokens - 1];
    if (prefix === undefined) return;
    const passing = computed < this.lastBorder(sequence);
    if (!this.kvBlockManager.keepState(prefix, sequence.slot!, passing)) return;
    if (computed < prompt.length) {
      if (!passing) this.kvBlockManager.onKeepState?.(prefix);
      return;
    }
    if (sequence.answered?.slot !== undefined) this.slots.letGo(sequence.answered.slot);
    sequence.answered = prefix;
  }
}
