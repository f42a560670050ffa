import { type CacheDesc, stepBytes } from "../device/mod.ts";
import { encodeOperations, type ProgramPart } from "../program/mod.ts";
import type { MemoryPlan } from "./memory_plan.ts";
import type { PlacedMemory } from "./placement.ts";
import { type Sizes, weightBytesOf } from "./remembered_sizes.ts";
import { stateBytes } from "./state_plan.ts";

/** Where the memory of a card goes that has a part of a program. */
export interface StagePlan extends PlacedMemory {
  readonly totalBytes: number;
  /** Of the whole model's groups of layers, those that it has layers of, in the order of its own. */
  readonly groups: readonly number[];
}

/**
 * Plans the memory of a part of a program. KV blocks and slots have the numbers of the whole model; the part keeps
 * the data of its own layers and states.
 *
 * @param whole The plan of the whole program.
 */
export function planStage(
  context: Sizes,
  part: ProgramPart,
  whole: Pick<MemoryPlan, "cache" | "limits" | "contextTokens">,
): StagePlan {
  const { program, cacheLayers, states } = part;
  const groups = [...new Set(cacheLayers.map((layer) => whole.cache.group[layer]))]
    .sort((a, b) => a - b);
  const ofLayers = (values: ArrayLike<number>) => cacheLayers.map((layer) => values[layer]);
  const cache: CacheDesc = {
    n_layers: cacheLayers.length,
    n_groups: groups.length,
    kv_block_tokens: whole.cache.kv_block_tokens,
    n_kv_blocks: cacheLayers.length === 0 ? 0 : whole.cache.n_kv_blocks,
    type: whole.cache.type,
    n_kv_heads: ofLayers(whole.cache.n_kv_heads),
    head_dim: ofLayers(whole.cache.head_dim),
    value_dim: ofLayers(whole.cache.value_dim),
    group: ofLayers(whole.cache.group).map((group) => groups.indexOf(group)),
    states: states.map((state) => whole.cache.states[state]),
    slots: states.length === 0 ? 0 : whole.cache.slots,
  };
  const step = stepBytes(whole.limits, whole.contextTokens, groups.length, states.length > 0);
  const limits = { ...whole.limits, step_bytes: BigInt(step) };
  const weightBytes = weightBytesOf(context, program.weights);
  const records = { limits, buffers: program.buffers, ops: encodeOperations(program.operations) };
  const programBytes = context.programBytes(records, cache);
  const { bytes } = context.cacheBytes(cache);
  const ofStates = stateBytes(context, cache);
  return {
    weightBytes,
    programBytes,
    cacheBytes: bytes - ofStates,
    stateBytes: ofStates,
    totalBytes: weightBytes + programBytes + bytes,
    cache,
    groups,
    limits,
  };
}
