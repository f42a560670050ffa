import { NONE } from "../../device/mod.ts";

/**
 * Layers whose K and V lie in the same pages. A token attends to the last `window` positions, its own among
 * them, or to those from the last multiple of `chunk` on; where both are 0, to all before it.
 */
export interface PageGroup {
  readonly window: number;
  readonly chunk: number;
}

/** A place of a page table without a page: nothing there is looked at any more. */
export const NO_PAGE = NONE;

/** Which pages sequences need, of each group of layers. */
export class PageLayout {
  /** How many positions a token sees at most, of each group. */
  private readonly reaches: readonly number[];

  /**
   * @param pageTokens Tokens of a page.
   * @param groups Default: one, whose layers see everything.
   */
  constructor(
    readonly pageTokens: number,
    readonly groups: readonly PageGroup[] = [{ window: 0, chunk: 0 }],
  ) {
    this.reaches = groups.map(({ window, chunk }) =>
      Math.min(window || Infinity, chunk || Infinity)
    );
  }

  /** The first page that a token at a position needs, of a group; those before it nobody needs any more. */
  firstPage(group: number, position: number): number {
    const { window, chunk } = this.groups[group];
    const ofWindow = window === 0 ? 0 : Math.max(0, position + 1 - window);
    const ofChunk = chunk === 0 ? 0 : position - position % chunk;
    return Math.floor(Math.max(ofWindow, ofChunk) / this.pageTokens);
  }

  /**
   * How many pages of a group a sequence of so many tokens holds at once, at most.
   *
   * @param stepTokens How many of its tokens a step computes at most.
   */
  mostOfGroup(group: number, tokens: number, stepTokens: number): number {
    const all = Math.ceil(tokens / this.pageTokens);
    return Math.min(all, Math.ceil((this.reaches[group] + stepTokens) / this.pageTokens) + 1);
  }

  /** The same of all groups. */
  most(tokens: number, stepTokens: number): number {
    return this.groups.reduce((sum, _, i) => sum + this.mostOfGroup(i, tokens, stepTokens), 0);
  }

  /**
   * How many pages of tokens can be taken over, of `count` that are known: of each group there are the pages
   * that the tokens after them need.
   *
   * @param has Whether there is the page at an index, of a group.
   * @param endsAfter Whether the page at an index may be the last that is taken over; default any.
   */
  usable(
    count: number,
    has: (index: number, group: number) => boolean,
    endsAfter: (index: number) => boolean = () => true,
  ): number {
    let usable = 0;
    /** Of each group, how many pages up to this one are there without a gap. */
    const runs = this.groups.map(() => 0);
    for (let i = 0; i < count; i++) {
      let complete = true;
      for (const group of runs.keys()) {
        runs[group] = has(i, group) ? runs[group] + 1 : 0;
        const needed = i + 1 - this.firstPage(group, (i + 1) * this.pageTokens);
        if (runs[group] < needed) complete = false;
      }
      if (complete && endsAfter(i)) usable = i + 1;
    }
    return usable;
  }

  /** Of a sequence's pages those that its tokens from a position on need: as far as it is computed. */
  needed(table: readonly (readonly number[])[], position: number): number[] {
    const end = Math.ceil(position / this.pageTokens);
    return table.flatMap((pages, group) => pages.slice(this.firstPage(group, position), end));
  }

  /** A page table with pages where {@link needed} has found as many. */
  tableOf(pages: readonly number[], position: number): number[][] {
    const end = Math.ceil(position / this.pageTokens);
    let taken = 0;
    return this.groups.map((_, group) => {
      const first = Math.min(this.firstPage(group, position), end);
      const own = pages.slice(taken, taken += end - first);
      return [...new Array<number>(first).fill(NO_PAGE), ...own];
    });
  }
}

/** The pages of a table, earlier ones first. */
export function pagesIn(table: readonly (readonly number[])[]): number[] {
  if (table.length === 1) return table[0].filter((page) => page !== NO_PAGE);
  const pages: number[] = [];
  const length = table.reduce((most, { length }) => Math.max(most, length), 0);
  for (let i = 0; i < length; i++) {
    for (const group of table) {
      if (i < group.length && group[i] !== NO_PAGE) pages.push(group[i]);
    }
  }
  return pages;
}
