import type { EngineCard } from "./engine_card.ts";
import type { CardMemory, ModelDevice } from "./placed_model.ts";
import type {
  DiskKvBlocksStatus,
  SchedulerCounts,
  SchedulerStatus,
  SequenceState,
} from "../scheduler/mod.ts";

/** The state of an engine, and its sums since it was loaded. */
export interface EngineStatus extends SchedulerStatus, Readonly<SchedulerCounts> {
  /** KV blocks in all, held by sequences, and kept for prompts that begin alike. */
  readonly kvBlocks: number;
  readonly usedKvBlocks: number;
  readonly idleKvBlocks: number;
  /**
   * Slots of states in all, those that sequences go on from, and those of states that are kept for prompts that begin
   * alike; all 0 where the model keeps none.
   */
  readonly slots: number;
  readonly usedSlots: number;
  readonly idleSlots: number;
  /** What the disk cache has and has done, where there is one. */
  readonly disk?: DiskKvBlocksStatus;
  /** The share of the time in which the device pauses between steps for its limits, 0 to 1; absent without any. */
  readonly restShare?: number;
  /** Of several replicas, the devices of those lost or being loaded; absent without replicas. */
  readonly lostReplicas?: readonly string[];
  /** How often the engine's observer has thrown. */
  readonly observerErrors: number;
}

/** One of several replicas of a model. */
export interface ReplicaState {
  /** Its device's name. */
  readonly name: string;
  /** Whether it computes, is lost, or is loaded again. */
  readonly state: "ready" | "lost" | "loading";
  /** The error of its loss, or why it could not be loaded again, where it is not ready. */
  readonly reason?: string;
  /** How often it was lost. */
  readonly losses: number;
  /** Sequences that run there, or have been given to it. */
  readonly sequences: number;
  /** As {@link EngineStatus.restShare}. */
  readonly restShare?: number;
  /** The device and what the model takes of its memory; while it is not ready, as they were. */
  readonly device: ModelDevice;
  readonly memory: CardMemory;
  /** Absent while it is not ready. */
  readonly card?: EngineCard;
}

/** One sequence, for a person to look at. */
export interface SlotStatus {
  readonly id: number;
  readonly state: Exclude<SequenceState, "finished">;
  readonly promptTokens: number;
  readonly computedTokens: number;
  readonly generatedTokens: number;
  readonly kvBlocks: number;
  /** Of several replicas, the device of the one that it was given to; absent while it waits for one. */
  readonly device?: string;
  /** Since it arrived, in milliseconds. */
  readonly ageMs: number;
}
