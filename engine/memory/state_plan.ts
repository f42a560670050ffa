import type { CacheDesc, DeviceKind } from "../device/mod.ts";
import { tensorTypeByName } from "../gguf/mod.ts";
import type { Program } from "../program/mod.ts";
import { type Sizes, weightBytesOf } from "./remembered_sizes.ts";

/** Sequences that run at the same time, where nothing is said. */
export const DEFAULT_PARALLEL = { gpu: 32, cpu: 4 };
/**
 * The largest share of the memory without the weights for the states of running sequences, unless their number is
 * given. A state may be as large as the K and V of a thousand tokens (50 MiB for a Qwen3.5 of 9B, whose token takes
 * 32 KiB): thirty of them would take most of what a card of 12 GB has left.
 */
const RUNNING_SHARE = 1 / 4;
/**
 * The share of the memory left after that for states kept for later prompts; KV blocks get the rest. A cached prefix
 * needs both.
 */
export const KEPT_SHARE = 1 / 4;
/** Kept states at most, for each sequence that runs: the end of its prompt, of its answer, and of two before. */
const MOST_KEPT = 4;

/** Slots that sequences need to run: one each, and one more to write to while another is read. */
export function leastSlots({ states }: Program, sequences: number): number {
  return states.length === 0 ? 0 : sequences + 1;
}

/** Slots for unreferenced states, out of so many bytes that are left for them and for KV blocks. */
export function keptSlots(bytes: number, slotBytes: number, sequences: number): number {
  if (slotBytes === 0) return 0;
  const most = Math.floor(KEPT_SHARE * Math.max(0, bytes) / slotBytes);
  return Math.min(most, MOST_KEPT * sequences);
}

/** How many sequences run at the same time where nothing is said. */
export function usualParallel(
  context: Sizes,
  { states, weights }: Program,
  device: DeviceKind,
  freeBytes: number,
): number {
  const usual = DEFAULT_PARALLEL[device];
  if (states.length === 0) return usual;
  const weightBytes = weightBytesOf(context, weights);
  const { slotBytes } = context.cacheBytes(withoutLayers({ states, slots: 1 }));
  const slots = Math.floor(RUNNING_SHARE * Math.max(0, freeBytes - weightBytes) / slotBytes);
  return Math.min(usual, Math.max(1, slots - 1));
}

/** Bytes of the slots alone. */
export function stateBytes(context: Sizes, { states, slots }: CacheDesc): number {
  return slots === 0 ? 0 : context.cacheBytes(withoutLayers({ states, slots })).bytes;
}

function withoutLayers(states: Pick<CacheDesc, "states" | "slots">): CacheDesc {
  return {
    n_layers: 0,
    n_groups: 0,
    kv_block_tokens: 1,
    n_kv_blocks: 0,
    type: tensorTypeByName("F16")!.id,
    n_kv_heads: [],
    head_dim: [],
    value_dim: [],
    group: [],
    ...states,
  };
}
