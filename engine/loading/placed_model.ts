import {
  type Cache,
  compareBandwidths,
  type Context,
  type DeviceInfo,
  type DeviceProgram,
  type KernelLibrary,
  ringBytes,
} from "../device/mod.ts";
import {
  hasLanes,
  hostCacheBytesOf,
  type MemoryPlan,
  place,
  type PlacedMemory,
  planMemory,
  type PlannedStage,
  type PlanRequest,
  planStages,
  usualParallel,
} from "../memory/mod.ts";
import { MEAN_POOLING, poolingType } from "../models/mod.ts";
import {
  type ChosenExchange,
  closeCards,
  ExchangeMemory,
  openCards,
  type OpenedCard,
  planRows,
  type ProfiledDevice,
  RowSplitDevice,
  ScheduledDevice,
  StagedDevice,
  StepRows,
} from "../parallel/mod.ts";
import {
  KV_VALUE_BYTES,
  type Program,
  type StepSize,
  type StepWork,
  stepWork,
} from "../program/mod.ts";
import { checkRange } from "../sampling/mod.ts";
import type { KvBlockStore } from "../scheduler/disk/cache/mod.ts";
import { type EngineOptions, integerOption, servingOptions } from "../engine_options.ts";
import { asM40Error, M40Error } from "../errors.ts";
import type { ModelSource } from "./model_source.ts";
import { type KvBlockStores, openDiskCache } from "./open_disk_cache.ts";

/** The device that a model is on. */
export interface ModelDevice extends DeviceInfo {
  readonly backend: string;
  /** CPU only: threads that were asked for. */
  readonly threads?: number;
}

/** Where the memory of one device goes, in bytes. */
export interface CardMemory {
  readonly weightBytes: number;
  readonly programBytes: number;
  readonly cacheBytes: number;
  readonly stateBytes: number;
  readonly totalBytes: number;
  /** Of those that were free. */
  readonly leftBytes: number;
}

/** A device, and what of a model is on it. */
export interface PlacedCard {
  /** As it was asked for: "cuda:1". */
  readonly name: string;
  readonly device: ModelDevice;
  readonly kernels: KernelLibrary;
  readonly context: Context;
  readonly program: DeviceProgram;
  /** The same for decoding, where prompts are computed concurrently. */
  readonly decodeProgram?: DeviceProgram;
  readonly cache: Cache;
  readonly memory: CardMemory;
  /** The model's layers that it has, first and last; absent where it has some of each, or the whole model. */
  readonly layers?: readonly [first: number, last: number];
  /** Its part of the rows of the model's large products, where they are split: all cards' together are 1. */
  readonly rowShare?: number;
}

/**
 * A model in the memory of a device, or of several, ready to run. Either its cards are closed one by one, after {@link letGo}, or
 * {@link close} closes all.
 */
export interface PlacedModel {
  /** In the order in which a step goes through them; one that has all of the model, or several that it is split over. */
  readonly cards: readonly PlacedCard[];
  /** Where their memory went, of all together. */
  readonly plan: MemoryPlan;
  /** All of them as one. */
  readonly scheduled: ProfiledDevice;
  /** Steps of different sequences that may be under way at a time. */
  readonly concurrentSteps: number;
  /** Bytes of a KV block and of a slot of states in host memory. */
  readonly kvBlockBytes: number;
  readonly slotBytes: number;
  /** Host memory that KV blocks are copied from and to, see `Context.hostMemory`. */
  readonly hostMemory: (bytes: number) => Uint8Array<ArrayBuffer>;
  /** What a step has to do. */
  readonly stepWork: (size: Omit<StepSize, "kvValueBytes">) => StepWork;
  /** Bytes of host memory for KV blocks and states. */
  readonly hostCacheBytes: number;
  /** KV blocks on disk. */
  readonly kvBlockStore?: KvBlockStore;
  /** Of several cards how rows get from one to the other, where they do. */
  readonly exchange?: ChosenExchange;
  /** Has cards that use each other's memory do so no more, where nothing is computed there. */
  letGo?(): Promise<void>;
  /** Closes the devices, with all that is on them, where nothing is computed there. */
  close(): Promise<void>;
}

/** Open devices, and the memory plan of a model. Either {@link place} it or {@link close} them. */
export interface PlannedModel {
  readonly plan: MemoryPlan;
  /** Tokens that a sequence may have. */
  readonly contextTokens: number;
  /**
   * Puts the model there, once. Where that fails, all is closed.
   *
   * @param onProgress Receives the bytes of weights that are uploaded, and how many there are.
   */
  place(onProgress?: (done: number, total: number) => void): Promise<PlacedModel>;
  /** Closes the devices. */
  close(): Promise<void>;
}

/** What the copies of a model share. */
export interface Shared {
  /** How many there are, each with its share of host memory; default 1. */
  readonly copies?: number;
  /** KV blocks on disk that more than one of them finds; filled in. */
  readonly stores?: KvBlockStores;
}

/** Outputs of a step where a model's embeddings are means. */
const MEAN_OUTPUTS = 64;

const DEFAULT_HOST_CACHE_BYTES = 2 * 2 ** 30;

/**
 * Opens the devices of one copy of a model, and plans their memory.
 *
 * @param devices Their names; over several the model is split, in this order.
 * @param shared The host memory and disk cache that copies share.
 * @throws {M40Error} As `Engine.load` does for devices, their memory and the options.
 */
export async function planModel(
  source: ModelSource,
  devices: readonly string[],
  options: EngineOptions,
  shared: Shared = {},
): Promise<PlannedModel> {
  const { copies = 1 } = shared;
  const cards = await openCards(devices, options);
  const close = () => closeCards(cards);
  try {
    const { plan, shares } = await planFor(cards, source, options);
    const asked = options.hostCacheBytes;
    const hostCacheBytes = hostCacheBytesOf(
      asked === undefined ? undefined : integerOption("host_cache_bytes", asked, 0, 2 ** 46),
      Math.min((plan.cacheBytes + plan.stateBytes) * copies, DEFAULT_HOST_CACHE_BYTES),
    ) / copies;
    return {
      plan,
      contextTokens: plan.contextTokens,
      close,
      async place(onProgress) {
        try {
          const placed = await placeAll(cards, shares, source, onProgress);
          const { stores } = shared;
          const assembled = await assemble(
            ...[placed, plan, shares, source, hostCacheBytes, options, stores] as const,
          );
          return {
            ...assembled,
            async close() {
              await assembled.letGo?.();
              await close();
            },
          };
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

/** What one of the devices gets: the whole program, or a part of it. */
interface Share {
  readonly program: Program;
  readonly memory: PlacedMemory & CardMemory;
  readonly stage?: PlannedStage;
  readonly rows?: {
    readonly share: number;
    readonly origins: readonly number[];
    readonly exchange: ChosenExchange;
  };
}

async function planFor(
  cards: readonly OpenedCard[],
  source: ModelSource,
  options: EngineOptions,
): Promise<{ plan: MemoryPlan; shares: readonly Share[] }> {
  const { gguf, program, shape } = source;
  const { memoryShare = 1, leastContextTokens } = options;
  const { logitsOutputs, prefillShare } = servingOptions(options);
  checkRange("memory_share", memoryShare, { min: 0, max: 1, above: true });
  const freeBytes = cards.map(({ info }) =>
    Math.min(info.freeBytes, memoryShare * info.memoryBytes)
  );
  const [{ context, info: { kind } }] = cards;
  const allFree = freeBytes.reduce((sum, bytes) => sum + bytes, 0);
  const parallel = options.parallel ?? usualParallel(context, program, kind, allFree);
  const request: Omit<PlanRequest, "freeBytes"> = {
    contextTokens: options.contextTokens,
    usualTokens: options.defaults?.contextTokens,
    leastTokens: leastContextTokens &&
      integerOption("least_context_tokens", leastContextTokens, 1, 2 ** 24),
    kvType: options.kvType ?? "f16",
    maxRunning: integerOption("parallel", parallel, 1, 256),
    // The mean of hidden states needs one of every token.
    outputs: poolingType(gguf) === MEAN_POOLING
      ? Math.max(logitsOutputs, MEAN_OUTPUTS)
      : logitsOutputs,
    device: kind,
    kvBlocks: options.kvBlocks,
    slots: options.stateSlots,
  };
  if (cards.length === 1) {
    const [{ library }] = cards;
    const lanes = hasLanes(library.backend, parallel, prefillShare);
    const plan = planMemory(context, program, shape, { ...request, freeBytes: allFree, lanes });
    return { plan, shares: [{ program, memory: plan }] };
  }
  const bandwidths = await compareBandwidths(cards);
  const byRows = await planRows(cards, freeBytes, bandwidths, program, shape, request, options);
  if (byRows !== undefined) {
    const { plan, split, shares, exchange } = byRows;
    return {
      plan,
      shares: byRows.cards.map((memory, i) => ({
        program: split.programs[i],
        memory,
        rows: { share: shares[i], origins: split.origins, exchange },
      })),
    };
  }
  const staged = cards.map(({ name, library, info, context }, i) => ({
    name,
    sizes: context,
    kind: `${library.path} ${info.name} ${info.multiprocessors}`,
    freeBytes: freeBytes[i],
    bytesPerSecond: bandwidths[i],
  }));
  const { stages, ...plan } = planStages(staged, program, shape, request);
  const shares = stages.map((stage) => ({
    program: stage.part.program,
    memory: { ...stage.plan, leftBytes: stage.leftBytes },
    stage,
  }));
  return { plan, shares };
}

/** Puts what each device gets on it, all at the same time. */
async function placeAll(
  cards: readonly OpenedCard[],
  shares: readonly Share[],
  { gguf }: ModelSource,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<PlacedCard[]> {
  const done = shares.map(() => 0);
  const totals = shares.map(({ program }) =>
    program.weights.reduce((sum, { tensor }) => sum + tensor.bytes, 0)
  );
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const placing = cards.map(async ({ name, library, info, context, threads }, i) => {
    const { program, memory, stage, rows } = shares[i];
    try {
      const placed = await place(context, gguf, program, memory, (bytes) => {
        done[i] = bytes;
        onProgress(sum(done), sum(totals));
      });
      const device = { ...info, backend: library.backend, threads };
      const layers = stage?.layers;
      const rowShare = rows?.share;
      return { name, device, kernels: library, context, ...placed, memory, layers, rowShare };
    } catch (error) {
      if (cards.length === 1) throw error;
      const { code, message, param } = asM40Error(error);
      throw new M40Error(code, `${name}: ${message}`, param);
    }
  });
  // Nothing is closed while one of them still uploads.
  await Promise.allSettled(placing);
  return await Promise.all(placing);
}

/** What is on the devices, as one. */
async function assemble(
  cards: readonly PlacedCard[],
  plan: MemoryPlan,
  shares: readonly Share[],
  { gguf, program }: ModelSource,
  hostCacheBytes: number,
  options: EngineOptions,
  stores?: KvBlockStores,
): Promise<Omit<PlacedModel, "close">> {
  const [{ rows }] = shares;
  const sizes = cards.map(({ context, cache }) => context.cacheBytes(cache.desc));
  const kvBlockBytes = sizes.reduce((sum, { kvBlockBytes }) => sum + kvBlockBytes, 0);
  const slotBytes = sizes.reduce((sum, { slotBytes }) => sum + slotBytes, 0);
  const stages = shares.flatMap(({ stage }, i) =>
    stage === undefined
      ? []
      : [{ ...cards[i], ...sizes[i], part: stage.part, groups: stage.plan.groups }]
  );
  const { runSteps } = servingOptions(options);
  if (stages.length === 0 && runSteps > 1) {
    const bytes = ringBytes(plan.limits.n_sequences * runSteps);
    for (const { program, decodeProgram, context } of cards) {
      (decodeProgram ?? program).openRuns(context.hostMemory(bytes));
    }
  }
  const rowSplit = rows && new RowSplitDevice(
    cards.map((card, i) => ({ ...card, ...sizes[i] })),
    rows.origins,
    ExchangeMemory.open(cards, rows.exchange.path),
  );
  const [first] = cards;
  const { kernels: { path: libraryPath }, device } = first;
  const { executor = "auto" } = options;
  const stepRows = device.backend !== "cpu" && executor === "auto"
    ? new StepRows((rows) => (first.decodeProgram ?? first.program).executors(rows))
    : undefined;
  const parts = cards.flatMap(({ kernels, device, cache }, i) => {
    const { stage, rows } = shares[i];
    const origin = { libraryPath: kernels.path, device };
    if (stage !== undefined) {
      const { cacheLayers, states } = stage.part;
      return [{ ...origin, cacheLayers, states }];
    }
    if (rows === undefined) return [];
    const all = (values: readonly unknown[]) => [...values.keys()];
    const kvHeads = Array.from(cache.desc.n_kv_heads);
    return [{
      ...origin,
      cacheLayers: all(program.cacheLayers),
      states: all(program.states),
      kvHeads,
    }];
  });
  const origin = {
    ...{ gguf, program, cache: plan.cache, libraryPath, device },
    parts: parts.length === 0 ? undefined : parts,
  };
  return {
    cards,
    plan,
    exchange: rows?.exchange,
    letGo: rowSplit && (() => rowSplit.close()),
    scheduled: rowSplit !== undefined
      ? rowSplit
      : stages.length === 0
      ? new ScheduledDevice(first.program, first.cache, first.decodeProgram, stepRows)
      : new StagedDevice(stages),
    concurrentSteps: Math.max(stages.length, 1),
    kvBlockBytes,
    slotBytes,
    // KV block-locked for all cards of this process; others get it by a copy.
    hostMemory: (bytes) => first.context.hostMemory(bytes),
    stepWork: (size) => stepWork(program, { ...size, kvValueBytes: KV_VALUE_BYTES[plan.kvType] }),
    hostCacheBytes,
    kvBlockStore: options.diskCache &&
      await openDiskCache(options.diskCache, origin, kvBlockBytes, stores),
  };
}
