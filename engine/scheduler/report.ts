/** The figures of one step. */
export interface StepReport {
  /** Tokens of prompts, and those that were computed again. */
  readonly promptTokens: number;
  /** Tokens of sequences that sample some in this step; drafts and those that were certain among them. */
  readonly decodeTokens: number;
  /** From the call of the step to its result. */
  readonly milliseconds: number;
  /** From the result of the step before to the call of this one; absent where nothing ran before. */
  readonly gapMilliseconds?: number;
  /** Whether the device was given it with others, as a run. */
  readonly inRun?: boolean;
}

/** What a scheduler has done so far, and does now. */
export interface SchedulerStatus {
  readonly running: number;
  readonly waiting: number;
  /** How many of the waiting ones are preempted. */
  readonly preempted: number;
  /** The device's error, where it was lost. */
  readonly failed?: string;
}

/** Sums since the start. */
export interface SchedulerCounts {
  promptTokens: number;
  /** Tokens that were looked for in the cache: prompts, and what is computed again. */
  queriedTokens: number;
  /** Of those, the ones that were found. */
  cachedTokens: number;
  generatedTokens: number;
  /** Of those, the ones that were drafted, and the ones that were not sampled, as no other was allowed. */
  draftTokens: number;
  certainTokens: number;
  steps: number;
  /** Runs, in which the device went from step to step by itself, and how many of the steps they were. */
  runs: number;
  runSteps: number;
  preemptions: number;
  recomputations: number;
  /** Milliseconds in which the device paused between steps, for its limits. */
  restedMs: number;
}

/** What one that has done nothing has counted. */
export function noCounts(): SchedulerCounts {
  return {
    promptTokens: 0,
    queriedTokens: 0,
    cachedTokens: 0,
    generatedTokens: 0,
    draftTokens: 0,
    certainTokens: 0,
    steps: 0,
    runs: 0,
    runSteps: 0,
    preemptions: 0,
    recomputations: 0,
    restedMs: 0,
  };
}
