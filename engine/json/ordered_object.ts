/**
 * An object with its members in the order in which they are given. JavaScript puts keys that are integers first
 * whatever order they came in; such an object is listed by a proxy, for `Object.entries`, `for` and
 * `JSON.stringify` alike. A copy by `{...}` is in JavaScript's order; one made here is not. Where a key comes
 * twice, its last value stands in its first place, as in Python.
 *
 * @param members Keys and values.
 */
export function orderedObject(
  members: Iterable<readonly [string, unknown]>,
): Record<string, unknown> {
  const map = members instanceof Map ? members as Map<string, unknown> : new Map(members);
  // A key may be "__proto__": it becomes a member like any other.
  const object = Object.fromEntries(map);
  const keys = [...map.keys()];
  if (!keys.some(isIndex)) return object;
  const inOrder = Object.keys(object).every((key, i) => key === keys[i]);
  return inOrder ? object : listedAs(object, keys);
}

/** Sets a member of any name: "__proto__" becomes a member like any other. */
export function define(holder: object, key: string | number, value: unknown): void {
  Object.defineProperty(holder, key, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

/** The same members of an object with other values, in their order. */
export function mapMembers(
  object: object,
  change: (value: unknown, key: string) => unknown,
): Record<string, unknown> {
  return orderedObject(
    Object.entries(object).map(([key, value]) => [key, change(value, key)] as const),
  );
}

/** Whether JavaScript may put a key before others: it is an integer. */
function isIndex(key: string): boolean {
  const first = key.charCodeAt(0);
  return first >= 0x30 && first <= 0x39 && /^(0|[1-9]\d{0,9})$/.test(key);
}

/** An object whose keys are listed in an order; those that are set later stand behind them. */
function listedAs(
  object: Record<string, unknown>,
  keys: readonly string[],
): Record<string, unknown> {
  const order = new Set<string | symbol>(keys);
  return new Proxy(object, {
    ownKeys: () => [...order],
    deleteProperty(target, key) {
      order.delete(key);
      return Reflect.deleteProperty(target, key);
    },
    defineProperty(target, key, property) {
      order.add(key);
      return Reflect.defineProperty(target, key, property);
    },
  });
}
