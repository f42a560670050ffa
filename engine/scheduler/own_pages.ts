import { NO_PAGE, type PageLayout } from "./page_layout.ts";

/** The page table of a sequence that nobody schedules. Pages behind its windows are used again. */
export class OwnPages {
  private readonly table: number[][];
  private readonly free: number[];
  /** Of each group the pages before this one have been given up. */
  private readonly first: number[];

  /** @param pages As many as {@link PageLayout.most} says, for all that is asked of it. */
  constructor(private readonly layout: PageLayout, pages: readonly number[]) {
    this.free = pages.toReversed();
    this.table = layout.groups.map(() => []);
    this.first = layout.groups.map(() => 0);
  }

  /** The table with pages for so many tokens from a position on, which is not before one asked for earlier. */
  cover(position: number, count: number): readonly (readonly number[])[] {
    const end = Math.ceil((position + count) / this.layout.pageTokens);
    for (const [group, pages] of this.table.entries()) {
      const first = Math.min(this.layout.firstPage(group, position), pages.length);
      this.free.push(...pages.slice(this.first[group], first));
      pages.fill(NO_PAGE, this.first[group], first);
      this.first[group] = first;
      while (pages.length < end) pages.push(this.free.pop()!);
    }
    return this.table;
  }
}
