import { NO_KV_BLOCK } from "./kv_block_layout.ts";

/** Tokens that sequences begin with, whole KV blocks of them, and where the K and V of the last KV block are. */
export class Prefix {
  /** Of each group of layers the KV block; {@link NO_KV_BLOCK} where none is published. */
  readonly kvBlocks: number[];
  /** The slot with the state after its last token, where that is kept. */
  slot?: number;
  /** Its KV blocks, its state, and the prefixes that are longer by one: what keeps it. */
  uses = 0;
  /** How many KV blocks of tokens it has. */
  readonly length: number;

  /**
   * @param id A number that no other prefix has or had.
   * @param before The prefix that is shorter by a KV block.
   * @param key What it is known by.
   * @param promptRows How many of the last KV block's tokens were computed as prompt rows; those after them were
   * decoded.
   */
  constructor(
    readonly id: number,
    readonly before: Prefix | undefined,
    readonly key: string,
    readonly promptRows: number,
    groups: number,
  ) {
    this.kvBlocks = new Array(groups).fill(NO_KV_BLOCK);
    this.length = before === undefined ? 0 : before.length + 1;
  }

  /** The tokens of its last KV block in decimal, separated by commas. */
  get tokens(): string {
    return this.key.slice(this.key.indexOf(":") + 1);
  }
}

/** The prefix of no tokens. */
export const ROOT_PREFIX: Prefix = new Prefix(0, undefined, "", 0, 0);

/**
 * The prefixes that KV blocks are published under. One without KV blocks is kept while a longer one has some: of
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

  /** Adds the prefix that is longer by the tokens from `start` to `end`; a KV block is to be attached to it. */
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

  /** A KV block holds a prefix's last tokens, of a group. */
  attach(prefix: Prefix, group: number, kvBlock: number): void {
    prefix.kvBlocks[group] = kvBlock;
    prefix.uses++;
  }

  /** It does so no more. What is of no use then is forgotten. */
  detach(prefix: Prefix, group: number): void {
    prefix.kvBlocks[group] = NO_KV_BLOCK;
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
