import { NO_PAGE, type PageLayout } from "./page_layout.ts";
import type { Prefix } from "./prefix_tree.ts";
import type { Sequence } from "../sequences/sequence.ts";

/** What a sequence takes over of its beginning. */
export interface Beginning {
  /** Of each group of layers, as {@link Sequence.pages}. */
  readonly pages: number[][];
  readonly prefixes: (Prefix | undefined)[];
}

/**
 * The pages of the prompt of a leader, the last of them perhaps not full, and what they stand for. What
 * lies behind a window the leader may have given back: undefined where that is gone.
 */
export function beginningOf(
  { pages, prefixes, prompt }: Sequence,
  layout: PageLayout,
): Beginning | undefined {
  const { pageTokens } = layout;
  const count = Math.ceil(prompt.length / pageTokens);
  const shared: number[][] = [];
  for (const [group, own] of pages.entries()) {
    const first = layout.firstPage(group, prompt.length - 1);
    const taken = new Array<number>(first).fill(NO_PAGE);
    for (let i = first; i < count; i++) {
      const page = own[i] === NO_PAGE ? prefixes[i]?.pages[group] : own[i];
      if (page === undefined || page === NO_PAGE) return undefined;
      taken.push(page);
    }
    shared.push(taken);
  }
  return {
    pages: shared,
    prefixes: prefixes.slice(0, Math.floor((prompt.length - 1) / pageTokens)),
  };
}
