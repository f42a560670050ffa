import { Holds } from "../sequences/holds.ts";
import { NO_PAGE, type PageGroup, PageLayout } from "./page_layout.ts";
import { type Prefix, PrefixTree, ROOT_PREFIX } from "./prefix_tree.ts";
import type { SlotManager } from "./slot_manager.ts";

/**
 * What is published of a sequence's beginning, as far as it has been looked for. Nobody holds the pages for
 * it: they may be evicted, which {@link PageManager.match} notices.
 */
export interface Match {
  /** What is known of its beginning, page by page; not all of them have all their pages. */
  readonly prefixes: Prefix[];
  /** How many pages of tokens can be taken over: of each group there are the pages that those after need. */
  length: number;
}

/**
 * KV pages with reference counts, shared between sequences whose tokens begin alike.
 *
 * Each group of layers has pages of its own out of the one pool. Pages that are full are published under
 * their tokens and those of all pages before them; a later prompt that begins with the same tokens takes them
 * over instead of computing them. Pages that nobody holds keep their contents until they are needed, and are
 * then evicted least-recently-used.
 */
export class PageManager {
  readonly layout: PageLayout;
  /** Pages that steps use which are not over, where a device has several lanes: see {@link StepHolds}. */
  readonly holds: Holds;
  /** Called when pages were given back: there may be room for whoever waits for some. */
  onRelease?: () => void;
  /** Called when a page was published, the last of a prefix, of a group. */
  onPublish?: (prefix: Prefix, group: number) => void;
  /** Called when a state is kept that a prompt or an answer ends with. */
  onKeepState?: (prefix: Prefix) => void;
  private readonly references: Uint32Array;
  /** Pages that hold nothing. */
  private readonly empty: number[];
  /** Pages that nobody holds and that are published, least recently used first. */
  private readonly idle = new Map<number, true>();
  private readonly tree: PrefixTree;
  /** What a page is published under, and of which group. */
  private readonly published = new Map<number, { prefix: Prefix; group: number }>();

  /**
   * @param pages How many pages the cache has.
   * @param pageTokens Tokens of a page.
   * @param groups The groups of layers that have pages of their own; default one that sees everything.
   * @param slots Where states are, of a model that keeps some beside K and V: a prompt can take over no more
   * pages than up to one after which the state is kept.
   */
  constructor(
    readonly pages: number,
    readonly pageTokens: number,
    groups?: readonly PageGroup[],
    readonly slots?: SlotManager,
  ) {
    this.layout = new PageLayout(pageTokens, groups);
    this.tree = new PrefixTree(this.layout.groups.length);
    this.references = new Uint32Array(pages);
    this.holds = new Holds(pages);
    this.empty = Array.from({ length: pages }, (_, i) => pages - 1 - i);
  }

  /** How many pages can be had: empty ones, and those that are kept only in case they are useful. */
  get freePages(): number {
    return this.empty.length + this.idle.size;
  }

  /** How many pages are kept for later prompts, held by nobody. */
  get idlePages(): number {
    return this.idle.size;
  }

  /** How many pages could be had by one who shared `pages`: those of them that nobody holds are gone then. */
  freePagesBeside(pages: readonly number[]): number {
    let idle = 0;
    for (const page of pages) if (this.references[page] === 0) idle++;
    return this.freePages - idle;
  }

  /**
   * What is published of the beginning of a sequence. The last token is never among it: somebody has to
   * compute its logits.
   *
   * @param known What was found before for the same tokens; it is brought up to date and given back, so
   * that who asks again and again pays for each page once.
   * @param accepts Whether the page at an index may be one of which so many tokens were computed as
   * prompt rows; default any.
   */
  match(
    tokens: readonly number[],
    known: Match = { prefixes: [], length: 0 },
    accepts: (index: number, promptRows: number) => boolean = () => true,
  ): Match {
    const { prefixes } = known;
    // What was forgotten never comes back, though the same tokens may.
    const lost = prefixes.findIndex((prefix) => !this.tree.has(prefix));
    if (lost >= 0) prefixes.length = lost;
    const { pageTokens } = this;
    for (let start = prefixes.length * pageTokens; start + pageTokens < tokens.length;) {
      const before = prefixes[prefixes.length - 1] ?? ROOT_PREFIX;
      const prefix = this.tree.find(before, tokens, start, start += pageTokens);
      if (prefix === undefined || !accepts(prefixes.length, prefix.promptRows)) break;
      prefixes.push(prefix);
    }
    const has = (i: number, group: number) => prefixes[i].pages[group] !== NO_PAGE;
    const endsAfter = this.slots && ((i: number) => prefixes[i].slot !== undefined);
    known.length = this.layout.usable(prefixes.length, has, endsAfter);
    return known;
  }

  /** The pages of a match, of each group those that the tokens after it need. */
  pagesOf({ prefixes, length }: Match): number[][] {
    return this.layout.groups.map((_, group) => {
      const first = this.layout.firstPage(group, length * this.pageTokens);
      const pages = new Array<number>(Math.min(first, length)).fill(NO_PAGE);
      for (let i = first; i < length; i++) pages.push(prefixes[i].pages[group]);
      return pages;
    });
  }

  /** That many pages of one's own, or undefined where so many cannot be had. */
  allocate(count: number): number[] | undefined {
    if (count > this.freePages) return undefined;
    const pages: number[] = [];
    while (pages.length < count) {
      const page = this.empty.pop() ?? this.evict();
      this.references[page] = 1;
      pages.push(page);
    }
    return pages;
  }

  /** A reference more to each page. */
  share(pages: readonly number[]): void {
    for (const page of pages) {
      this.references[page]++;
      this.idle.delete(page);
      this.holds.takeBack(page);
    }
  }

  /** A reference less to each page. */
  release(pages: readonly number[]): void {
    if (pages.length === 0) return;
    // Later pages first, so that of a prefix the end is evicted before the beginning.
    for (const page of pages.toReversed()) {
      if (--this.references[page] > 0 || this.holds.giveUp(page)) continue;
      this.lay(page);
    }
    this.onRelease?.();
  }

  /** A step is over that pages were held for: those that were given up meanwhile can be had. */
  endHold(pages: readonly number[]): void {
    const free = this.holds.remove(pages);
    for (const page of free.reverse()) this.lay(page);
    if (free.length > 0) this.onRelease?.();
  }

  /** Whether a page may be written to: one holder, and nobody may come to share it. */
  isWritable(page: number): boolean {
    return this.references[page] === 1 && !this.published.has(page);
  }

  /**
   * Publishes full pages, those of the same tokens of each group, or some of them.
   *
   * @param pages Of each group a page, or {@link NO_PAGE}.
   * @param before What the pages before them stand for; {@link ROOT_PREFIX} for the first.
   * @param tokens The sequence's tokens; those from `start` on are the pages'.
   * @param promptRows How many of these tokens were computed as prompt rows.
   * @returns What the pages up to these stand for; undefined where nothing that comes after them could be
   * found: pages of the same tokens are published that were computed in the other way, and what comes after
   * these must not come after those; or what comes before them has been forgotten.
   */
  publish(
    pages: readonly number[],
    before: Prefix,
    tokens: readonly number[],
    start: number,
    promptRows: number,
  ): Prefix | undefined {
    if (!this.tree.has(before)) return undefined;
    const end = start + this.pageTokens;
    const known = this.tree.find(before, tokens, start, end);
    if (known !== undefined && known.promptRows !== promptRows) return undefined;
    const prefix = known ?? this.tree.add(before, tokens, start, end, promptRows);
    for (const [group, page] of pages.entries()) {
      if (page === NO_PAGE || prefix.pages[group] !== NO_PAGE) continue;
      this.tree.attach(prefix, group, page);
      this.published.set(page, { prefix, group });
      this.onPublish?.(prefix, group);
    }
    return prefix;
  }

  /**
   * Keeps the state after a prefix's last token, where none is kept yet.
   *
   * @param passing As of {@link SlotManager.keep}.
   * @returns Whether it is kept in this slot now.
   */
  keepState(prefix: Prefix, slot: number, passing: boolean): boolean {
    if (prefix.slot !== undefined || !this.tree.has(prefix)) return false;
    const onForget = () => this.tree.detachState(prefix);
    if (!this.slots!.keep(slot, { passing, onForget })) return false;
    this.tree.attachState(prefix, slot);
    return true;
  }

  /** Puts a page that nobody holds where it can be had from. */
  private lay(page: number): void {
    if (this.published.has(page)) this.idle.set(page, true);
    else this.empty.push(page);
  }

  private evict(): number {
    const [page] = this.idle.keys();
    this.idle.delete(page);
    const { prefix, group } = this.published.get(page)!;
    this.published.delete(page);
    this.tree.detach(prefix, group);
    return page;
  }
}
