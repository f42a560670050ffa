import type { Cache, Context } from "./device/context.ts";
import type { DeviceProgram } from "./device/device_program.ts";
import type { DeviceInfo, KernelLibrary } from "./device/library.ts";
import { openDevice, openDeviceProcess } from "./device/open.ts";
import type { PageStore } from "./disk_cache/page_store.ts";
import { type EngineOptions, integerOption, servingOptions } from "./engine_options.ts";
import { M40Error } from "./errors.ts";
import { type MemoryPlan, planMemory } from "./memory_plan.ts";
import type { ModelSource } from "./model_source.ts";
import { openDiskCache } from "./open_disk_cache.ts";
import { place } from "./placement.ts";
import { MEAN_POOLING, poolingType } from "./pooling.ts";
import { KV_VALUE_BYTES, type StepSize, type StepWork, stepWork } from "./program/work.ts";
import { checkRange } from "./sampling/parameters.ts";
import { usualParallel } from "./state_plan.ts";

/** The device that a model is on. */
export interface ModelDevice extends DeviceInfo {
  readonly backend: string;
  /** CPU only: threads that were asked for. */
  readonly threads?: number;
}

/** A model in a device's memory, ready to run. */
export interface PlacedModel {
  readonly device: ModelDevice;
  /** Where the device's memory went. */
  readonly plan: MemoryPlan;
  readonly kernels: KernelLibrary;
  readonly context: Context;
  readonly program: DeviceProgram;
  /** What a step has to do. */
  readonly stepWork: (size: Omit<StepSize, "kvValueBytes">) => StepWork;
  readonly cache: Cache;
  /** Bytes of host memory for KV pages and states. */
  readonly hostCacheBytes: number;
  /** KV pages on disk. */
  readonly pageStore?: PageStore;
}

/** A device that is open, and what a model is to have of its memory. Either {@link place} it or {@link close} it. */
export interface PlannedModel {
  readonly plan: MemoryPlan;
  /**
   * Puts the model there, once. Where that fails, all is closed.
   *
   * @param onProgress Told the bytes of weights that are uploaded, and how many there are.
   */
  place(onProgress?: (done: number, total: number) => void): Promise<PlacedModel>;
  /** Closes the device. */
  close(): Promise<void>;
}

/** Outputs of a step where a model's embeddings are means. */
const MEAN_OUTPUTS = 64;

const DEFAULT_HOST_CACHE_BYTES = 2 * 2 ** 30;

/**
 * Opens the devices that one copy of a model is to be on, and plans their memory.
 *
 * @param devices Their names; for now one.
 * @throws {M40Error} "unsupported" for several devices; else as `Engine.load` does for the device, its memory and
 * the options.
 */
export async function planModel(
  source: ModelSource,
  devices: readonly string[],
  options: EngineOptions,
): Promise<PlannedModel> {
  if (devices.length !== 1) {
    throw new M40Error(
      "unsupported",
      `the layers of a model cannot be split over several devices (${
        devices.join(", ")
      }); name one`,
    );
  }
  const threads = options.threads && integerOption("threads", options.threads, 1, 1024);
  const [device] = devices;
  const { library, index, fallback } = options.deviceProcess
    ? await openDeviceProcess(device)
    : openDevice(device);
  if (fallback !== undefined) options.onFallback?.(fallback);
  let context: Context | undefined;
  const close = async () => {
    context?.close();
    await library.close();
  };
  try {
    const info = library.device(index);
    const opened = context = library.createContext({ device: index, threads });
    const plan = planFor(opened, source, info, options);
    const hostCacheBytes = integerOption(
      "host_cache_bytes",
      options.hostCacheBytes ??
        Math.min(plan.cacheBytes + plan.stateBytes, DEFAULT_HOST_CACHE_BYTES),
      0,
      2 ** 46,
    );
    const { gguf, program } = source;
    const placeIt = async (onProgress?: (done: number, total: number) => void) => {
      const placed = await place(opened, gguf, program, plan, onProgress);
      const { pageBytes } = opened.cacheBytes(plan.cache);
      const origin = { gguf, program, cache: plan.cache, libraryPath: library.path, device: info };
      return {
        device: { ...info, backend: library.backend, threads: threads || undefined },
        plan,
        kernels: library,
        context: opened,
        ...placed,
        stepWork: (size: Omit<StepSize, "kvValueBytes">) =>
          stepWork(program, { ...size, kvValueBytes: KV_VALUE_BYTES[plan.kvType] }),
        hostCacheBytes,
        pageStore: options.diskCache && await openDiskCache(options.diskCache, origin, pageBytes),
      };
    };
    return {
      plan,
      close,
      async place(onProgress) {
        try {
          return await placeIt(onProgress);
        } catch (error) {
          await close();
          throw error;
        }
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function planFor(
  context: Context,
  { gguf, program, shape }: ModelSource,
  device: DeviceInfo,
  options: EngineOptions,
): MemoryPlan {
  const { memoryShare = 1, leastContextTokens } = options;
  const { logitsOutputs } = servingOptions(options);
  checkRange("memory_share", memoryShare, { min: 0, max: 1, above: true });
  const freeBytes = Math.min(device.freeBytes, memoryShare * device.memoryBytes);
  const parallel = options.parallel ?? usualParallel(context, program, device.kind, freeBytes);
  return planMemory(context, program, shape, {
    contextTokens: options.contextTokens,
    usualTokens: options.defaults?.contextTokens,
    leastTokens: leastContextTokens &&
      integerOption("least_context_tokens", leastContextTokens, 1, 2 ** 24),
    kvType: options.kvType ?? "f16",
    maxRunning: integerOption("parallel", parallel, 1, 256),
    // Who wants the mean of hidden states wants one of every token.
    outputs: poolingType(gguf) === MEAN_POOLING
      ? Math.max(logitsOutputs, MEAN_OUTPUTS)
      : logitsOutputs,
    device: device.kind,
    freeBytes,
    pages: options.kvPages,
    slots: options.stateSlots,
  });
}
