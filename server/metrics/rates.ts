/**
 * How fast a server is at present: for `/slots`, and for clients that found the queue full.
 *
 * @module
 */
import type { Engine, EngineStatus, GenerationReport, StepReport } from "../../engine/mod.ts";

/** How far back {@link tokensPerSecond} looks, in seconds. */
const WINDOW_SECONDS = 10;
/** How far back {@link StepRate.bytesPerSecond} looks; the second that runs does not count, as it is not over. */
const READ_SECONDS = 5;
/** The weight of the newest request in the mean time that one takes. */
const NEWEST = 0.1;
/** The longest that a client is asked to stay away, in seconds. */
const LONGEST_WAIT_SECONDS = 60;

/** What the steps of a second were together. */
interface Second {
  readonly at: number;
  steps: number;
  promptTokens: number;
  decodeTokens: number;
}

/** What a model's steps of the last seconds were. Times are `performance.now()`'s. */
export class StepRate {
  /** When the first step was. */
  first?: number;
  /** The seconds in which there were steps. */
  readonly seconds: Second[] = [];

  /** A step is over. */
  step(
    { promptTokens, decodeTokens }: Pick<StepReport, "promptTokens" | "decodeTokens">,
    now = performance.now(),
  ): void {
    const { seconds } = this;
    const at = Math.floor(now / 1000);
    this.first ??= now;
    let last = seconds.at(-1);
    if (last?.at !== at) {
      last = { at, steps: 0, promptTokens: 0, decodeTokens: 0 };
      seconds.push(last);
      while (seconds[0].at <= at - WINDOW_SECONDS) seconds.shift();
    }
    last.steps++;
    last.promptTokens += promptTokens;
    last.decodeTokens += decodeTokens;
  }

  /**
   * The bytes of weights, keys and values that steps read of the device's memory a second: as if all steps of the last
   * seconds had been alike, over the sequences as they are now.
   */
  bytesPerSecond(engine: Pick<Engine, "stepWork" | "slots">, now = performance.now()): number {
    const second = Math.floor(now / 1000);
    const past = this.seconds.filter(({ at }) => at < second && at >= second - READ_SECONDS);
    const sum = (key: "steps" | "promptTokens" | "decodeTokens") =>
      past.reduce((sum, one) => sum + one[key], 0);
    const steps = sum("steps");
    if (steps === 0) return 0;
    const running = engine.slots().filter(({ computedTokens }) => computedTokens > 0);
    const attended = running.reduce((sum, one) => sum + one.computedTokens, 0) /
      Math.max(1, running.length);
    const decoded = sum("decodeTokens") / steps;
    const { bytes } = engine.stepWork({
      tokens: decoded + sum("promptTokens") / steps,
      outputs: decoded,
      sequences: Math.max(decoded, 1),
      attended,
    });
    return bytes * steps / READ_SECONDS;
  }
}

/** Tokens a second that the sequences of all models decoded in the last seconds. */
export function tokensPerSecond(rates: readonly StepRate[], now = performance.now()): number {
  const since = Math.floor(now / 1000) - WINDOW_SECONDS;
  const first = Math.min(now, ...rates.map(({ first = now }) => first));
  let tokens = 0;
  for (const { seconds } of rates) {
    for (const { at, decodeTokens } of seconds) if (at > since) tokens += decodeTokens;
  }
  return tokens / Math.max(1, Math.min(WINDOW_SECONDS - 1, (now - first) / 1000));
}

/** How long requests take once they are admitted. */
export class RunTime {
  private meanMs?: number;

  /** A request has ended. */
  add({ totalMs, queueMs }: Pick<GenerationReport, "totalMs" | "queueMs">): void {
    if (queueMs === undefined) return;
    const took = totalMs - queueMs;
    this.meanMs = this.meanMs === undefined ? took : this.meanMs + NEWEST * (took - this.meanMs);
  }

  /**
   * When a client that found the queue full may come again, in seconds: when half of the waiting requests will have
   * been admitted, judged by how long requests took so far.
   */
  retryAfterSeconds({ running, waiting }: Pick<EngineStatus, "running" | "waiting">): number {
    const admitted = Math.max(1, waiting / 2);
    const seconds = (this.meanMs ?? 0) / 1000 * admitted / Math.max(1, running);
    return Math.min(LONGEST_WAIT_SECONDS, Math.max(1, Math.ceil(seconds)));
  }
}
