import type { ChunkBudget } from "./chunk_budget.ts";
import type { SchedulerCounts, StepReport } from "../report.ts";
import type { SchedulerOptions } from "../scheduler_options.ts";
import type { StepUnderWay } from "./steps_under_way.ts";

/** Tells of steps that are over whoever learns from them or watches them. */
export class StepReports {
  constructor(
    private readonly options: SchedulerOptions,
    private readonly counts: SchedulerCounts,
    private readonly chunks: ChunkBudget,
  ) {}

  /** @param milliseconds What the step took. */
  tell({ turns, gapMilliseconds, besidePrompts }: StepUnderWay, milliseconds: number): void {
    let tokens = 0;
    let decodeTokens = 0;
    for (const { count, guesses, draws } of turns) {
      tokens += count + guesses.length;
      if (draws) decodeTokens += count + guesses.length;
    }
    const promptTokens = tokens - decodeTokens;
    this.tellReport({ promptTokens, decodeTokens, milliseconds, gapMilliseconds }, besidePrompts);
  }

  /** The same of a step of which the report is there. */
  tellReport(report: StepReport, besidePrompts: boolean): void {
    const { decodeTokens, milliseconds } = report;
    this.counts.steps++;
    // A step that waited for another's prompts says nothing of what its rows take.
    if (report.promptTokens > 0 || !besidePrompts) this.chunks.observe(report);
    if (report.promptTokens === 0 && !besidePrompts) {
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
