/** Less than this in the time of a stall is as good as nothing, in bytes. */
const LEAST_BYTES = 4096;

/** Gives a connection up on which nothing, or next to nothing, arrives. */
export class StallWatch implements Disposable {
  readonly #controller = new AbortController();
  #since = performance.now();
  #bytes = 0;
  #timer: number | undefined;
  /** When the reader stopped reading, which is not the server's fault. */
  #pausedAt: number | undefined;

  /** Whether it was given up for that. */
  stalled = false;

  /** Aborted when it is given up, or is over. */
  readonly signal: AbortSignal;

  /** @param outer Gives it up as well. */
  constructor(private readonly stallMs: number, outer: AbortSignal) {
    this.signal = AbortSignal.any([outer, this.#controller.signal]);
    this.#wait(stallMs);
  }

  /** Something arrived that shows the server to be there. */
  alive(): void {
    this.#since = performance.now();
    this.#bytes = 0;
  }

  /** Bytes of the body arrived. */
  arrived(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes >= LEAST_BYTES) this.alive();
  }

  /** The reader pauses. */
  pause(): void {
    this.#pausedAt ??= performance.now();
  }

  /** The reader goes on. */
  resume(): void {
    if (this.#pausedAt !== undefined) this.#since += performance.now() - this.#pausedAt;
    this.#pausedAt = undefined;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    // Whatever is still on its way is not wanted any more.
    this.#controller.abort();
  }

  #wait(ms: number): void {
    const due = performance.now() + ms;
    this.#timer = setTimeout(() => {
      // A timer that is late shows that this process stood still: what came meanwhile is still to be read.
      if (performance.now() - due > this.stallMs / 10) this.alive();
      const left = this.#since + this.stallMs - (this.#pausedAt ?? performance.now());
      if (left > 0 || this.#pausedAt !== undefined) return this.#wait(Math.max(left, 10));
      this.stalled = true;
      this.#controller.abort();
    }, ms);
  }
}
