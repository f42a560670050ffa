import type { MemoryPlan } from "../../memory/mod.ts";

/**
 * The memory of all replicas together. What holds for each of them, KV blocks' sizes and limits of a step, is that of the
 * first; a sequence may have what it may have on any.
 */
export function togetherPlan(plans: readonly MemoryPlan[]): MemoryPlan {
  const [first] = plans;
  if (plans.length === 1) return first;
  const sum = (value: (plan: MemoryPlan) => number) =>
    plans.reduce((sum, plan) => sum + value(plan), 0);
  return {
    ...first,
    contextTokens: Math.min(...plans.map(({ contextTokens }) => contextTokens)),
    mostContextTokens: Math.min(...plans.map(({ mostContextTokens }) => mostContextTokens)),
    weightBytes: sum(({ weightBytes }) => weightBytes),
    programBytes: sum(({ programBytes }) => programBytes),
    cacheBytes: sum(({ cacheBytes }) => cacheBytes),
    stateBytes: sum(({ stateBytes }) => stateBytes),
    totalBytes: sum(({ totalBytes }) => totalBytes),
    leftBytes: sum(({ leftBytes }) => leftBytes),
    kvBlocks: sum(({ kvBlocks }) => kvBlocks),
    slots: sum(({ slots }) => slots),
  };
}
