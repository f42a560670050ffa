import { NO_PAGE } from "./page_layout.ts";

/** Tokens that sequences begin with, whole pages of them, and where the K and V of the last page are. */
export class Prefix {
  /** Of each group of layers the page; {@link NO_PAGE} where none is published. */
  readonly pages: number[];
  /** The slot with the state after its last token, where that is kept. */
  slot?: number;
  /** Its pages, its state, and the prefixes that are longer by one: what keeps it. */
  uses = 0;
  /** How many pages of tokens it has. */
  readonly length: number;

  /**
   * @param id A number that no other prefix has or had.
   * @param before The prefix that is shorter by a page.
   * @param key What it is known by.
   * @param promptRows How many of the last page's tokens were computed as prompt rows; those after them were
   * decoded.
   */
  constructor(
    readonly id: number,
    readonly before: Prefix | undefined,
    readonly key: string,
    readonly promptRows: number,
    groups: number,
  ) {
    this.pages = new Array(groups).fill(NO_PAGE);
    this.length = before === undefined ? 0 : before.length + 1;
  }

  /** The tokens of its last page in decimal, separated by commas. */
  get tokens(): string {
    return this.key.slice(this.key.indexOf(":") + 1);
  }
}

/** The prefix of no tokens. */
export const ROOT_PREFIX: Prefix = new Prefix(0, undefined, "", 0, 0);

/**
 * The prefixes that pages are published under. One without pages is kept while a longer one has some: of
 * layers with a window, the end alone may be of use.
 */
export class PrefixTree {
  private readonly known = new Map<string, Prefix>();
  private nextId = ROOT_PREFIX.id + 1;

  /** @param groups How many groups of layers there are. */
  constructor(private readonly groups: number) {}

  /** The prefix that is longer by the tokens from `start` to `end`, where it is known. */
  find(before: Prefix, tokens: readonly number[], start: number, end: number): Prefix | undefined {
    return this.known.get(keyOf(before, tokens, start, end));
  }

  /** Adds the prefix that is longer by the tokens from `start` to `end`; a page is to be attached to it. */
  add(
    before: Prefix,
    tokens: readonly number[],
    start: number,
    end: number,
    promptRows: number,
  ): Prefix {
    const key = keyOf(before, tokens, start, end);
    const prefix = new Prefix(this.nextId++, before, key, promptRows, this.groups);
    this.known.set(key, prefix);
    before.uses++;
    return prefix;
  }

  /** Whether a prefix has not been forgotten. */
  has(prefix: Prefix): boolean {
    return prefix === ROOT_PREFIX || this.known.get(prefix.key) === prefix;
  }

  /** A page holds a prefix's last tokens, of a group. */
  attach(prefix: Prefix, group: number, page: number): void {
    prefix.pages[group] = page;
    prefix.uses++;
  }

  /** It does so no more. What is of no use then is forgotten. */
  detach(prefix: Prefix, group: number): void {
    prefix.pages[group] = NO_PAGE;
    this.drop(prefix);
  }

  /** A slot holds the state after a prefix's last token. */
  attachState(prefix: Prefix, slot: number): void {
    prefix.slot = slot;
    prefix.uses++;
  }

  /** It does so no more, as {@link detach}. */
  detachState(prefix: Prefix): void {
    prefix.slot = undefined;
    this.drop(prefix);
  }

  private drop(prefix: Prefix): void {
    for (let one: Prefix = prefix; --one.uses === 0 && one.before !== undefined;) {
      this.known.delete(one.key);
      one = one.before;
    }
  }
}

function keyOf(before: Prefix, tokens: readonly number[], start: number, end: number): string {
  return `${before.id}:${tokensText(tokens, start, end)}`;
}

/** Tokens in decimal, separated by commas. */
export function tokensText(tokens: readonly number[], start: number, end: number): string {
  return tokens.slice(start, end).join();
}
