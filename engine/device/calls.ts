import type { Symbols } from "./symbols.ts";

/**
 * A context's functions, and the order of those that run off the event loop: a context is used from one
 * thread at a time, so a step waits for page copies that were asked for before it, and they for it. Steps of a program of
 * the lane of prompts have an order of their own.
 */
export class Calls {
  /** The last of those that go on or wait. */
  private last?: Promise<void>;

  constructor(readonly symbols: Symbols) {}

  /** Does the work as soon as what was asked for before is over, however that ended. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.last === undefined ? work() : this.last.then(work);
    const over = () => {
      if (this.last === last) this.last = undefined;
    };
    const last: Promise<void> = result.then(over, over);
    this.last = last;
    return result;
  }
}
