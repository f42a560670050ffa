import { type KvBlockGroup, KvBlockLayout, NO_KV_BLOCK } from "./kv_block_layout.ts";
import { type Prefix, PrefixTree, ROOT_PREFIX } from "./prefix_tree.ts";
import { References } from "./references.ts";
import type { SlotManager } from "./slot_manager.ts";

/**
 * The cached prefix of a sequence, as far as it was searched. It holds no KV blocks: they may be evicted, which
 * {@link KvBlockManager.match} notices.
 */
export interface Match {
  /** The prefixes found, block by block. Some may lack KV blocks of some groups. */
  readonly prefixes: Prefix[];
  /** How many KV blocks of tokens can be taken over: of each group there are the KV blocks that those after need. */
  length: number;
}

/** The prefix whose KV blocks a sequence shares. */
export interface CachedPrefix {
  /** Of each group of layers, as {@link Sequence.kvBlocks}. */
  readonly kvBlocks: number[][];
  readonly prefixes: (Prefix | undefined)[];
}

/**
 * KV blocks with reference counts, shared between sequences whose tokens begin alike.
 *
 * Each group of layers has its own KV blocks from one pool. Full blocks are published under their tokens and those of
 * all blocks before them. A later prompt with the same prefix shares them instead of computing them. Unreferenced
 * blocks keep their contents until they are needed; the least recently used one is evicted first.
 */
export class KvBlockManager extends References {
  readonly layout: KvBlockLayout;
  /** Called when a KV block was published, the last of a prefix, of a group. */
  onPublish?: (prefix: Prefix, group: number) => void;
  /** Called when a state is kept that a prompt or an answer ends with. */
  onKeepState?: (prefix: Prefix) => void;
  /** Published KV blocks without references, least recently used first. */
  private readonly idle = new Map<number, true>();
  private readonly tree: PrefixTree;
  /** What a KV block is published under, and of which group. */
  private readonly published = new Map<number, { prefix: Prefix; group: number }>();

  /**
   * @param kvBlocks How many KV blocks the cache has.
   * @param kvBlockTokens Tokens of a KV block.
   * @param groups The groups of layers with their own KV blocks; default: one that sees everything.
   * @param slots The slots for states, of a model with states. A prompt then shares KV blocks only up to one with a
   * kept state.
   */
  constructor(
    readonly kvBlocks: number,
    readonly kvBlockTokens: number,
    groups?: readonly KvBlockGroup[],
    readonly slots?: SlotManager,
  ) {
    super(kvBlocks);
    this.layout = new KvBlockLayout(kvBlockTokens, groups);
    this.tree = new PrefixTree(this.layout.groups.length);
  }

  /** How many KV blocks can be had: empty ones, and those that are kept only in case they are useful. */
  get freeKvBlocks(): number {
    return this.empty.length + this.idle.size;
  }

  /** How many KV blocks are cached without references. */
  get idleKvBlocks(): number {
    return this.idle.size;
  }

  /** How many KV blocks are free for a sequence that shares `kvBlocks`: the unreferenced ones among these are not. */
  freeKvBlocksExcept(kvBlocks: readonly number[]): number {
    let idle = 0;
    for (const kvBlock of kvBlocks) if (this.references[kvBlock] === 0) idle++;
    return this.freeKvBlocks - idle;
  }

  /**
   * Finds the cached prefix of a sequence. It never contains the last token, whose logits must be computed.
   *
   * @param known An earlier match of the same tokens. It is updated and returned, so each KV block is looked up once.
   * @param accepts Whether the KV block at an index may have so many prompt rows; default: any.
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
    const { kvBlockTokens } = this;
    for (let start = prefixes.length * kvBlockTokens; start + kvBlockTokens < tokens.length;) {
      const before = prefixes[prefixes.length - 1] ?? ROOT_PREFIX;
      const prefix = this.tree.find(before, tokens, start, start += kvBlockTokens);
      if (prefix === undefined || !accepts(prefixes.length, prefix.promptRows)) break;
      prefixes.push(prefix);
    }
    known.length = 0;
    if (prefixes.length === 0) return known;
    const has = (i: number, group: number) => prefixes[i].kvBlocks[group] !== NO_KV_BLOCK;
    const endsAfter = this.slots && ((i: number) => prefixes[i].slot !== undefined);
    known.length = this.layout.usable(prefixes.length, has, endsAfter);
    return known;
  }

  /** The KV blocks of a match, of each group those that the tokens after it need. */
  kvBlocksOf({ prefixes, length }: Match): number[][] {
    const table: number[][] = [];
    for (let group = 0; group < this.layout.groups.length; group++) {
      const first = this.layout.firstKvBlock(group, length * this.kvBlockTokens);
      const kvBlocks = new Array<number>(Math.min(first, length)).fill(NO_KV_BLOCK);
      for (let i = first; i < length; i++) kvBlocks.push(prefixes[i].kvBlocks[group]);
      table.push(kvBlocks);
    }
    return table;
  }

  /**
   * The KV blocks of a leader's prompt, the last of which may not be full, and its prefixes. Undefined where the leader
   * has released KV blocks behind a window.
   */
  matchOfLeader(
    { kvBlocks, prefixes, prompt }: CachedPrefix & { readonly prompt: readonly number[] },
  ): CachedPrefix | undefined {
    const { layout, kvBlockTokens } = this;
    const count = Math.ceil(prompt.length / kvBlockTokens);
    const shared: number[][] = [];
    for (const [group, own] of kvBlocks.entries()) {
      const first = layout.firstKvBlock(group, prompt.length - 1);
      const taken = new Array<number>(first).fill(NO_KV_BLOCK);
      for (let i = first; i < count; i++) {
        const kvBlock = own[i] === NO_KV_BLOCK ? prefixes[i]?.kvBlocks[group] : own[i];
        if (kvBlock === undefined || kvBlock === NO_KV_BLOCK) return undefined;
        taken.push(kvBlock);
      }
      shared.push(taken);
    }
    const known = Math.floor((prompt.length - 1) / kvBlockTokens);
    return { kvBlocks: shared, prefixes: prefixes.slice(0, known) };
  }

  /** Allocates KV blocks; undefined where fewer are free. */
  allocate(count: number): number[] | undefined {
    if (count > this.freeKvBlocks) return undefined;
    const kvBlocks: number[] = [];
    while (kvBlocks.length < count) {
      const kvBlock = this.empty.pop() ?? this.evict();
      this.references[kvBlock] = 1;
      kvBlocks.push(kvBlock);
    }
    return kvBlocks;
  }

  /** Whether a KV block may be written to: it has one reference and is not published. */
  isWritable(kvBlock: number): boolean {
    return this.references[kvBlock] === 1 && !this.published.has(kvBlock);
  }

  /**
   * Publishes full KV blocks of the same tokens, of all groups or some.
   *
   * @param kvBlocks Of each group a KV block, or {@link NO_KV_BLOCK}.
   * @param before The prefix before them; {@link ROOT_PREFIX} for the first.
   * @param tokens The sequence's tokens; the KV blocks hold those from `start` on.
   * @param promptRows How many of these tokens were computed as prompt rows.
   * @returns The prefix up to these KV blocks. Undefined where later blocks could not be found: blocks of the same
   * tokens with other prompt rows are published already, or the prefix before them was forgotten.
   */
  publish(
    kvBlocks: readonly number[],
    before: Prefix,
    tokens: readonly number[],
    start: number,
    promptRows: number,
  ): Prefix | undefined {
    if (!this.tree.has(before)) return undefined;
    const end = start + this.kvBlockTokens;
    const known = this.tree.find(before, tokens, start, end);
    if (known !== undefined && known.promptRows !== promptRows) return undefined;
    const prefix = known ?? this.tree.add(before, tokens, start, end, promptRows);
    for (const [group, kvBlock] of kvBlocks.entries()) {
      if (kvBlock === NO_KV_BLOCK || prefix.kvBlocks[group] !== NO_KV_BLOCK) continue;
      this.tree.attach(prefix, group, kvBlock);
      this.published.set(kvBlock, { prefix, group });
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

  protected override use(kvBlock: number): void {
    this.idle.delete(kvBlock);
  }

  protected override lay(kvBlock: number): void {
    if (this.published.has(kvBlock)) this.idle.set(kvBlock, true);
    else this.empty.push(kvBlock);
  }

  private evict(): number {
    const [kvBlock] = this.idle.keys();
    this.idle.delete(kvBlock);
    const { prefix, group } = this.published.get(kvBlock)!;
    this.published.delete(kvBlock);
    this.tree.detach(prefix, group);
    return kvBlock;
  }
}
