/**
 * Published pages that hold the beginning of a sequence's tokens, as far as they have been looked for.
 * Nobody holds them for it: they may be evicted, which {@link PageManager.match} notices.
 */
export interface Match {
  readonly pages: number[];
  /** What the pages up to each of them stand for. */
  readonly prefixes: number[];
}

/**
 * KV pages with reference counts, shared between sequences whose tokens begin alike.
 *
 * A page that is full is published under its tokens and those of all pages before it; a later prompt
 * that begins with the same tokens takes it over instead of computing it. Pages that nobody holds keep
 * their contents until they are needed, and are then evicted least-recently-used.
 */
export class PageManager {
  /** Called when pages were given back: there may be room for whoever waits for some. */
  onRelease?: () => void;
  private readonly references: Uint32Array;
  /** Pages that hold nothing. */
  private readonly empty: number[];
  /** Pages that nobody holds and that are published, least recently used first. */
  private readonly idle = new Map<number, true>();
  /** Published pages by the prefix before them and their own tokens. */
  private readonly published = new Map<string, number>();
  /** The key that a page is published under. */
  private readonly keys = new Map<number, string>();
  /** What a published page and those before it stand for; {@link ROOT_PREFIX} where it is not published. */
  private readonly prefixes: Float64Array;
  /** How many of a published page's tokens were computed as prompt rows; those after them were decoded. */
  private readonly promptRows: Uint32Array;
  private nextPrefix = ROOT_PREFIX + 1;

  /**
   * @param pages How many pages the cache has.
   * @param pageTokens Tokens of a page.
   */
  constructor(readonly pages: number, readonly pageTokens: number) {
    this.references = new Uint32Array(pages);
    this.prefixes = new Float64Array(pages);
    this.promptRows = new Uint32Array(pages);
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
   * The published pages that hold the beginning of a sequence. The last token is never among them:
   * somebody has to compute its logits.
   *
   * @param known What was found before for the same tokens; it is brought up to date and given back, so
   * that who asks again and again pays for each page once.
   * @param accepts Whether the page at an index may be one of which so many tokens were computed as
   * prompt rows; default any.
   */
  match(
    tokens: readonly number[],
    known: Match = { pages: [], prefixes: [] },
    accepts: (index: number, promptRows: number) => boolean = () => true,
  ): Match {
    const { pages, prefixes } = known;
    // An evicted page may have been filled with other tokens; a prefix never comes back.
    const lost = pages.findIndex((page, i) => this.prefixes[page] !== prefixes[i]);
    if (lost >= 0) pages.length = prefixes.length = lost;
    const { pageTokens } = this;
    for (let start = pages.length * pageTokens; start + pageTokens < tokens.length;) {
      const prefix = prefixes[prefixes.length - 1] ?? ROOT_PREFIX;
      const page = this.published.get(keyOf(prefix, tokens, start, start += pageTokens));
      if (page === undefined || !accepts(pages.length, this.promptRows[page])) break;
      pages.push(page);
      prefixes.push(this.prefixes[page]);
    }
    return known;
  }

  /** How many of a published page's tokens were computed as prompt rows. */
  promptRowsOf(page: number): number {
    return this.promptRows[page];
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
    }
  }

  /** A reference less to each page. */
  release(pages: readonly number[]): void {
    if (pages.length === 0) return;
    // Later pages first, so that of a prefix the end is evicted before the beginning.
    for (const page of pages.toReversed()) {
      if (--this.references[page] > 0) continue;
      if (this.keys.has(page)) this.idle.set(page, true);
      else this.empty.push(page);
    }
    this.onRelease?.();
  }

  /** Whether a page may be written to: one holder, and nobody may come to share it. */
  isWritable(page: number): boolean {
    return this.references[page] === 1 && !this.keys.has(page);
  }

  /**
   * Publishes a full page.
   *
   * @param prefix What the pages before it stand for; {@link ROOT_PREFIX} for the first.
   * @param tokens The sequence's tokens; those from `start` on are the page's.
   * @param promptRows How many of the page's tokens were computed as prompt rows.
   * @returns What the pages up to this one stand for; undefined where a page of the same tokens is
   * published that was computed in the other way: what comes after this one must not come after that one.
   */
  publish(
    page: number,
    prefix: number,
    tokens: readonly number[],
    start: number,
    promptRows: number,
  ): number | undefined {
    if (this.keys.has(page)) return this.prefixes[page];
    const key = keyOf(prefix, tokens, start, start + this.pageTokens);
    const known = this.published.get(key);
    if (known !== undefined) {
      return this.promptRows[known] === promptRows ? this.prefixes[known] : undefined;
    }
    this.published.set(key, page);
    this.keys.set(page, key);
    this.promptRows[page] = promptRows;
    return this.prefixes[page] = this.nextPrefix++;
  }

  private evict(): number {
    const [page] = this.idle.keys();
    this.idle.delete(page);
    this.published.delete(this.keys.get(page)!);
    this.keys.delete(page);
    this.prefixes[page] = ROOT_PREFIX;
    return page;
  }
}

/** The prefix of no tokens. */
export const ROOT_PREFIX = 0;

function keyOf(prefix: number, tokens: readonly number[], start: number, end: number): string {
  return `${prefix}:${tokens.slice(start, end).join()}`;
}
