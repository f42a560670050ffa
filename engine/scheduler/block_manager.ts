/** Pages that hold the beginning of a prompt. */
export interface Match {
  readonly pages: number[];
  /** How many of them are published, and what these stand for. */
  readonly published: number;
  readonly prefix: number;
}

/**
 * KV pages with reference counts, shared between sequences whose tokens begin alike.
 *
 * A page that is full is published under its tokens and those of all pages before it; a later prompt
 * that begins with the same tokens takes it over instead of computing it. Pages that nobody holds keep
 * their contents until they are needed, and are then evicted least-recently-used.
 */
export class BlockManager {
  private readonly references: Uint32Array;
  /** Pages that hold nothing. */
  private readonly empty: number[];
  /** Pages that nobody holds and that are published, least recently used first. */
  private readonly idle = new Map<number, true>();
  /** Published pages by their prefix: the entry before them, and their own tokens. */
  private readonly published = new Map<string, { page: number; prefix: number }>();
  /** The key that a page is published under. */
  private readonly keys = new Map<number, string>();
  private nextPrefix = ROOT_PREFIX + 1;

  /**
   * @param pages How many pages the cache has.
   * @param pageTokens Tokens of a page.
   */
  constructor(readonly pages: number, readonly pageTokens: number) {
    this.references = new Uint32Array(pages);
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

  /**
   * The published pages that hold the beginning of a prompt, each with a reference more, and the
   * prefix that they stand for. The last token is never among them: somebody has to compute its logits.
   */
  match(prompt: readonly number[]): Match {
    const pages: number[] = [];
    let prefix = ROOT_PREFIX;
    for (let end = this.pageTokens; end < prompt.length; end += this.pageTokens) {
      const found = this.published.get(keyOf(prefix, prompt, end - this.pageTokens, end));
      if (found === undefined) break;
      pages.push(found.page);
      prefix = found.prefix;
    }
    this.share(pages);
    return { pages, published: pages.length, prefix };
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
    // Later pages first, so that of a prefix the end is evicted before the beginning.
    for (const page of pages.toReversed()) {
      if (--this.references[page] > 0) continue;
      if (this.keys.has(page)) this.idle.set(page, true);
      else this.empty.push(page);
    }
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
   * @returns What the pages up to this one stand for.
   */
  publish(page: number, prefix: number, tokens: readonly number[], start: number): number {
    const own = this.keys.get(page);
    if (own !== undefined) return this.published.get(own)!.prefix;
    const key = keyOf(prefix, tokens, start, start + this.pageTokens);
    const known = this.published.get(key);
    if (known !== undefined) return known.prefix;
    this.published.set(key, { page, prefix: this.nextPrefix });
    this.keys.set(page, key);
    return this.nextPrefix++;
  }

  private evict(): number {
    const [page] = this.idle.keys();
    this.idle.delete(page);
    this.published.delete(this.keys.get(page)!);
    this.keys.delete(page);
    return page;
  }
}

/** The prefix of no tokens. */
export const ROOT_PREFIX = 0;

function keyOf(prefix: number, tokens: readonly number[], start: number, end: number): string {
  return `${prefix}:${tokens.slice(start, end).join()}`;
}
