import type { DeviceRun, RunLimits, StepResult, StepSequence, TakeRunStep } from "../device/mod.ts";
import type { M40Error } from "../errors.ts";
import type { DiskKvBlocks } from "./disk/disk_kv_blocks.ts";
import type { HostKvBlocks } from "./kv_blocks/host_kv_blocks.ts";
import type { KvBlockMover } from "./kv_blocks/kv_block_moves.ts";
import type { StepReport } from "./report.ts";
import type { RowTimes } from "./steps/row_times.ts";
import type { Sequence } from "./sequences/sequence.ts";

/** The part of the device's time that chunked prefill takes while sequences decode, 0 to 1, unless options say. */
export const DEFAULT_PREFILL_SHARE = 0.5;

/**
 * One of two lanes of a device that computes prompts concurrently with decoding. Steps of one lane follow
 * each other; steps of the two overlap. Sequences that sample a token in every step are in "decode", all
 * others in "prompts" until they do.
 */
export type Lane = "decode" | "prompts";

/** Where a step is computed, where there is a choice. */
export interface StepPlace {
  readonly lane: Lane;
  /** Of a step of prompts: the share of the device that it may take, above 0 to 1; see {@link LaneOptions}. */
  readonly share: number;
}

/** Options of a scheduler whose device has two lanes. */
export interface LaneOptions {
  /** Tokens of a step of the lane "decode", and its outputs, at most: one of each sequence, and drafts. */
  readonly decodeTokens: number;
  /**
   * The share of the slots for thread blocks that prompts take while sequences decode, above 0 to 1.
   * Otherwise they take all.
   */
  readonly prefillShare: number;
}

/**
 * What a scheduler needs of a device. It may be asked for something while it still does what was asked for before;
 * what is asked for later finds all that was written to KV blocks and slots before it. Where it has two lanes, only what
 * was answered before it was asked is certain to be found.
 */
export interface SchedulerDevice extends KvBlockMover {
  /** @param place The lane of a device with two: each computes one step at a time. */
  step(sequences: readonly StepSequence[], place?: StepPlace): Promise<StepResult>;
  /** Where it can go from step to step by itself, in the lane "decode" where it has two: see `DeviceProgram.run`. */
  run?(
    sequences: readonly StepSequence[],
    steps: number,
    limits: readonly RunLimits[],
    take: TakeRunStep,
  ): DeviceRun;
  /** Whether it is to be given steps of so many decode rows one by one all the same: it measures how it does them fastest. */
  wantsSteps?(rows: number): boolean;
}

/** The loss of a device, with the sequences of its scheduler. */
export interface SchedulerLoss {
  readonly error: M40Error;
  /** The sequences that end here, in the order of their arrival. */
  readonly sequences: readonly Sequence[];
  /** Lets one of them migrate; the others end with the error. */
  readonly migrate: (sequence: Sequence) => void;
}

/** Limits of a `Scheduler`, and its callbacks. */
export interface SchedulerOptions {
  /** Sequences that run at the same time. */
  readonly maxRunning: number;
  /** Sequences that may wait. */
  readonly maxWaiting: number;
  /** Tokens of one step at most. */
  readonly stepTokens: number;
  /** Outputs of one step at most; those that sequences do not need are for drafts. Default: none are. */
  readonly stepOutputs?: number;
  /**
   * Steps that are computed at a time, each of other sequences: as many as the device has stages, so that none of them
   * waits for another. Default 1.
   */
  readonly concurrentSteps?: number;
  /**
   * Steps that a device which has runs is given at once, at most, where the same sequences decode in all of them; default 1:
   * each by itself. There are none of several steps at a time, nor where the device is to pause between steps.
   */
  readonly runSteps?: number;
  /** Where the device has two lanes: then `chunkMs` is not looked at. Not with `concurrentSteps`. */
  readonly lanes?: LaneOptions;
  /** The longest that a chunk of a prompt may delay a decoding sequence, in milliseconds. */
  readonly chunkMs: number;
  /** The numbers of tokens, rising, that the device computes at a time; default any. */
  readonly tileTokens?: readonly number[];
  /**
   * Where given, certain and drafted tokens are computed only as far as they reduce the measured time of a
   * row. Without it, all of them are.
   */
  readonly rowTimes?: RowTimes;
  /** Where preempted sequences keep their KV blocks; without it they are recomputed. */
  readonly host?: HostKvBlocks;
  /** Where they keep their states, of a model that has some. */
  readonly hostStates?: HostKvBlocks;
  /** Where KV blocks of prefixes outlive this scheduler. */
  readonly disk?: DiskKvBlocks;
  /**
   * Runs a step while only other steps use the device; default: nothing else uses it. Other users, and all
   * that write to KV blocks, need the device for themselves: a step's decision may release blocks that are
   * yet to be saved.
   */
  readonly withDevice?: <T>(work: () => Promise<T>) => Promise<T>;
  /**
   * Waits between steps where the device is to pause. It gets the time of the last step and the idle time
   * since, and resolves to how long it waited, all in milliseconds.
   */
  readonly rest?: (stepMs: number, idleMs: number) => Promise<number>;
  /** The device's name, where there are several: the error of its loss contains it. */
  readonly name?: string;
  /** Called when something has changed that may admit other sequences. */
  readonly onChange?: () => void;
  /** Called once, when the device is lost. */
  readonly onLoss?: (loss: SchedulerLoss) => void;
  /** Called after every step. */
  readonly onStep?: (report: StepReport) => void;
  /** Receives what `onStep` threw, or a listener at its end. */
  readonly onListenerError?: (error: unknown) => void;
  /** The time in milliseconds, rising; default `performance.now`. */
  readonly now?: () => number;
}
