import { type KvBlockName, type PrefixKey, prefixKey } from "./kv_block_name.ts";

/** A prefix of which the last KV block is on disk, of some groups. */
export interface StoredPrefix {
  readonly key: PrefixKey;
  readonly promptRows: number;
}

/** Which KV blocks are on disk, as far as is known: others may add some and remove some at any time. */
export class KvBlockIndex {
  /** Of each hash and number of prompt rows the groups that there are KV blocks of, a bit each. */
  private readonly known = new Map<string, Map<number, number>>();
  private count = 0;

  /** How many KV blocks there are. */
  get size(): number {
    return this.count;
  }

  /** The prefixes of a hash, those with most prompt rows first. */
  prefixes(hash: string): StoredPrefix[] {
    return [...this.known.get(hash)?.keys() ?? []].sort((a, b) => b - a)
      .map((promptRows) => ({ key: prefixKey(hash, promptRows), promptRows }));
  }

  has({ hash, promptRows, group }: KvBlockName): boolean {
    return ((this.known.get(hash)?.get(promptRows) ?? 0) & 1 << group) !== 0;
  }

  add(kvBlock: KvBlockName): void {
    if (this.has(kvBlock)) return;
    const { hash, promptRows, group } = kvBlock;
    let rows = this.known.get(hash);
    if (rows === undefined) this.known.set(hash, rows = new Map());
    rows.set(promptRows, (rows.get(promptRows) ?? 0) | 1 << group);
    this.count++;
  }

  delete(kvBlock: KvBlockName): void {
    if (!this.has(kvBlock)) return;
    const { hash, promptRows, group } = kvBlock;
    const rows = this.known.get(hash)!;
    const groups = rows.get(promptRows)! & ~(1 << group);
    if (groups !== 0) rows.set(promptRows, groups);
    else if (rows.delete(promptRows) && rows.size === 0) this.known.delete(hash);
    this.count--;
  }
}
