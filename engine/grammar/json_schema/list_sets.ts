import type { Costs } from "./limits.ts";
import type { Decimal, ListedNumber } from "./number_values.ts";

/** Lists as sets, each made once: the same list is looked into by many shapes and for many keys. */
const sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();

/** The set of a list that does not change any more; the first caller pays for it. */
export function setOf<T>(list: readonly T[], costs: Costs): ReadonlySet<T> {
  return made(list, costs, (one) => one);
}

/** The values of listed numbers: 1 and 1.0 are one. */
export function decimalsOf(list: readonly ListedNumber[], costs: Costs): ReadonlySet<Decimal> {
  return made(list, costs, ({ decimal }) => decimal);
}

/** A list is of one kind, so it has one set. */
function made<T, U>(list: readonly T[], costs: Costs, of: (one: T) => U): ReadonlySet<U> {
  let set = sets.get(list);
  if (!set) {
    costs.look(list.length);
    sets.set(list, set = new Set(list.map(of)));
  }
  return set as ReadonlySet<U>;
}
