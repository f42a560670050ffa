import type { ChunkBudget } from "./chunk_budget.ts";
import type { SchedulerCounts, StepReport } from "../report.ts";
import type { SchedulerOptions } from "../scheduler_options.ts";
import type { StepUnderWay } from "./steps_under_way.ts";

/** Reports steps that have ended to what learns from them or observes them. */
export class StepReports {
  constructor(
    private readonly options: SchedulerOptions,
    private readonly counts: SchedulerCounts,
    private readonly chunks: ChunkBudget,
  ) {}

  /** @param milliseconds What the step took. */
  report({ turns, gapMilliseconds, overlapsPrompts }: StepUnderWay, milliseconds: number): void {
    let tokens = 0;
    let decodeTokens = 0;
    for (const { count, guesses, samplesNext } of turns) {
      tokens += count + guesses.length;
      if (samplesNext) decodeTokens += count + guesses.length;
    }
    const promptTokens = tokens - decodeTokens;
    this.take({ promptTokens, decodeTokens, milliseconds, gapMilliseconds }, overlapsPrompts);
  }

  /** The same, of a given report. */
  take(report: StepReport, overlapsPrompts: boolean): void {
    const { decodeTokens, milliseconds } = report;
    this.counts.steps++;
    // A step that waited for another's prompts says nothing of what its rows take.
    if (report.promptTokens > 0 || !overlapsPrompts) this.chunks.observe(report);
    if (report.promptTokens === 0 && !overlapsPrompts) {
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
