import { setImmediate } from "node:timers";

/** How long work may go on before others have their turn, in milliseconds. */
const SLICE_MS = 8;

/** Gives the event loop back now and then within work that is done in small pieces. */
export class Turns {
  private since = performance.now();

  /** To be awaited between two pieces: others have their turn where it is time for that. */
  async next(): Promise<void> {
    if (performance.now() - this.since < SLICE_MS) return;
    await othersTurn();
    this.since = performance.now();
  }
}

/** Resolves when all others that wait for the event loop have had their turn. */
export function othersTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
