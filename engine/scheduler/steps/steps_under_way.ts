import type { StepResult } from "../../device/mod.ts";
import type { SchedulerCounts } from "../report.ts";
import type { SchedulerOptions } from "../scheduler_options.ts";
import type { ChunkBudget } from "./chunk_budget.ts";
import type { StepHolds } from "./step_holds.ts";
import type { Turn } from "../sequences/sequence.ts";

/** How much longer a step is expected to take than one that was quicker, after each that was not. */
const LONGER_SHARE = 0.02;

/** A step that the device was given and has not answered, or a run of several. */
export interface StepUnderWay {
  readonly turns: readonly Turn[];
  /** Tokens of prompts, and those of sequences that sample in each step. */
  readonly promptTokens: number;
  readonly decodeTokens: number;
  /** How many all are, below 0 where there are some of prompts. */
  readonly rows: number;
  /** Whether it is the first step of a run. */
  readonly inRun: boolean;
  /** When it was given; later, when the last of its steps that were reported came. */
  reported: number;
  /** How long after the result of the step before it was given, where no other was under way. */
  gapMilliseconds?: number;
  /** The rows of each of its steps that came and were not reported yet. */
  unreported: number[];
  /** When its result is expected; Infinity where that is unknown. Of a run: that of its first step. */
  readonly expectedEnd: number;
  /** Whether there were prompts in another one meanwhile. */
  overlapsPrompts: boolean;
  /** Absent while the device is not asked for it. */
  result?: Promise<StepResult>;
  /**
   * Resolve when the results of earlier parts of the same prompts have been processed. Sequences that wait
   * for them may have been held up.
   */
  readonly before: readonly Promise<void>[];
  /** Resolves when its own has been, or it came to nothing. */
  readonly taken: PromiseWithResolvers<void>;
  /** What stays reserved until it ends, where the device has lanes. */
  readonly holds?: StepHolds;
}

/** The steps that the device has been given and has not answered, and what is learnt from how long they take. */
export class StepsUnderWay {
  readonly steps = new Set<StepUnderWay>();
  /** When the last result came; undefined where there was nothing to do after it. */
  lastResult?: number;
  /**
   * How long steps take at least, in milliseconds, from the last ones with as many rows: by the rows of a step, those
   * with prompts below 0. A longer step says little: other work on the thread may have delayed its result until the
   * expected time, and would do so again.
   */
  private readonly times = new Map<number, number>();

  constructor(
    private readonly options: Pick<
      SchedulerOptions,
      "rowTimes" | "disk" | "onChange" | "onStep" | "onListenerError"
    >,
    private readonly counts: SchedulerCounts,
    private readonly chunks: ChunkBudget,
    private readonly now: () => number,
  ) {}

  /** A step is given to the device, whose result is yet to be asked for. */
  give(turns: readonly Turn[], inRun: boolean, holds?: StepHolds): StepUnderWay {
    let promptTokens = 0;
    let decodeTokens = 0;
    for (const { tokens, samplesNext } of turns) {
      if (samplesNext) decodeTokens += tokens.length;
      else promptTokens += tokens.length;
    }
    const before: Promise<void>[] = [];
    let overlapsPrompts = false;
    for (const other of this.steps) {
      if (other.promptTokens > 0) overlapsPrompts = true;
      if (promptTokens > 0) other.overlapsPrompts = true;
      const sequences = new Set(other.turns.map(({ sequence }) => sequence));
      if (turns.some(({ sequence }) => sequences.has(sequence))) before.push(other.taken.promise);
    }
    const now = this.now();
    const follows = this.steps.size === 0 && this.lastResult !== undefined;
    const rows = promptTokens === 0 ? decodeTokens : -promptTokens - decodeTokens;
    const step: StepUnderWay = {
      ...{ turns, promptTokens, decodeTokens, rows, inRun, holds, overlapsPrompts },
      reported: now,
      gapMilliseconds: follows ? now - this.lastResult! : undefined,
      unreported: [],
      expectedEnd: now + (this.times.get(rows) ?? Infinity),
      before,
      taken: Promise.withResolvers<void>(),
    };
    this.steps.add(step);
    return step;
  }

  /** There is nothing to do, so that what comes next follows no step; unless one is under way. */
  pause(): void {
    if (this.steps.size === 0) this.lastResult = undefined;
  }

  /**
   * Learns from those of a step's or run's steps that have come by now, and reports them. The device does not wait
   * between two steps of a run.
   */
  report(step: StepUnderWay, now: number): void {
    const { unreported, promptTokens, inRun, rows } = step;
    if (unreported.length === 0) return;
    const milliseconds = (now - step.reported) / unreported.length;
    step.unreported = [];
    step.reported = now;
    let { overlapsPrompts } = step;
    if (inRun) {
      overlapsPrompts = false;
      for (const other of this.steps) if (other.promptTokens > 0) overlapsPrompts = true;
    }
    for (const decodeTokens of unreported) {
      const { gapMilliseconds } = step;
      const figures = { promptTokens, decodeTokens, milliseconds, gapMilliseconds };
      const report = inRun ? { ...figures, inRun } : figures;
      step.gapMilliseconds = 0;
      this.counts.steps++;
      if (inRun) this.counts.runSteps++;
      else {
        const before = this.times.get(rows) ?? Infinity;
        this.times.set(rows, Math.min(milliseconds, before * (1 + LONGER_SHARE)));
      }
      // A step that waited for another's prompts says nothing of what its rows take.
      if (promptTokens > 0 || !overlapsPrompts) this.chunks.observe(report);
      if (promptTokens === 0 && !overlapsPrompts) {
        this.options.rowTimes?.observe(decodeTokens, milliseconds);
      }
      this.options.disk?.observe(report);
      this.options.onChange?.();
      try {
        this.options.onStep?.(report);
      } catch (error) {
        this.options.onListenerError?.(error);
      }
    }
  }
}
