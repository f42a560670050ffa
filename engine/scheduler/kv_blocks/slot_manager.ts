import { References } from "./references.ts";

/** A kept state. */
export interface KeptState {
  /** Whether it is inside a prompt: evicted before those at the end of a prompt or an answer. */
  readonly passing: boolean;
  /** Called when it is kept no longer. */
  readonly onForget: () => void;
}

/**
 * The slots of the states of sequences, with reference counts. A state that several sequences start from, or that is
 * kept for later prompts, is never written: its readers write to other slots.
 *
 * Unreferenced states are kept until their slots are needed. The least recently used one is evicted first, and those
 * inside prompts before all others.
 */
export class SlotManager extends References {
  private readonly kept = new Map<number, KeptState>();
  /** Slots of kept states without references, least recently used first; the second set: those inside prompts. */
  private readonly idle = new Set<number>();
  private readonly idlePassing = new Set<number>();

  /** @param slots How many there are. */
  constructor(readonly slots: number) {
    super(slots);
  }

  /** How many slots can be had: empty ones, and those that are kept only in case they are useful. */
  get free(): number {
    return this.empty.length + this.idleSlots;
  }

  /** How many kept states have no references. */
  get idleSlots(): number {
    return this.idle.size + this.idlePassing.size;
  }

  /** Allocates a slot; undefined where none is free. */
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

  /** Whether a slot may be written to: it has one reference, no step reads it, and its state is not kept. */
  isWritable(slot: number): boolean {
    return this.references[slot] === 1 && !this.kept.has(slot) && this.users[slot] === 0;
  }

  /** Makes a slot writable where its one holder would only have to let go of what is kept; whether it is. */
  makeWritable(slot: number): boolean {
    if (this.references[slot] === 1) this.forget(slot);
    return this.isWritable(slot);
  }

  /**
   * Keeps the state in a referenced slot, also after its release.
   *
   * @returns Whether it is kept. One inside a prompt is not, where it would evict one at the end of a prompt or an
   * answer.
   */
  keep(slot: number, state: KeptState): boolean {
    if (this.kept.has(slot)) return false;
    if (state.passing && this.empty.length + this.idlePassing.size === 0) return false;
    this.kept.set(slot, state);
    return true;
  }

  /** Evicts a state, unless it is referenced. */
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

  protected override use(slot: number): void {
    this.idle.delete(slot);
    this.idlePassing.delete(slot);
  }

  protected override lay(slot: number): void {
    const state = this.kept.get(slot);
    if (state === undefined) this.empty.push(slot);
    else (state.passing ? this.idlePassing : this.idle).add(slot);
  }
}

function first(slots: ReadonlySet<number>): number | undefined {
  for (const slot of slots) return slot;
  return undefined;
}
