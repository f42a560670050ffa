/**
 * Lists as sets, each made once: the same list is looked into by many shapes and for many keys.
 *
 * @module
 */
import type { Budget } from "./limits.ts";
import type { Decimal, ListedNumber } from "./number_values.ts";

const sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();

/** The set of a list that does not change any more; the first caller pays for it. */
export function setOf<T>(list: readonly T[], budget: Budget, place: string): ReadonlySet<T> {
  return made(list, budget, place, () => new Set(list));
}

/** The values of listed numbers: 1 and 1.0 are one. */
export function decimalsOf(
  list: readonly ListedNumber[],
  budget: Budget,
  place: string,
): ReadonlySet<Decimal> {
  return made(list, budget, place, () => new Set(list.map(({ decimal }) => decimal)));
}

/** A list is of one kind, so it has one set. */
function made<T>(
  list: readonly unknown[],
  budget: Budget,
  place: string,
  make: () => ReadonlySet<T>,
): ReadonlySet<T> {
  let set = sets.get(list);
  if (!set) {
    budget.look(list.length, place);
    sets.set(list, set = make());
  }
  return set as ReadonlySet<T>;
}
