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
  let hasIndex = false;
  for (const key of map.keys()) {
    if (isIndex(key)) hasIndex = true;
  }
  if (!hasIndex) return object;
  const keys = [...map.keys()];
  const inOrder = Object.keys(object).every((key, i) => key === keys[i]);
  return inOrder ? object : new Proxy(object, new KeyOrder(keys));
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

/** Lists the keys of an object as they came. */
class KeyOrder implements ProxyHandler<Record<string, unknown>> {
  private readonly keys: Set<string | symbol>;

  constructor(keys: readonly string[]) {
    this.keys = new Set(keys);
  }

  ownKeys(): (string | symbol)[] {
    return [...this.keys];
  }

  deleteProperty(object: Record<string, unknown>, key: string | symbol): boolean {
    this.keys.delete(key);
    return Reflect.deleteProperty(object, key);
  }

  defineProperty(
    object: Record<string, unknown>,
    key: string | symbol,
    property: PropertyDescriptor,
  ): boolean {
    this.keys.add(key);
    return Reflect.defineProperty(object, key, property);
  }
}
