import {
  type KvBlockName,
  prefixHash,
  type PrefixKey,
  prefixKey,
  STATE_GROUP,
} from "../disk/cache/mod.ts";
import { type Prefix, ROOT_PREFIX } from "./prefix_tree.ts";

/** What prefixes in memory are known by on disk, each found out once. */
export class PrefixKeys {
  private readonly hashes = new WeakMap<Prefix, string>();

  /** @param root The key of the prefix of no tokens. */
  constructor(private readonly root: PrefixKey) {}

  /** The key of a prefix. */
  keyOf(prefix: Prefix): PrefixKey {
    if (prefix === ROOT_PREFIX) return this.root;
    return prefixKey(this.hashOf(prefix), prefix.promptRows);
  }

  /** The name of the last KV block of a prefix, of a group. */
  nameOf(prefix: Prefix, group: number): KvBlockName {
    return { hash: this.hashOf(prefix), promptRows: prefix.promptRows, group };
  }

  /** The name of the state after a prefix. */
  stateNameOf(prefix: Prefix): KvBlockName {
    return this.nameOf(prefix, STATE_GROUP);
  }

  private hashOf(prefix: Prefix): string {
    const unknown: Prefix[] = [];
    for (let one = prefix; one !== ROOT_PREFIX && !this.hashes.has(one); one = one.before!) {
      unknown.push(one);
    }
    for (const one of unknown.reverse()) {
      this.hashes.set(one, prefixHash(this.keyOf(one.before!), one.tokens));
    }
    return this.hashes.get(prefix)!;
  }
}
