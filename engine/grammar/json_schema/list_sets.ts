/**
 * Lists as sets, each made once: the same list is looked into by many shapes and for many keys.
 *
 * @module
 */

const sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();

/** The set of a list that does not change any more. */
export function setOf<T>(list: readonly T[]): ReadonlySet<T> {
  let set = sets.get(list);
  if (!set) sets.set(list, set = new Set(list));
  return set as ReadonlySet<T>;
}
