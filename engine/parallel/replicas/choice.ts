import type { SchedulerOffer } from "../../scheduler/mod.ts";

/** What a sequence that runs on a replica counts as, in tokens of prompts to compute: it makes all steps there longer. */
const SEQUENCE_TOKENS = 64;

/** What a replica has to do and could do with a request. */
export interface ReplicaOffer extends SchedulerOffer {
  /** Tokens of prompts that its next step computes at most. */
  readonly promptBudget: number;
  /** Whether somebody who came earlier waits for it: it is nobody's before that one has begun there. */
  readonly isAwaited: boolean;
}

/** Where a request goes. */
export interface ReplicaChoice {
  /** The replica's place among those that were given. */
  readonly index: number;
  /** Whether it begins there with the next step; else it waits, for it or for another that is better then. */
  readonly begins: boolean;
}

/**
 * Chooses a replica for a request: of those with room for it the one where the fewest tokens are to be computed until
 * its prompt is, those of others and its own that are not in the KV cache there. So it goes where its beginning lies,
 * unless that replica has so much more to do than another that the other computes all of the prompt sooner.
 *
 * Where it would not be in the next step, it waits, for its beginning alone: else it goes where it begins at once. What a
 * replica that is awaited has to compute gets less with every step, as nobody new begins there, so that this ends.
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
