import { asM40Error, M40Error, type M40ErrorCode } from "../errors.ts";

/** So many failures within so long, and a model is left alone until the first of them is that old. */
const MOST = 3;
const WINDOW_MS = 60_000;

/** A model that has failed too often to be loaded again at once. */
export class ModelFailing extends M40Error {
  /**
   * @param last What it failed with the last time; its code is this error's.
   * @param retryAfterSeconds When it may be asked for again.
   */
  constructor(name: string, last: M40Error, readonly retryAfterSeconds: number) {
    super(
      last.code,
      `The model "${name}" has failed ${MOST} times within a minute, and is not loaded again for ` +
        `${retryAfterSeconds} s. The last time: ${last.message}`,
      "model",
    );
  }
}

/** How often models failed lately: what fails at once, again and again, is not tried for every request. */
export class Failures {
  private readonly byModel = new Map<string, { times: number[]; last: M40Error }>();
  /** The models that failed since one was loaded. */
  private readonly open = new Set<string>();

  /** @param now Milliseconds, rising. */
  constructor(private readonly now: () => number) {}

  /** A model could not be loaded, or its device was lost. */
  note(name: string, error: unknown): void {
    const times = this.byModel.get(name)?.times ?? [];
    const last = asM40Error(error);
    this.byModel.set(name, { times: [...times, this.now()].slice(-MOST), last });
    this.open.add(name);
  }

  /** A model was loaded: the devices compute, and what was lost before is no news any more. */
  noteLoaded(): void {
    this.open.clear();
  }

  /** Why a model is not to be tried now; undefined where it may be. */
  refusal(name: string): ModelFailing | undefined {
    const failed = this.byModel.get(name);
    if (failed === undefined) return undefined;
    const { times, last } = failed;
    const age = this.now() - times[0];
    if (times.length < MOST || age >= WINDOW_MS) return undefined;
    return new ModelFailing(name, last, Math.ceil((WINDOW_MS - age) / 1000));
  }

  /** The models that are not to be tried now, and why. */
  refusals(): ModelFailing[] {
    return [...this.byModel.keys()].flatMap((name) => this.refusal(name) ?? []);
  }

  /** What the first model failed with that failed in this way since one was loaded. */
  since(code: M40ErrorCode): string | undefined {
    const failed = [...this.open].map((name) => this.byModel.get(name)?.last);
    return failed.find((last) => last?.code === code)?.message;
  }

  /** Allows another try at once: the file was replaced, say. */
  forget(name: string): void {
    this.byModel.delete(name);
  }
}
