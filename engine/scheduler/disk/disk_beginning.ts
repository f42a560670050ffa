import { type PageName, type PrefixKey, STATE_GROUP } from "./cache/mod.ts";
import type { DiskPagesOptions } from "./disk_pages_options.ts";
import { NO_PAGE } from "../pages/page_layout.ts";
import type { Match } from "../pages/page_manager.ts";
import { tokensText } from "../pages/prefix_tree.ts";

/** A page on disk that a sequence could take over. */
export interface WantedPage {
  readonly name: PageName;
  /** Which page of the sequence's tokens it holds. */
  readonly index: number;
}

/** What of a sequence's beginning there is in memory and on disk together. */
export interface DiskBeginning {
  /** How many pages of tokens can be taken over when the pages from disk are in memory. */
  readonly length: number;
  /** Those pages, earlier ones first. */
  readonly wanted: readonly WantedPage[];
  /** The state after the last of them, where it is on disk alone. */
  readonly wantedState?: WantedPage;
  /** The pages in memory that are taken over beside them. */
  readonly held: readonly number[];
  /** Of each page of tokens how many were computed as prompt rows. */
  readonly promptRows: readonly number[];
}

/**
 * Looks for the beginning of a sequence on disk, where what is published in memory leaves off or has gaps.
 *
 * @param match What is published in memory.
 * @param accepts As of {@link PageManager.match}.
 */
export function findOnDisk(
  { store, keys, pageManager }: Pick<DiskPagesOptions, "store" | "keys" | "pageManager">,
  tokens: readonly number[],
  match: Match,
  accepts: (index: number, promptRows: number) => boolean = () => true,
): DiskBeginning {
  const { layout, pageTokens } = pageManager;
  const { prefixes } = match;
  const names: { hash: string; promptRows: number }[] = [];
  let key: PrefixKey = store.rootKey;
  for (let start = 0; start + pageTokens < tokens.length; start += pageTokens) {
    const index = names.length;
    if (index < prefixes.length) {
      const { hash, promptRows } = keys.nameOf(prefixes[index], 0);
      names.push({ hash, promptRows });
      key = keys.keyOf(prefixes[index]);
      continue;
    }
    const { hash, prefixes: stored } = store.find(
      key,
      tokensText(tokens, start, start + pageTokens),
    );
    const found = stored.find(({ promptRows }) => accepts(index, promptRows));
    if (found === undefined) break;
    names.push({ hash, promptRows: found.promptRows });
    key = found.key;
  }
  const inMemory = (index: number, group: number) => prefixes[index]?.pages[group] ?? NO_PAGE;
  const stateOf = (index: number) => ({ ...names[index], group: STATE_GROUP });
  const length = layout.usable(
    names.length,
    (index, group) => inMemory(index, group) !== NO_PAGE || store.has({ ...names[index], group }),
    pageManager.slots &&
      ((index) => prefixes[index]?.slot !== undefined || store.has(stateOf(index))),
  );
  const wanted: WantedPage[] = [];
  const held: number[] = [];
  for (let index = 0; index < length; index++) {
    for (let group = 0; group < layout.groups.length; group++) {
      if (index < layout.firstPage(group, length * pageTokens)) continue;
      const page = inMemory(index, group);
      if (page !== NO_PAGE) held.push(page);
      else wanted.push({ name: { ...names[index], group }, index });
    }
  }
  const last = length - 1;
  const wantedState = pageManager.slots && length > 0 && prefixes[last]?.slot === undefined
    ? { name: stateOf(last), index: last }
    : undefined;
  const promptRows = names.map(({ promptRows }) => promptRows);
  return { length, wanted, wantedState, held, promptRows };
}
