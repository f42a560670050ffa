import { groupCacheLayers } from "./cache_groups.ts";
import {
  type CacheDesc,
  type Context,
  type DeviceKind,
  Lane,
  type Limits,
  stepBytes,
} from "../device/mod.ts";
import { tensorTypeByName } from "../gguf/mod.ts";
import { type ModelShape, wantedContext } from "../models/mod.ts";
import { encodeOperations, type Program } from "../program/mod.ts";
import { type KvBlockGroup, KvBlockLayout } from "../scheduler/mod.ts";
import { M40Error } from "../errors.ts";
import { bisect } from "./bisect.ts";
import { type Sizes, weightBytesOf } from "./remembered_sizes.ts";
import { adviceOf, describeNeed, describeSmaller, gib } from "./shortage.ts";
import { keptSlots, leastSlots, stateBytes } from "./state_plan.ts";
import { usualShare } from "./usual_context.ts";

/** Tokens of a KV block. */
export const KV_BLOCK_TOKENS = 32;
/**
 * The most prompt tokens of one step. A GPU needs many to keep its multiprocessors busy, but gains little from more
 * than these. Their activations take memory, and other requests wait for the step: by its arithmetic, 512 tokens of a
 * 7B model take an M40 more than a second.
 */
const STEP_TOKENS = { gpu: 512, cpu: 256 };
/** The least context that is worth having, where nothing is said. */
export const LEAST_CONTEXT = 256;
/** KV blocks that a plan has at most. */
export const MOST_KV_BLOCKS = 2 ** 20;
/**
 * Outputs of a step beyond one a sequence: drafts of the tokens that a constraint's certain texts are written
 * with. One takes its logits: half a megabyte with 128k tokens.
 */
const DRAFT_OUTPUTS = 16;
/** Device memory that is left to others. */
export const RESERVE_BYTES = 256 * 2 ** 20;

/** How the KV cache holds its values. */
export type KvType = "f16" | "f32" | "q8_0";
/** The types of a KV cache. */
export const KV_TYPES: readonly KvType[] = ["f16", "f32", "q8_0"];

/** What is asked of a plan. */
export interface PlanRequest {
  /** Tokens that one sequence may have; absent: as many as the model was trained for and memory allows. */
  readonly contextTokens?: number;
  /** The default, where nothing is asked for, instead of all that fit: no more than what the model was trained for. */
  readonly usualTokens?: number;
  /** The least that is worth having where nothing is asked for; default 256. */
  readonly leastTokens?: number;
  readonly kvType: KvType;
  /** Sequences that run at the same time. */
  readonly maxRunning: number;
  /** Outputs of a step at most. */
  readonly outputs: number;
  /** Bytes of device memory that are free. */
  readonly freeBytes: number;
  /**
   * On a GPU all memory that is left becomes KV blocks. Otherwise there are as many as the running sequences can
   * fill; without a wanted context, a quarter of the memory at most. One sequence always fits, perhaps no more:
   * sequences that run out of KV blocks take turns.
   */
  readonly device: DeviceKind;
  /** KV blocks at most. */
  readonly kvBlocks?: number;
  /** Slots of states at most, where the model has states; there are as many as sequences need to run. */
  readonly slots?: number;
  /** Whether prompts are computed concurrently with decoding, which takes a second program. Default false. */
  readonly lanes?: boolean;
}

/** Where the device's memory goes. */
export interface MemoryPlan {
  readonly contextTokens: number;
  /** The most tokens of context that there is memory for, up to those that the model was trained for. */
  readonly mostContextTokens: number;
  /** Bytes of the weights, of the buffers of the largest step, of the KV cache, of states, of all four. */
  readonly weightBytes: number;
  readonly programBytes: number;
  readonly cacheBytes: number;
  readonly stateBytes: number;
  readonly totalBytes: number;
  /** Bytes that are left of those that were free. */
  readonly leftBytes: number;
  /** KV blocks. Those of a model without attention hold nothing: they only count tokens. */
  readonly kvBlocks: number;
  readonly kvBlockTokens: number;
  readonly kvType: KvType;
  /** Slots of states; 0 where the model keeps none. */
  readonly slots: number;
  readonly cache: CacheDesc;
  /** The groups of layers that have KV blocks of their own. */
  readonly groups: readonly KvBlockGroup[];
  readonly limits: Limits;
  /** Those of the second program for decoding, where prompts are computed concurrently; counted in `programBytes`. */
  readonly decodeLimits?: Limits;
}

/**
 * Whether prompts are computed concurrently with decoding on one device: {@link PlanRequest.lanes}.
 *
 * @param backend What the device's library is for. A CPU has no second lane; the emulated GPU has.
 */
export function hasLanes(backend: string, maxRunning: number, prefillShare: number): boolean {
  // With one sequence at a time, none decodes while a prompt is computed.
  return backend !== "cpu" && prefillShare > 0 && maxRunning > 1;
}

/** @throws {M40Error} "invalid_request" for a context that the model was not trained for, or that is none. */
export function checkContext(asked: number | undefined, { contextLength }: ModelShape): void {
  if (asked === undefined) return;
  const isCount = Number.isInteger(asked) && asked >= 1;
  if (isCount && asked <= contextLength) return;
  const wanted = isCount
    ? `the model was trained for ${contextLength}`
    : `wanted an integer from 1 to ${contextLength}`;
  throw new M40Error(
    "invalid_request",
    `a context of ${asked} tokens was asked for; ${wanted}`,
  );
}

/**
 * Plans the memory of a model on a device.
 *
 * @throws {M40Error} "out_of_memory" where it does not fit, saying which context would; "invalid_request"
 * where more context is asked for than the model was trained for.
 */
export function planMemory(
  context: Context,
  program: Program,
  shape: ModelShape,
  request: PlanRequest,
): MemoryPlan {
  const { contextTokens: asked } = request;
  checkContext(asked, shape);
  const weightBytes = weightBytesOf(context, program.weights);
  const planFor = (tokens: number, kvBlocks?: number, slots?: number) =>
    planOf(context, program, shape, request, weightBytes, tokens, kvBlocks, slots);
  const available = request.freeBytes - RESERVE_BYTES;
  const fits = (tokens: number) => planFor(tokens).totalBytes <= available;
  const share = usualShare(request.device, program.states.length > 0);
  /** What a context may take with the weights, where none is asked for. */
  const usualBytes = weightBytes + share * Math.max(0, available - weightBytes);

  const wanted = wantedTokens(shape, request);
  const grown = (tokens: number): MemoryPlan => {
    const mostContextTokens = longest(tokens, shape.contextLength, fits);
    return { ...withKvBlocks(tokens), mostContextTokens };
  };
  /** KV blocks on the CPU: those that are of use, but where no context is asked for no more than its share, or than 8192 tokens want. */
  const kvBlocksOfUse = (
    least: ReturnType<typeof planFor>,
    totalBytes: number,
    kvBlockBytes: number,
  ) => {
    const useful = usefulKvBlocks(least, request.maxRunning);
    if (asked !== undefined || least.contextTokens <= wanted) return useful;
    const shared = least.kvBlocks + Math.floor((usualBytes - totalBytes) / kvBlockBytes);
    return Math.min(useful, Math.max(shared, usefulKvBlocks(planFor(wanted), request.maxRunning)));
  };
  const withKvBlocks = (tokens: number) => {
    const least = planFor(tokens);
    const { kvBlockBytes, slotBytes } = context.cacheBytes(least.cache);
    const kept = keptSlots(available - least.totalBytes, slotBytes, request.maxRunning);
    const slots = Math.max(least.slots, Math.min(least.slots + kept, request.slots ?? Infinity));
    const { totalBytes } = planFor(tokens, least.kvBlocks, slots);
    const more = kvBlockBytes === 0
      ? Infinity
      : Math.floor((available - totalBytes) / kvBlockBytes);
    const kvBlocks = grownKvBlocks(
      least,
      more,
      () => kvBlocksOfUse(least, totalBytes, kvBlockBytes),
      request,
    );
    const plan = planFor(tokens, kvBlocks, slots);
    return plan.totalBytes <= available ? plan : least;
  };
  const free = asked === undefined && !request.usualTokens;
  const spare = (tokens: number) => planFor(tokens).totalBytes <= usualBytes;
  if (fits(wanted)) return grown(free ? longest(wanted, shape.contextLength, spare) : wanted);
  const least = Math.min(request.leastTokens ?? LEAST_CONTEXT, wanted);
  const possible = fits(least) ? largest(least, wanted, fits) : 0;
  if (asked === undefined && possible > 0) return grown(possible);
  const needed = planFor(wanted);
  const fewer = bisect(0, request.maxRunning, (maxRunning) => {
    const asked = { ...request, maxRunning };
    const { totalBytes } = planOf(context, program, shape, asked, weightBytes, wanted);
    return totalBytes <= available;
  });
  const advice = adviceOf(possible, needed.slots > 0 ? fewer : 0);
  if (advice.length === 0) {
    advice.push(
      describeSmaller(
        context,
        program,
        (tokens, bytes) => planFor(tokens).totalBytes - weightBytes + bytes <= available,
        [wanted, least],
      ),
    );
  }
  throw new M40Error(
    "out_of_memory",
    `${describeNeed(needed, request.maxRunning)}; ${gib(Math.max(0, available))} are free; ` +
      advice.join("; "),
  );
}

/** The context that is wanted: what is asked for, else the usual one, else the model's default. */
export function wantedTokens(
  shape: ModelShape,
  { contextTokens, usualTokens }: Pick<PlanRequest, "contextTokens" | "usualTokens">,
): number {
  const usual = usualTokens && Math.min(usualTokens, shape.contextLength);
  return wantedContext(shape, contextTokens ?? usual);
}

/**
 * KV blocks where there is room for so many more.
 *
 * @param more Infinity: they hold nothing.
 * @param useful How many are of use on a CPU.
 */
export function grownKvBlocks(
  least: Pick<MemoryPlan, "kvBlocks">,
  more: number,
  useful: () => number,
  { device, kvBlocks, maxRunning }: Pick<PlanRequest, "device" | "kvBlocks" | "maxRunning">,
): number {
  const most = Math.max(least.kvBlocks, kvBlocks ?? MOST_KV_BLOCKS);
  // Of those that hold nothing enough for each sequence to have a whole step to itself.
  if (more === Infinity) return Math.min((maxRunning + 1) * least.kvBlocks, most);
  return Math.min(least.kvBlocks + more, device === "gpu" ? Infinity : useful(), most);
}

/** The largest number from `low` (which fits) to `high` (which does not) that fits, in whole KV blocks. */
export function largest(low: number, high: number, fits: (tokens: number) => boolean): number {
  const [inside, outside] = [low, high].map((tokens) => Math.ceil(tokens / KV_BLOCK_TOKENS));
  return KV_BLOCK_TOKENS *
    bisect(inside, outside, (kvBlocks) => fits(kvBlocks * KV_BLOCK_TOKENS));
}

/** The most tokens that fit, from so many on, which count as fitting, up to so many. */
export function longest(low: number, high: number, fits: (tokens: number) => boolean): number {
  if (fits(high)) return high;
  return fits(low) ? Math.max(low, largest(low, high, fits)) : low;
}

/**
 * Where the memory goes with a context of so many tokens, whether or not there is as much.
 *
 * @param kvBlocksAsked Default: as many as one sequence of the whole context takes.
 * @param slots Default: as many as sequences need to run.
 */
export function planOf(
  context: Sizes,
  program: Program,
  shape: ModelShape,
  request: PlanRequest,
  weightBytes: number,
  contextTokens: number,
  kvBlocksAsked?: number,
  slots = leastSlots(program, request.maxRunning),
): Omit<MemoryPlan, "mostContextTokens"> {
  const stepTokens = Math.max(
    Math.min(STEP_TOKENS[request.device], contextTokens),
    request.maxRunning,
  );
  const { cacheLayers, states } = program;
  const { groups, groupOf } = groupCacheLayers(
    cacheLayers,
    contextTokens,
    stepTokens,
    KV_BLOCK_TOKENS,
  );
  const hasKvBlocks = cacheLayers.length > 0;
  const layout = new KvBlockLayout(KV_BLOCK_TOKENS, groups);
  const kvBlocks = kvBlocksAsked ?? layout.most(contextTokens, stepTokens);
  const cache: CacheDesc = {
    n_layers: cacheLayers.length,
    n_groups: hasKvBlocks ? groups.length : 0,
    kv_block_tokens: KV_BLOCK_TOKENS,
    n_kv_blocks: hasKvBlocks ? kvBlocks : 0,
    type: tensorTypeByName(request.kvType.toUpperCase())!.id,
    n_kv_heads: cacheLayers.map(({ kvHeads }) => kvHeads),
    head_dim: cacheLayers.map(({ headDim }) => headDim),
    value_dim: cacheLayers.map(({ valueDim }) => valueDim),
    group: groupOf,
    states,
    slots,
  };
  const counts = {
    n_tokens: stepTokens,
    n_sequences: request.maxRunning,
    n_outputs: Math.max(request.outputs, request.maxRunning + DRAFT_OUTPUTS),
    n_sequence_kv_blocks: Math.ceil(contextTokens / KV_BLOCK_TOKENS),
    n_vocab: shape.vocabSize,
  };
  const limitsOf = (of: typeof counts, lane: number): Limits => ({
    ...of,
    lane,
    step_bytes: BigInt(stepBytes(of, contextTokens, cache.n_groups, states.length > 0)),
  });
  const limits = limitsOf(counts, request.lanes ? Lane.prompts : Lane.main);
  const most = request.maxRunning + DRAFT_OUTPUTS;
  const decodeLimits = request.lanes
    ? limitsOf({ ...counts, n_tokens: most, n_outputs: most }, Lane.main)
    : undefined;
  const ops = encodeOperations(program.operations);
  const bytesOf = (limits: Limits) =>
    context.programBytes({ limits, buffers: program.buffers, ops }, cache);
  const programBytes = bytesOf(limits) + (decodeLimits ? bytesOf(decodeLimits) : 0);
  const { bytes } = context.cacheBytes(cache);
  const ofStates = stateBytes(context, cache);
  const totalBytes = weightBytes + programBytes + bytes;
  return {
    contextTokens,
    weightBytes,
    programBytes,
    cacheBytes: bytes - ofStates,
    stateBytes: ofStates,
    totalBytes,
    leftBytes: request.freeBytes - totalBytes,
    kvBlocks,
    kvBlockTokens: KV_BLOCK_TOKENS,
    kvType: request.kvType,
    slots,
    cache,
    groups,
    limits,
    decodeLimits,
  };
}

/** How many tokens the KV blocks hold, of sequences of the whole context. */
export function cacheTokens({ kvBlocks, contextTokens, groups }: MemoryPlan): number {
  const keepsAll = groups.every(({ window, chunk }) => window + chunk === 0);
  if (keepsAll) return kvBlocks * KV_BLOCK_TOKENS / groups.length;
  const each = new KvBlockLayout(KV_BLOCK_TOKENS, groups).most(contextTokens, 1);
  return Math.floor(kvBlocks / each * contextTokens);
}

/** KV blocks that so many sequences of a whole context hold at once: of a step's tokens each has its share. */
export function usefulKvBlocks(
  { kvBlocks, contextTokens, groups }: Pick<MemoryPlan, "kvBlocks" | "contextTokens" | "groups">,
  sequences: number,
): number {
  return kvBlocks +
    (sequences - 1) * new KvBlockLayout(KV_BLOCK_TOKENS, groups).most(contextTokens, 1);
}

/** What several plans take together. */
export function sumOf(
  plans: readonly Pick<MemoryPlan, typeof SUMMED[number]>[],
): Pick<MemoryPlan, typeof SUMMED[number]> {
  const sums = SUMMED.map((bytes) => [bytes, plans.reduce((sum, plan) => sum + plan[bytes], 0)]);
  return Object.fromEntries(sums);
}

const SUMMED = [
  "weightBytes",
  "programBytes",
  "cacheBytes",
  "stateBytes",
  "totalBytes",
  "leftBytes",
] as const;
