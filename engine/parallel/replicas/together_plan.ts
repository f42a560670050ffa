import { type MemoryPlan, sumOf } from "../../memory/mod.ts";

/**
 * The memory of all replicas together. What holds for each of them, KV blocks' sizes and limits of a step, is that of the
 * first; a sequence may have what it may have on any.
 */
export function togetherPlan(plans: readonly MemoryPlan[]): MemoryPlan {
  const [first] = plans;
  if (plans.length === 1) return first;
  return {
    ...first,
    contextTokens: Math.min(...plans.map(({ contextTokens }) => contextTokens)),
    mostContextTokens: Math.min(...plans.map(({ mostContextTokens }) => mostContextTokens)),
    ...sumOf(plans),
    kvBlocks: plans.reduce((sum, { kvBlocks }) => sum + kvBlocks, 0),
    slots: plans.reduce((sum, { slots }) => sum + slots, 0),
  };
}
