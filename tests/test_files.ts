/**
 * Runs files of tests, each in a process of its own.
 *
 * @module
 */
import { AssertionError } from "@std/assert";
import { type Result, runFile } from "./suite.ts";

/** A test of processes: what they hold open is theirs. */
const OPTIONS = { sanitizeOps: false, sanitizeResources: false };

/** The emulation's environment where it runs threads from the last to the first. */
export const REVERSE: Readonly<Record<string, string>> = {
  M40_EMULATION_ORDER: "reverse",
  // Few of them make products of one token give a lane more rows, and more tokens share a thread block.
  M40_EMULATION_MULTIPROCESSORS: "1",
  M40_GOLDEN_CACHES: "other",
};

/** Runs files of tests, a few at a time, in the order in which they are asked for. */
export class TestFiles {
  readonly #waiting: (() => Promise<void>)[] = [];
  #running = 0;

  /**
   * @param environment Of the processes: the kernel library, say. Awaited before the first one starts.
   * @param jobs Processes at the same time.
   */
  constructor(
    private readonly environment: Promise<Record<string, string>>,
    private readonly jobs: number,
  ) {}

  /** Makes a file of tests one test, whose steps are the file's. */
  test(title: string, file: string, extra: Record<string, string> = {}): void {
    const results = this.#schedule(file, extra);
    Deno.test(`${title}: ${file}`, OPTIONS, async (t) => {
      for (const { name, failure } of await results) {
        await t.step(name, () => {
          if (failure !== undefined) throw new AssertionError(failure);
        });
      }
    });
  }

  #schedule(file: string, extra: Record<string, string>): Promise<Result[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Result[]>();
    this.#waiting.push(async () => {
      try {
        resolve(await runFile(file, { ...await this.environment, ...extra }));
      } catch (error) {
        reject(error);
      }
    });
    this.#next();
    // A failure is reported by the test that waits for it.
    promise.catch(() => {});
    return promise;
  }

  #next(): void {
    while (this.#running < this.jobs && this.#waiting.length > 0) {
      this.#running++;
      this.#waiting.shift()!().finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }
}
