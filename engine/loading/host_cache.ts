import type { MemoryPlan } from "../memory/mod.ts";
import { HostKvBlocks } from "../scheduler/mod.ts";
import type { PlacedModel } from "./placed_model.ts";

/** The largest share of host memory for states: a preempted sequence has a state and KV blocks. */
const STATE_SHARE = 1 / 2;

/** Host memory for the KV blocks and states of preempted sequences, of so many bytes together. */
export function createHostCache(
  { kvBlockBytes, slotBytes, hostMemory }: Pick<
    PlacedModel,
    "kvBlockBytes" | "slotBytes" | "hostMemory"
  >,
  plan: MemoryPlan,
  bytes: number,
): { host?: HostKvBlocks; hostStates?: HostKvBlocks } {
  const slots = slotBytes === 0
    ? 0
    : Math.min(plan.limits.n_sequences, Math.floor(STATE_SHARE * bytes / slotBytes));
  const roomOfNothing = slots > 0 ? plan.kvBlocks : 0;
  const kvBlocks = kvBlockBytes === 0
    ? roomOfNothing
    : Math.floor((bytes - slots * slotBytes) / kvBlockBytes);
  const memoryFor = (count: number, each: number) =>
    count === 0 ? undefined : new HostKvBlocks(hostMemory(count * each), each, count);
  return { host: memoryFor(kvBlocks, kvBlockBytes), hostStates: memoryFor(slots, slotBytes) };
}
