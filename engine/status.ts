import type { DiskPagesStatus } from "./scheduler/disk_pages.ts";
import type { SchedulerCounts, SchedulerStatus } from "./scheduler/report.ts";
import type { SequenceState } from "./scheduler/sequence_state.ts";

/** What an engine does at the moment, and has done since it was loaded. */
export interface EngineStatus extends SchedulerStatus, Readonly<SchedulerCounts> {
  /** KV pages in all, held by sequences, and kept for prompts that begin alike. */
  readonly pages: number;
  readonly usedPages: number;
  readonly idlePages: number;
  /**
   * Slots of states in all, those that sequences go on from, and those of states that are kept for prompts that begin
   * alike; all 0 where the model keeps none.
   */
  readonly slots: number;
  readonly usedSlots: number;
  readonly idleSlots: number;
  /** What the disk cache has and has done, where there is one. */
  readonly disk?: DiskPagesStatus;
  /** The share of the time in which the device rests between steps for its limits, 0 to 1; absent without any. */
  readonly restShare?: number;
  /** How often the engine's observer has thrown. */
  readonly observerErrors: number;
}

/** One sequence, for a person to look at. */
export interface SlotStatus {
  readonly id: number;
  readonly state: Exclude<SequenceState, "finished">;
  readonly promptTokens: number;
  readonly computedTokens: number;
  readonly generatedTokens: number;
  readonly pages: number;
  /** Since it arrived, in milliseconds. */
  readonly ageMs: number;
}
