/**
 * Lists as sets, each made once: the same list is looked into by many shapes and for many keys.
 *
 * @module
 */
import type { Budget } from "./limits.ts";

const sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();

/** The set of a list that does not change any more; who asks first pays for it. */
export function setOf<T>(list: readonly T[], budget: Budget, place: string): ReadonlySet<T> {
  let set = sets.get(list);
  if (!set) {
    budget.look(list.length, place);
    sets.set(list, set = new Set(list));
  }
  return set as ReadonlySet<T>;
}
