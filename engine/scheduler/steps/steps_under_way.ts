import type { StepResult } from "../../device/mod.ts";
import { ExpectedTimes } from "./expected_times.ts";
import type { StepHolds } from "./step_holds.ts";
import type { Turn } from "./turn.ts";

/** A step that the device was given and has not answered. */
export interface StepUnderWay {
  readonly turns: readonly Turn[];
  /** When it was given, and how long after the result of the one before, where no other was under way. */
  readonly start: number;
  readonly gapMilliseconds?: number;
  /** When its result is expected; Infinity where that is unknown. Of a run: that of its first step. */
  readonly expectedEnd: number;
  /** Whether some of it are prompts, and whether there were prompts in another one meanwhile. */
  readonly hasPrompts: boolean;
  overlapsPrompts: boolean;
  readonly result: Promise<StepResult>;
  /**
   * Resolves when the results of earlier parts of the same prompts have been processed. Sequences that wait
   * for them may have been held up.
   */
  readonly before: Promise<unknown>;
  /** Resolves when its own has been, or it came to nothing. */
  readonly taken: PromiseWithResolvers<void>;
  /** What stays reserved until it ends, where the device has lanes. */
  readonly holds?: StepHolds;
}

/** The steps that the device has been given and has not answered. */
export class StepsUnderWay {
  private readonly steps = new Set<StepUnderWay>();
  private readonly times = new ExpectedTimes();
  /** When the last result came, where steps have followed each other since. */
  private lastEnd?: number;

  constructor(private readonly now: () => number) {}

  get size(): number {
    return this.steps.size;
  }

  /** Whether one of them has prompts. */
  get hasPrompts(): boolean {
    return [...this.steps].some(({ hasPrompts }) => hasPrompts);
  }

  /** When the last result came; undefined where there was nothing to do after it. */
  get lastResult(): number | undefined {
    return this.lastEnd;
  }

  /** Gives the device a step; whatever is wrong with it, its result says. */
  give(turns: readonly Turn[], ask: () => Promise<StepResult>, holds?: StepHolds): StepUnderWay {
    const others = [...this.steps];
    const start = this.now();
    const gapMilliseconds = others.length > 0 ? undefined : this.lastEnd && start - this.lastEnd;
    const hasPrompts = turns.some(({ samplesNext }) => !samplesNext);
    const result = (async () => await ask())();
    // It is waited for later.
    result.catch(() => {});
    const overlapsPrompts = others.some((other) => other.hasPrompts);
    const expectedEnd = start + this.times.of(turns);
    const shares = (other: StepUnderWay) =>
      other.turns.some(({ sequence }) => turns.some((turn) => turn.sequence === sequence));
    const before = Promise.all(others.filter(shares).map(({ taken }) => taken.promise));
    const step: StepUnderWay = {
      ...{
        turns,
        start,
        expectedEnd,
        gapMilliseconds,
        hasPrompts,
        overlapsPrompts,
        result,
        before,
      },
      taken: Promise.withResolvers<void>(),
      holds,
    };
    if (hasPrompts) { for (const other of others) other.overlapsPrompts = true; }
    this.steps.add(step);
    return step;
  }

  /** When the results of the steps under way are expected. */
  expectedEnds(): number[] {
    return Array.from(this.steps, ({ expectedEnd }) => expectedEnd);
  }

  /** A step is under way no more, whatever became of it. */
  remove(step: StepUnderWay): void {
    this.steps.delete(step);
  }

  /** A result has arrived. Returns the time. */
  noteResult(): number {
    return this.lastEnd = this.now();
  }

  /** A step of these turns took so long. */
  observe(turns: readonly Turn[], milliseconds: number): void {
    this.times.observe(turns, milliseconds);
  }

  /** There is nothing to do, so that what comes next follows no step; unless one is under way. */
  pause(): void {
    if (this.steps.size === 0) this.lastEnd = undefined;
  }
}
