import { Holds } from "../sequences/holds.ts";

/** Why a state is kept that no sequence goes on from at the moment. */
export interface KeptState {
  /** Whether it is of the midst of a prompt: let go before those that a prompt or an answer ends with. */
  readonly passing: boolean;
  /** Called when it is kept no longer. */
  readonly onForget: () => void;
}

/**
 * The slots that states of sequences are in, with reference counts. A state that more than one goes on from,
 * or that is kept for prompts to come, is read and never written: who goes on writes another slot.
 *
 * States that nobody goes on from are kept until their slots are needed, and are then let go
 * least-recently-used, those of the midst of prompts first.
 */
export class SlotManager {
  /** Slots that steps use which are not over, where a device has several lanes: see {@link StepHolds}. */
  readonly holds: Holds;
  /** Called when a slot was given back: there may be one for whoever waits. */
  onRelease?: () => void;
  private readonly references: Uint32Array;
  /** Slots that hold nothing. */
  private readonly empty: number[];
  private readonly kept = new Map<number, KeptState>();
  /** Slots of kept states that nobody goes on from, least recently used first; those of the midst of prompts. */
  private readonly idle = new Set<number>();
  private readonly idlePassing = new Set<number>();

  /** @param slots How many there are. */
  constructor(readonly slots: number) {
    this.references = new Uint32Array(slots);
    this.holds = new Holds(slots);
    this.empty = Array.from({ length: slots }, (_, i) => slots - 1 - i);
  }

  /** How many slots can be had: empty ones, and those that are kept only in case they are useful. */
  get free(): number {
    return this.empty.length + this.idleSlots;
  }

  /** How many states are kept that nobody goes on from. */
  get idleSlots(): number {
    return this.idle.size + this.idlePassing.size;
  }

  /** A slot of one's own, or undefined where there is none. */
  allocate(): number | undefined {
    let slot = this.empty.pop();
    if (slot === undefined) {
      const oldest = first(this.idlePassing) ?? first(this.idle);
      if (oldest === undefined) return undefined;
      this.forget(oldest);
      slot = this.empty.pop()!;
    }
    this.references[slot] = 1;
    return slot;
  }

  /** A reference more. */
  share(slot: number): void {
    this.references[slot]++;
    this.idle.delete(slot);
    this.idlePassing.delete(slot);
    this.holds.takeBack(slot);
  }

  /** A reference less. */
  release(slot: number): void {
    if (--this.references[slot] === 0 && !this.holds.giveUp(slot)) this.lay(slot);
    this.onRelease?.();
  }

  /** A step is over that slots were held for: those that were given up meanwhile can be had. */
  endHold(slots: readonly number[]): void {
    const free = this.holds.remove(slots);
    for (const slot of free) this.lay(slot);
    if (free.length > 0) this.onRelease?.();
  }

  /** Whether a slot may be written to: one holder, no step that reads it, and nobody may come to share it. */
  isWritable(slot: number): boolean {
    return this.references[slot] === 1 && !this.kept.has(slot) && !this.holds.has(slot);
  }

  /** Makes a slot writable where its one holder would only have to let go of what is kept; whether it is. */
  makeWritable(slot: number): boolean {
    if (this.references[slot] === 1) this.forget(slot);
    return this.isWritable(slot);
  }

  /**
   * Keeps the state in a slot that somebody holds, also when it is given back.
   *
   * @returns Whether it is kept: one of the midst of a prompt is not where those that a prompt or an answer
   * ends with would have to go for it.
   */
  keep(slot: number, state: KeptState): boolean {
    if (this.kept.has(slot)) return false;
    if (state.passing && this.empty.length + this.idlePassing.size === 0) return false;
    this.kept.set(slot, state);
    return true;
  }

  /** A state is not kept any longer, unless somebody goes on from it. */
  letGo(slot: number): void {
    if (this.references[slot] === 0) this.forget(slot);
  }

  private forget(slot: number): void {
    const state = this.kept.get(slot);
    if (state === undefined) return;
    this.kept.delete(slot);
    if (this.idle.delete(slot) || this.idlePassing.delete(slot)) this.empty.push(slot);
    state.onForget();
  }

  /** Puts a slot that nobody holds where it can be had from. */
  private lay(slot: number): void {
    const state = this.kept.get(slot);
    if (state === undefined) this.empty.push(slot);
    else (state.passing ? this.idlePassing : this.idle).add(slot);
  }
}

function first(slots: ReadonlySet<number>): number | undefined {
  for (const slot of slots) return slot;
  return undefined;
}
