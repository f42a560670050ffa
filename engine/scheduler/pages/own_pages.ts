import { M40Error } from "../../errors.ts";
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

  /**
   * The table with pages for so many tokens from a position on, and for those before it that they see. The
   * position is not before one asked for earlier.
   *
   * @throws {M40Error} "internal" where there are too few pages.
   */
  cover(position: number, count: number): readonly (readonly number[])[] {
    const end = Math.ceil((position + count) / this.layout.pageTokens);
    for (const [group, pages] of this.table.entries()) {
      const first = this.layout.firstPage(group, position);
      const behind = Math.min(first, pages.length);
      this.free.push(...pages.slice(this.first[group], behind));
      pages.fill(NO_PAGE, this.first[group], behind);
      while (pages.length < end) pages.push(pages.length < first ? NO_PAGE : this.take());
      this.first[group] = first;
    }
    return this.table;
  }

  private take(): number {
    const page = this.free.pop();
    if (page === undefined) throw new M40Error("internal", "a sequence with too few KV pages");
    return page;
  }
}
