import type { TemplateFile } from "./chat/mod.ts";
import type { Executor } from "./device/mod.ts";
import type { Override } from "./gguf/mod.ts";
import type { KvType } from "./memory/mod.ts";
import type { PaceLimits } from "./power/mod.ts";
import type { Arithmetic } from "./program/mod.ts";
import { checkRange } from "./sampling/mod.ts";
import { DEFAULT_PREFILL_SHARE } from "./scheduler/mod.ts";
import type { ModelDefaults } from "./store/mod.ts";

/** Where KV blocks of prompts outlive the engine. */
export interface DiskCacheOptions {
  /** Engines of all models may share it, those of other processes too. */
  readonly folder: string;
  /** What all files in it may take. */
  readonly bytes: number;
  /** Receives a sentence or two about what goes wrong with it. The engine works without it then. */
  readonly onProblem?: (problem: string) => void;
}

/** See {@link EngineOptions.split}. */
export type Split = "auto" | "layers" | "rows";

/** How a model is loaded. */
export interface EngineOptions {
  /**
   * "auto" (default: a GPU if there is one), "cpu", "cuda" or "cuda:N"; or a list of them, "cuda:0,1", that the model is
   * split over.
   */
  device?: string;
  /**
   * How a model is split over the devices of the list. "layers": each has some of them. "rows": each computes some
   * rows of every large product. "auto" (default): rows, where a measured exchange between the devices takes less
   * time than the rows save, and each device has room for its part.
   */
  split?: Split;
  /**
   * Whether each device of the list has the whole model instead, default false. Requests go to the device with their
   * cached prefix, else to the one with the least work. A lost device does not end what the others can compute.
   * Per-device options (parallel, kvBlocks, limits) hold for each; host memory is divided.
   */
  replicas?: boolean;
  /** Receives a sentence when one of several replicas was lost, is ready again, or cannot be loaded again. */
  onReplica?: (message: string) => void;
  /**
   * Whether the device's native code runs in a process of its own, default false. A signal that ends it, or a GPU
   * that is lost or hangs, then fails this engine's calls with "device" and nothing else. After {@link Engine.close}
   * nothing of it is left on the device. It costs a step some microseconds.
   */
  deviceProcess?: boolean;
  /** Tokens that one sequence may have, prompt and output together; absent: what the model and memory allow. */
  contextTokens?: number;
  /** The share of the device's memory that the model may take, above 0 to 1; default all that is free. */
  memoryShare?: number;
  /** Where no context is asked for: with room for fewer tokens the model counts as one that does not fit; default 256. */
  leastContextTokens?: number;
  /** CPU only: threads; absent is one a physical core. */
  threads?: number;
  /** GPU only: what steps that decode are run by; default "auto", what is measured to be faster. */
  executor?: Executor;
  /** How the KV cache holds its values; default "f16". */
  kvType?: KvType;
  /**
   * How products with quantised weights are computed, on all devices; default "exact". "packed" is faster on GPUs of
   * Maxwell's generation and less accurate: of weights of up to 4 bits, activations are rounded to integers.
   */
  arithmetic?: Arithmetic;
  /** Sequences that run at the same time; default 32 on a GPU, 4 on the CPU, fewer where their states are large. */
  parallel?: number;
  /** KV blocks at most; absent: as many as there is memory for and use. */
  kvBlocks?: number;
  /**
   * Slots of states at most, of a model with states. Absent: as many as sequences need to run, and more for later
   * prompts from a quarter of the memory that is left then.
   */
  stateSlots?: number;
  /** Requests that may wait for their turn; default 64. */
  maxQueue?: number;
  /** The longest that a chunk of a prompt may delay decoding sequences, in milliseconds; default 50. */
  chunkMs?: number;
  /**
   * The most steps that the device is given at once, while the same sequences decode in all of them: it then goes
   * from token to token by itself. Default 32. 1: each step waits for the host.
   */
  runSteps?: number;
  /**
   * GPU only: the share of its multiprocessors' slots for thread blocks that a prompt takes while others decode, 0 to
   * 1; default {@link DEFAULT_PREFILL_SHARE}. Prompts are then computed concurrently with decoding, instead of in
   * chunks of `chunkMs`; alone they take all. 0 has chunks. Several cards with a part of the model each have chunks,
   * too.
   */
  prefillShare?: number;
  /**
   * Bytes of host memory for the KV blocks and states of preempted sequences. Default: as many as these take on the
   * device, up to 2 GiB and half of what the machine has left. More than it has left is refused. What does not fit is
   * recomputed.
   */
  hostCacheBytes?: number;
  /**
   * Keeps KV blocks and states of prompts on disk, where later engines of the same model find them; default: none.
   * Of a model without attention, nothing is kept there.
   */
  diskCache?: DiskCacheOptions;
  /**
   * The limits of the device, in degrees Celsius and watts: before its hardware lowers the clocks, it pauses between
   * steps; default: neither. Nothing changes where the driver does not report them.
   */
  maxTemperatureCelsius?: number;
  maxPowerWatts?: number;
  /** Receives a sentence when the device begins to pause for that, and when it no longer does. */
  onPace?: (message: string) => void;
  /**
   * Receives a sentence, once for each reason, why a persistent kernel does not run all steps that decode, where
   * `executor` is "resident", or "auto", which would try it. What the reason is may show with the first of them.
   */
  onExecutor?: (message: string) => void;
  /** Positions whose logits one step can give, for {@link Engine.evaluate}; default 1. */
  logitsOutputs?: number;
  /**
   * A built-in chat template's name, the text of one (Jinja), or a file with one, which is read again when it is
   * edited; default: the model's own.
   */
  chatTemplate?: string | TemplateFile;
  /**
   * Defaults below these options and a request, from the model's record, see {@link recordDefaults}. They precede
   * what the file recommends.
   */
  defaults?: Partial<ModelDefaults>;
  /** What the model is called; default `general.name` or the file's name. */
  name?: string;
  /**
   * The rules by which a byte-level vocabulary's text is cut into words, by name; default: those that
   * the file names (`tokenizer.ggml.pre`).
   */
  preTokenizer?: string;
  /** Values that replace those of the file's metadata. */
  overrides?: readonly Override[];
  /** Receives the reason, in a sentence, where "auto" takes the CPU though there is a library for GPUs. */
  onFallback?: (reason: string) => void;
  /** Receives the GPU that "auto" took, by the name that opens it again: "cuda:0". */
  onChosen?: (device: string) => void;
  /** Receives a sentence about each entry of the model's file that is ignored or missing. */
  onWarning?: (warning: string) => void;
  /** Receives the bytes of weights that are uploaded, and how many there are. */
  onProgress?: (done: number, total: number) => void;
  /**
   * Receives what {@link Engine.observer}, or a callback here that is called while the model is served, threw first.
   * Serving goes on, and they are still notified; {@link EngineStatus.observerErrors} counts.
   */
  onObserverError?: (error: unknown) => void;
}

/** Steps of a run at most, where nothing was said: docs/measurements/whole-steps.md has what other numbers give. */
export const RUN_STEPS = 32;

/** How a model is served, with what holds where nothing was said. */
export interface ServingOptions {
  readonly maxQueue: number;
  readonly chunkMs: number;
  readonly runSteps: number;
  readonly prefillShare: number;
  readonly logitsOutputs: number;
  readonly paceLimits: PaceLimits;
  readonly onPace?: (message: string) => void;
  readonly executor: Executor;
  readonly onExecutor?: (message: string) => void;
  readonly onReplica?: (message: string) => void;
  readonly onObserverError?: (error: unknown) => void;
}

/** @throws {M40Error} "invalid_request" naming the option. */
export function servingOptions(options: EngineOptions): ServingOptions {
  const { prefillShare = DEFAULT_PREFILL_SHARE } = options;
  checkRange("prefill_share", prefillShare, { min: 0, max: 1 });
  return {
    prefillShare,
    maxQueue: integerOption("max_queue", options.maxQueue ?? 64, 0, 1_000_000),
    chunkMs: integerOption("chunk_ms", options.chunkMs ?? 50, 1, 60_000),
    runSteps: integerOption("run_steps", options.runSteps ?? RUN_STEPS, 1, 1024),
    logitsOutputs: integerOption("logits_outputs", options.logitsOutputs ?? 1, 1, 4096),
    paceLimits: {
      maxTemperatureCelsius: options.maxTemperatureCelsius,
      maxPowerWatts: options.maxPowerWatts,
    },
    onPace: options.onPace,
    executor: options.executor ?? "auto",
    onExecutor: options.onExecutor,
    onReplica: options.onReplica,
    onObserverError: options.onObserverError,
  };
}

/**
 * An option's value, where it is in its range.
 *
 * @throws {M40Error} "invalid_request" naming the option.
 */
export function integerOption(name: string, value: number, min: number, max: number): number {
  checkRange(name, value, { min, max, integer: true });
  return value;
}
