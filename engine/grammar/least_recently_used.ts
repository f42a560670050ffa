/** A map of at most that many entries: those that were asked for last. */
export class LeastRecentlyUsed<Key, Value> {
  private readonly entries = new Map<Key, Value>();

  constructor(private readonly most: number) {}

  get size(): number {
    return this.entries.size;
  }

  get(key: Key): Value | undefined {
    const value = this.entries.get(key);
    if (value === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, value);
    return value;
  }

  put(key: Key, value: Value): Value {
    this.entries.set(key, value);
    if (this.entries.size > this.most) {
      this.entries.delete(this.entries.keys().next().value!);
    }
    return value;
  }
}
