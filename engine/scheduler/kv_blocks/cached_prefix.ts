import { type KvBlockLayout, NO_KV_BLOCK } from "./kv_block_layout.ts";
import type { Prefix } from "./prefix_tree.ts";
import type { Sequence } from "../sequences/sequence.ts";

/** The prefix whose KV blocks a sequence shares. */
export interface CachedPrefix {
  /** Of each group of layers, as {@link Sequence.kvBlocks}. */
  readonly kvBlocks: number[][];
  readonly prefixes: (Prefix | undefined)[];
}

/**
 * The prefix of a leader's prompt; its last KV block may not be full. Undefined where the leader has released blocks
 * behind a window.
 */
export function prefixOfLeader(
  { kvBlocks, prefixes, prompt }: Sequence,
  layout: KvBlockLayout,
): CachedPrefix | undefined {
  const { kvBlockTokens } = layout;
  const count = Math.ceil(prompt.length / kvBlockTokens);
  const shared: number[][] = [];
  for (const [group, own] of kvBlocks.entries()) {
    const first = layout.firstKvBlock(group, prompt.length - 1);
    const taken = new Array<number>(first).fill(NO_KV_BLOCK);
    for (let i = first; i < count; i++) {
      const kvBlock = own[i] === NO_KV_BLOCK ? prefixes[i]?.kvBlocks[group] : own[i];
      if (kvBlock === undefined || kvBlock === NO_KV_BLOCK) return undefined;
      taken.push(kvBlock);
    }
    shared.push(taken);
  }
  return {
    kvBlocks: shared,
    prefixes: prefixes.slice(0, Math.floor((prompt.length - 1) / kvBlockTokens)),
  };
}
