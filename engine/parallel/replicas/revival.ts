import { asM40Error, type M40Error } from "../../errors.ts";
import { ABANDON_MS, closeWithin, Failures } from "../../manager/mod.ts";
import { within } from "../../within.ts";

/** How long it is waited between two attempts that nothing else delays, in milliseconds. */
const PAUSE_MS = 1000;

/** What was lost, and how it comes back. */
export interface Lost<T> {
  readonly name: string;
  readonly error: M40Error;
  /** What is left of it. */
  readonly remains: { close(): Promise<void> };
  /** Loads it again; fails soon where that is no longer wanted. */
  readonly load: (signal: AbortSignal) => Promise<T>;
  /** It is ready again. */
  readonly onReady: (loaded: T) => void;
  /** An attempt begins, or has failed. */
  readonly onAttempt: (failed?: M40Error) => void;
}

/**
 * Loads lost replicas again, in the background: at once, then repeatedly until it succeeds, with the pauses that
 * {@link Failures} demand.
 */
export class Revival<T extends { close(): Promise<void> }> {
  private readonly failures: Failures;
  private readonly waits: (milliseconds: number) => Promise<void>;
  private readonly running = new Set<Promise<void>>();
  private readonly ended = Promise.withResolvers<void>();
  private readonly ending = new AbortController();

  /**
   * @param onError Receives the error of a close that fails.
   * @param now Milliseconds, rising.
   * @param waits Resolves after so many milliseconds; default: by a timer.
   */
  constructor(
    private readonly onError: (error: unknown) => void,
    now: () => number = () => performance.now(),
    waits?: (milliseconds: number) => Promise<void>,
  ) {
    this.failures = new Failures(now);
    // It waits so long, or until all is to end.
    this.waits = waits ?? ((milliseconds) => within(milliseconds, this.ended.promise));
  }

  /** Something is lost. */
  begin(lost: Lost<T>): void {
    const run = this.run(lost).finally(() => this.running.delete(run));
    this.running.add(run);
  }

  /** No attempt is made any more; resolves when none is under way. */
  async close(): Promise<void> {
    this.ending.abort();
    this.ended.resolve();
    await Promise.all(this.running);
  }

  private async run({ name, error, remains, load, onReady, onAttempt }: Lost<T>): Promise<void> {
    this.failures.note(name, error);
    try {
      await closeWithin(ABANDON_MS, `what is left of ${name}`, remains);
    } catch (error) {
      this.onError(error);
    }
    const { signal } = this.ending;
    while (!signal.aborted) {
      const refusal = this.failures.refusal(name);
      if (refusal !== undefined) {
        await this.waits(1000 * refusal.retryAfterSeconds);
        continue;
      }
      onAttempt();
      try {
        const loaded = await load(signal);
        if (signal.aborted) await loaded.close();
        else onReady(loaded);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.failures.note(name, error);
        onAttempt(asM40Error(error));
      }
      await this.waits(PAUSE_MS);
    }
  }
}
