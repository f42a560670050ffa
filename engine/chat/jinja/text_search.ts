import type { Budget } from "./budget.ts";

/**
 * Searches for texts that end with their thread, and in time. Those of JavaScript take quadratic time for some texts,
 * minutes for long ones, and nothing ends one meanwhile.
 *
 * @module
 */

/** Characters that are compared in one go, in a tenth of a second at most. */
const MOST_COMPARED = 2 ** 27;

/**
 * Where a text stands first in another one, from a place on; below 0 where it does not.
 *
 * @param budget Whose time the search may take; absent: as much as it needs.
 */
export function firstPlace(
  budget: Budget | undefined,
  text: string,
  wanted: string,
  from = 0,
): number {
  const most = placesAtOnce(text.length - from, wanted.length);
  if (most === Infinity) return text.indexOf(wanted, from);
  for (let at = from; at + wanted.length <= text.length; at += most) {
    budget?.look();
    const found = text.slice(at, at + most - 1 + wanted.length).indexOf(wanted);
    if (found >= 0) return at + found;
  }
  return -1;
}

/** Where it stands last. */
export function lastPlace(budget: Budget | undefined, text: string, wanted: string): number {
  const most = placesAtOnce(text.length, wanted.length);
  if (most === Infinity) return text.lastIndexOf(wanted);
  for (let last = text.length - wanted.length; last >= 0; last -= most) {
    budget?.look();
    const start = Math.max(0, last - most + 1);
    const found = text.slice(start, last + wanted.length).lastIndexOf(wanted);
    if (found >= 0) return start + found;
  }
  return -1;
}

/** At how many places a text is looked for at once. */
function placesAtOnce(length: number, wanted: number): number {
  if (length * wanted <= MOST_COMPARED) return Infinity;
  return Math.max(1, Math.floor(MOST_COMPARED / wanted));
}
