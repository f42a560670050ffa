import type { ChatFormat } from "./chat/chat_format.ts";
import { loadChat } from "./chat/load.ts";
import type { Cache, Context } from "./device/context.ts";
import type { DeviceInfo, KernelLibrary } from "./device/library.ts";
import { openDevice, openDeviceProcess } from "./device/open.ts";
import type { PageStore } from "./disk_cache/page_store.ts";
import type { DeviceProgram } from "./device/device_program.ts";
import {
  type EngineOptions,
  integerOption,
  type ServingOptions,
  servingOptions,
} from "./engine_options.ts";
import { M40Error } from "./errors.ts";
import { type Gguf, readGguf } from "./gguf/reader.ts";
import { type MemoryPlan, planMemory } from "./memory_plan.ts";
import { describeModel, type ModelInfo } from "./model_info.ts";
import { MEAN_POOLING, poolingType } from "./pooling.ts";
import { architectureOf } from "./models/architecture.ts";
import type { Model } from "./models/model.ts";
import { openDiskCache } from "./open_disk_cache.ts";
import { KV_VALUE_BYTES, type StepSize, type StepWork, stepWork } from "./program/work.ts";
import { place } from "./placement.ts";
import { modelSamplingDefaults } from "./sampling/model_defaults.ts";
import { checkRange, type SamplingParameters } from "./sampling/parameters.ts";
import { usualParallel } from "./state_plan.ts";
import { loadTokenizer } from "./tokenizer/load.ts";
import type { Tokenizer } from "./tokenizer/tokenizer.ts";

/** The device that a model is on. */
export interface ModelDevice extends DeviceInfo {
  readonly backend: string;
  /** CPU only: threads that were asked for. */
  readonly threads?: number;
}

/** A model on a device, ready to run. */
export interface LoadedModel {
  readonly model: ModelInfo;
  readonly tokenizer: Tokenizer;
  /** How conversations become prompts, where there is a template. */
  readonly chat?: ChatFormat;
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
  readonly serving: ServingOptions;
  /** What its file recommends, and before that what came with it. */
  readonly samplingDefaults: Partial<SamplingParameters>;
  /** What ends an answer where a request names nothing. */
  readonly stopDefaults: readonly string[];
}

/** What a file holds. */
interface Source extends Model {
  readonly gguf: Gguf;
}

/** Outputs of a step where a model's embeddings are means. */
const MEAN_OUTPUTS = 64;

const DEFAULT_HOST_CACHE_BYTES = 2 * 2 ** 30;

/** Loads a GGUF file; fails as {@link Engine.load} does. */
export async function loadModel(path: string, options: EngineOptions): Promise<LoadedModel> {
  const gguf = await readGguf(path);
  const source = { gguf, ...architectureOf(gguf).read(gguf, options) };
  const tokenizer = loadTokenizer(gguf.metadata, {
    preTokenizer: options.preTokenizer,
    onWarning: options.onWarning,
  });
  if (tokenizer.vocabSize > source.shape.vocabSize) {
    throw new M40Error(
      "invalid_model",
      `${path}: the vocabulary has ${tokenizer.vocabSize} tokens, but the embeddings ` +
        `${source.shape.vocabSize} rows`,
    );
  }
  const serving = servingOptions(options);
  const { defaults = {} } = options;
  const samplingDefaults = {
    ...modelSamplingDefaults(gguf.metadata, options.onWarning),
    ...defaults.sampling,
  };
  const threads = options.threads && integerOption("threads", options.threads, 1, 1024);
  const { device = "auto", deviceProcess } = options;
  const { library, index, fallback } = deviceProcess
    ? await openDeviceProcess(device)
    : openDevice(device);
  if (fallback !== undefined) options.onFallback?.(fallback);
  let context: Context | undefined;
  try {
    const info = library.device(index);
    context = library.createContext({ device: index, threads, executor: options.executor });
    const plan = planFor(context, source, info, serving, options);
    const chat = loadChat(gguf.metadata, tokenizer, options.chatTemplate, {
      contextTokens: plan.contextTokens,
      system: defaults.system,
      onWarning: options.onWarning,
    });
    const hostCacheBytes = integerOption(
      "host_cache_bytes",
      options.hostCacheBytes ??
        Math.min(plan.cacheBytes + plan.stateBytes, DEFAULT_HOST_CACHE_BYTES),
      0,
      2 ** 46,
    );
    const { program } = source;
    const placed = await place(context, gguf, program, plan, options.onProgress);
    const { pageBytes } = context.cacheBytes(plan.cache);
    const origin = { gguf, program, cache: plan.cache, libraryPath: library.path, device: info };
    const pageStore = options.diskCache &&
      await openDiskCache(options.diskCache, origin, pageBytes);
    return {
      model: describeModel(gguf, source, options.name),
      tokenizer,
      chat,
      device: { ...info, backend: library.backend, threads: threads || undefined },
      plan,
      kernels: library,
      context,
      ...placed,
      stepWork: (size) => stepWork(program, { ...size, kvValueBytes: KV_VALUE_BYTES[plan.kvType] }),
      hostCacheBytes,
      pageStore,
      serving,
      samplingDefaults,
      stopDefaults: defaults.stop ?? [],
    };
  } catch (error) {
    context?.close();
    await library.close();
    throw error;
  }
}

function planFor(
  context: Context,
  { gguf, program, shape }: Source,
  device: DeviceInfo,
  { logitsOutputs }: ServingOptions,
  options: EngineOptions,
): MemoryPlan {
  const { memoryShare = 1, leastContextTokens } = options;
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
