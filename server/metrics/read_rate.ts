import type { Engine, StepReport } from "../../engine/mod.ts";

/** How far back it is looked, in seconds; the one that runs does not count, as it is not over. */
const WINDOW_SECONDS = 5;

/** What the steps of a second were together. */
interface Second {
  readonly at: number;
  steps: number;
  promptTokens: number;
  decodeTokens: number;
}

/** The bytes of weights, keys and values that a model's steps read of the device's memory a second. */
export class ReadRate {
  private seconds: Second[] = [];

  /** @param now Milliseconds, rising. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  step({ promptTokens, decodeTokens }: Pick<StepReport, "promptTokens" | "decodeTokens">): void {
    const at = Math.floor(this.now() / 1000);
    let last = this.seconds.at(-1);
    if (last?.at !== at) {
      last = { at, steps: 0, promptTokens: 0, decodeTokens: 0 };
      this.seconds = [...this.seconds.filter((one) => one.at >= at - WINDOW_SECONDS), last];
    }
    last.steps++;
    last.promptTokens += promptTokens;
    last.decodeTokens += decodeTokens;
  }

  /** As if all steps of the last seconds had been alike, over the sequences as they are now. */
  bytesPerSecond(engine: Pick<Engine, "stepWork" | "slots">): number {
    const second = Math.floor(this.now() / 1000);
    const past = this.seconds.filter(({ at }) => at < second && at >= second - WINDOW_SECONDS);
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
    return bytes * steps / WINDOW_SECONDS;
  }
}
