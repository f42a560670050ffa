import { type KvBlockName, type PrefixKey, STATE_GROUP } from "./cache/mod.ts";
import type { DiskKvBlocksOptions } from "./disk_kv_blocks_options.ts";
import { NO_KV_BLOCK } from "../kv_blocks/kv_block_layout.ts";
import type { Match } from "../kv_blocks/kv_block_manager.ts";
import { tokensText } from "../kv_blocks/prefix_tree.ts";

/** A KV block on disk that a sequence could take over. */
export interface WantedKvBlock {
  readonly name: KvBlockName;
  /** Which KV block of the sequence's tokens it holds. */
  readonly index: number;
}

/** The prefix of a sequence that is in memory and on disk together. */
export interface DiskPrefix {
  /** How many KV blocks of tokens can be taken over when the KV blocks from disk are in memory. */
  readonly length: number;
  /** Those KV blocks, earlier ones first. */
  readonly wanted: readonly WantedKvBlock[];
  /** The state after the last of them, where it is on disk alone. */
  readonly wantedState?: WantedKvBlock;
  /** The KV blocks in memory that are shared in addition. */
  readonly held: readonly number[];
  /** Of each KV block of tokens how many were computed as prompt rows. */
  readonly promptRows: readonly number[];
}

/**
 * Searches the prefix of a sequence on disk, where the match in memory ends or has gaps.
 *
 * @param match The match in memory.
 * @param accepts As of {@link KvBlockManager.match}.
 */
export function findOnDisk(
  { store, keys, kvBlockManager }: Pick<DiskKvBlocksOptions, "store" | "keys" | "kvBlockManager">,
  tokens: readonly number[],
  match: Match,
  accepts: (index: number, promptRows: number) => boolean = () => true,
): DiskPrefix {
  const { layout, kvBlockTokens } = kvBlockManager;
  const { prefixes } = match;
  const names: { hash: string; promptRows: number }[] = [];
  let key: PrefixKey = store.rootKey;
  for (let start = 0; start + kvBlockTokens < tokens.length; start += kvBlockTokens) {
    const index = names.length;
    if (index < prefixes.length) {
      const { hash, promptRows } = keys.nameOf(prefixes[index], 0);
      names.push({ hash, promptRows });
      key = keys.keyOf(prefixes[index]);
      continue;
    }
    const { hash, prefixes: stored } = store.find(
      key,
      tokensText(tokens, start, start + kvBlockTokens),
    );
    const found = stored.find(({ promptRows }) => accepts(index, promptRows));
    if (found === undefined) break;
    names.push({ hash, promptRows: found.promptRows });
    key = found.key;
  }
  const inMemory = (index: number, group: number) =>
    prefixes[index]?.kvBlocks[group] ?? NO_KV_BLOCK;
  const stateOf = (index: number) => ({ ...names[index], group: STATE_GROUP });
  const length = layout.usable(
    names.length,
    (index, group) =>
      inMemory(index, group) !== NO_KV_BLOCK || store.has({ ...names[index], group }),
    kvBlockManager.slots &&
      ((index) => prefixes[index]?.slot !== undefined || store.has(stateOf(index))),
  );
  const wanted: WantedKvBlock[] = [];
  const held: number[] = [];
  for (let index = 0; index < length; index++) {
    for (let group = 0; group < layout.groups.length; group++) {
      if (index < layout.firstKvBlock(group, length * kvBlockTokens)) continue;
      const kvBlock = inMemory(index, group);
      if (kvBlock !== NO_KV_BLOCK) held.push(kvBlock);
      else wanted.push({ name: { ...names[index], group }, index });
    }
  }
  const last = length - 1;
  const wantedState = kvBlockManager.slots && length > 0 && prefixes[last]?.slot === undefined
    ? { name: stateOf(last), index: last }
    : undefined;
  const promptRows = names.map(({ promptRows }) => promptRows);
  return { length, wanted, wantedState, held, promptRows };
}
