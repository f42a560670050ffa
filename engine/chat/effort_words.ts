/**
 * How much a model is to reason, in the words that its template takes. Clients have seven words; templates know
 * three, or others, or fail on the rest.
 *
 * @module
 */
import type { Trial } from "./template_trial.ts";

/** From little to much. */
export const EFFORTS = ["minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** The words that every template is taken to know that shows whichever it gets. */
const COMMON = ["low", "medium", "high"];

/** A word that no template knows. */
const NONSENSE = "word-4f1c";

/** What a template makes of efforts. */
export interface KnownEfforts {
  /** Those that it distinguishes. */
  readonly words: readonly string[];
  /** Whether it fails on others. */
  readonly refuses: boolean;
}

/**
 * Which words a template knows, found out by trying.
 *
 * @param say What a message's content has to be like for a text.
 */
export function knownEfforts(trial: Trial, say: (text: string) => unknown): KnownEfforts {
  const shown = (effort: string) =>
    trial.render([{ role: "user", content: say("x") }], null, { reasoning_effort: effort });
  const other = shown(NONSENSE);
  if (other?.includes(NONSENSE)) return { words: COMMON, refuses: false };
  const words = EFFORTS.filter((effort) => {
    const text = shown(effort);
    return text !== undefined && text !== other;
  });
  return { words, refuses: other === undefined };
}

/**
 * The word that a template gets; undefined: none, since it fails on all.
 *
 * Of two words that are equally near it is the lesser one: no more reasoning than was asked for. Where a template fails
 * on no word, the usual three stay as they are: its default is one of them.
 */
export function effortFor({ words, refuses }: KnownEfforts, effort: string): string | undefined {
  const taken = refuses ? words : [...COMMON, ...words];
  const at = placeOf(effort);
  if (taken.includes(effort) || (at < 0 && !refuses)) return effort;
  if (at < 0 || taken.length === 0) return undefined;
  const places = taken.map(placeOf).sort((a, b) => a - b);
  return EFFORTS[
    places.reduce((best, place) => Math.abs(place - at) < Math.abs(best - at) ? place : best)
  ];
}

function placeOf(effort: string): number {
  return EFFORTS.findIndex((one) => one === effort);
}
