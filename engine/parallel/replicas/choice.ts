import type { SchedulerOffer } from "../../scheduler/mod.ts";

/** What a sequence that runs on a replica counts as, in tokens of prompts to compute: it makes all steps there longer. */
const SEQUENCE_TOKENS = 64;

/** What a replica has to do and could do with a request. */
export interface ReplicaOffer extends SchedulerOffer {
  /** Tokens of prompts that its next step computes at most. */
  readonly promptBudget: number;
  /** Whether an earlier sequence waits for it: no later one may begin there before. */
  readonly isAwaited: boolean;
}

/** Where a request goes. */
export interface ReplicaChoice {
  /** The replica's index in the given list. */
  readonly index: number;
  /** Whether it begins there with the next step; else it waits, for it or for another that is better then. */
  readonly begins: boolean;
}

/**
 * Chooses a replica for a request: of those with room, the one with the fewest tokens to compute before its prompt is
 * done. These are the tokens of other sequences and its own that are not cached there. So it goes to the replica with
 * its cached prefix, unless another computes the whole prompt sooner.
 *
 * It waits for that replica where it cannot begin with the next step. Without a cached prefix, it begins where it can
 * begin at once. No new sequence begins on an awaited replica, so the wait ends.
 *
 * @param promptTokens Tokens of its prompt.
 * @returns undefined where none has room.
 */
export function chooseReplica(
  promptTokens: number,
  offers: readonly ReplicaOffer[],
): ReplicaChoice | undefined {
  const tokensAt = ({ cachedTokens, ...offer }: ReplicaOffer) =>
    outstandingTokens(offer) + promptTokens - cachedTokens;
  let best: number | undefined;
  let soonest: number | undefined;
  for (const [index, offer] of offers.entries()) {
    if (!offer.hasRoom) continue;
    const tokens = tokensAt(offer);
    if (best === undefined || tokens < tokensAt(offers[best])) best = index;
    if (!beginsAt(offer)) continue;
    if (soonest === undefined || tokens < tokensAt(offers[soonest])) soonest = index;
  }
  if (best === undefined) return undefined;
  if (soonest === undefined) return { index: best, begins: false };
  const waits = offers[best].cachedTokens > offers[soonest].cachedTokens && !beginsAt(offers[best]);
  return waits ? { index: best, begins: false } : { index: soonest, begins: true };
}

function beginsAt({ isAwaited, promptTokens, promptBudget }: ReplicaOffer): boolean {
  return !isAwaited && promptTokens < promptBudget;
}

/** What a replica has to do, in tokens. */
export function outstandingTokens(
  { promptTokens, sequences }: Pick<ReplicaOffer, "promptTokens" | "sequences">,
): number {
  return promptTokens + SEQUENCE_TOKENS * sequences;
}
