import type { MemoryPlan } from "../memory/mod.ts";
import { HostPages } from "../scheduler/mod.ts";
import type { PlacedModel } from "./placed_model.ts";

/** The share of host memory that states get at most: a sequence that gives way has a state and pages. */
const STATE_SHARE = 1 / 2;

/** Host memory for the pages and states of sequences that give way, of so many bytes together. */
export function createHostCache(
  { pageBytes, slotBytes, hostMemory }: Pick<PlacedModel, "pageBytes" | "slotBytes" | "hostMemory">,
  plan: MemoryPlan,
  bytes: number,
): { host?: HostPages; hostStates?: HostPages } {
  const slots = slotBytes === 0
    ? 0
    : Math.min(plan.limits.n_sequences, Math.floor(STATE_SHARE * bytes / slotBytes));
  const roomOfNothing = slots > 0 ? plan.pages : 0;
  const pages = pageBytes === 0
    ? roomOfNothing
    : Math.floor((bytes - slots * slotBytes) / pageBytes);
  const memoryFor = (count: number, each: number) =>
    count === 0 ? undefined : new HostPages(hostMemory(count * each), each, count);
  return { host: memoryFor(pages, pageBytes), hostStates: memoryFor(slots, slotBytes) };
}
