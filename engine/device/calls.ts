import type { Symbols } from "./symbols.ts";

/**
 * A context's functions, and the order of those that run off the event loop. One thread at a time may use a context, so
 * a step waits for earlier copies of KV blocks, and later copies wait for the step. Steps of a program of the lane of
 * prompts have an order of their own.
 */
export class Calls {
  /** The last call that runs or waits. */
  private last?: Promise<void>;
  /** How many of them have not begun. */
  private waiting = 0;
  /** Calling this ends the running call early. */
  private hurry?: () => void;

  /** @param postsSteps Whether to begin a step is never to wait for the device. */
  constructor(readonly symbols: Symbols, readonly postsSteps = false) {}

  /** Does the work as soon as all earlier calls are over, also where they failed. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const begin = () => {
      this.waiting--;
      return work();
    };
    this.waiting++;
    const result = this.last === undefined ? begin() : this.last.then(begin);
    if (this.waiting > 0) this.hurry?.();
    const over = () => {
      if (this.last === last) this.last = undefined;
    };
    const last: Promise<void> = result.then(over, over);
    this.last = last;
    return result;
  }

  /**
   * {@link inTurn} for work that ends early where other calls wait.
   *
   * @param hurry Called when another call waits, once or more often, also before `work`.
   */
  inTurnUntilWanted<T>(work: () => Promise<T>, hurry: () => void): Promise<T> {
    return this.inTurn(async () => {
      this.hurry = hurry;
      if (this.waiting > 0) hurry();
      try {
        return await work();
      } finally {
        this.hurry = undefined;
      }
    });
  }
}
