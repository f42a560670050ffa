import { MAX_HEAD_BYTES } from "./limits.ts";

/** What {@link Incoming} reads from. */
export interface ByteSource {
  read(into: Uint8Array): Promise<number | null>;
}

const FIRST_BYTES = 2048;
const MAX_BYTES = MAX_HEAD_BYTES;

/**
 * What a client has sent and nobody has taken yet. It is read ahead, so that the client's end is noticed
 * whatever the connection is busy with, but only as far as the buffer goes: a client that sends more
 * waits.
 */
export class Incoming {
  private buffer = new Uint8Array(FIRST_BYTES);
  private start = 0;
  private end = 0;
  private reading = false;
  private discarding = false;
  private waiters: PromiseWithResolvers<boolean>[] = [];
  private error?: unknown;
  /** Whether the client has closed its sending half: nothing comes after what is here. */
  ended = false;

  /**
   * @param onEnd Called when the client has closed its sending half, or all of the connection: they look
   * alike.
   * @param onFailure Called when the connection was reset or closed.
   */
  constructor(
    private readonly source: ByteSource,
    private readonly onEnd: () => void,
    private readonly onFailure: (error: unknown) => void,
  ) {
    this.read();
  }

  /** The bytes that are here, until the next {@link take} or {@link more}. */
  get bytes(): Uint8Array {
    return this.buffer.subarray(this.start, this.end);
  }

  /** How many bytes are here. */
  get length(): number {
    return this.end - this.start;
  }

  /** Takes bytes off the front. */
  take(count: number): void {
    this.start += count;
    this.read();
  }

  /**
   * Waits for more than what is here; false when nothing more comes.
   *
   * @throws What {@link fail} was given, or the connection's own error.
   */
  async more(): Promise<boolean> {
    if (this.error !== undefined) throw this.error;
    if (this.ended) return false;
    const waiter = Promise.withResolvers<boolean>();
    this.waiters.push(waiter);
    return await waiter.promise;
  }

  /** @throws What {@link fail} was given, or the connection's own error, also where something still is here. */
  check(): void {
    if (this.error !== undefined) throw this.error;
  }

  /** Whoever waits for more, now or later, gets this error. */
  fail(error: unknown): void {
    this.error ??= error;
    for (const waiter of this.waiters.splice(0)) waiter.reject(this.error);
  }

  /** From here on whatever comes is thrown away, and {@link more} waits for it without an error. */
  discard(): void {
    this.discarding = true;
    this.error = undefined;
    this.take(this.length);
  }

  /** Reads on while there is room. */
  private read(): void {
    if (this.reading || this.ended || !this.makeRoom()) return;
    this.reading = true;
    this.source.read(this.buffer.subarray(this.end)).then(
      (count) => {
        this.reading = false;
        if (count === null) return this.finish();
        if (!this.discarding) this.end += count;
        this.wake(true);
        this.read();
      },
      (error) => {
        this.reading = false;
        this.ended = true;
        this.fail(error);
        this.onFailure(error);
      },
    );
  }

  /** Makes room behind what is here; false when the buffer is full. Nobody reads into it meanwhile. */
  private makeRoom(): boolean {
    if (this.start === this.end) {
      this.start = this.end = 0;
    } else if (this.start > 0) {
      this.buffer.copyWithin(0, this.start, this.end);
      this.end -= this.start;
      this.start = 0;
    }
    if (this.end < this.buffer.length) return true;
    if (this.buffer.length >= MAX_BYTES) return false;
    const larger = new Uint8Array(this.buffer.length * 2);
    larger.set(this.buffer);
    this.buffer = larger;
    return true;
  }

  private finish(): void {
    this.ended = true;
    this.wake(false);
    this.onEnd();
  }

  private wake(more: boolean): void {
    for (const waiter of this.waiters.splice(0)) waiter.resolve(more);
  }
}
