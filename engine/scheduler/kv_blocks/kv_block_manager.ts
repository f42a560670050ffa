import { Holds } from "../sequences/holds.ts";
import { type KvBlockGroup, KvBlockLayout, NO_KV_BLOCK } from "./kv_block_layout.ts";
import { type Prefix, PrefixTree, ROOT_PREFIX } from "./prefix_tree.ts";
import type { SlotManager } from "./slot_manager.ts";

/**
 * What is published of a sequence's beginning, as far as it has been looked for. Nobody holds the KV blocks for
 * it: they may be evicted, which {@link KvBlockManager.match} notices.
 */
export interface Match {
  /** What is known of its beginning, KV block by KV block; not all of them have all their KV blocks. */
  readonly prefixes: Prefix[];
  /** How many KV blocks of tokens can be taken over: of each group there are the KV blocks that those after need. */
  length: number;
}

/**
 * KV blocks with reference counts, shared between sequences whose tokens begin alike.
 *
 * Each group of layers has KV blocks of its own out of the one pool. KV blocks that are full are published under
 * their tokens and those of all KV blocks before them; a later prompt that begins with the same tokens takes them
 * over instead of computing them. KV blocks that nobody holds keep their contents until they are needed, and are
 * then evicted least-recently-used.
 */
export class KvBlockManager {
  readonly layout: KvBlockLayout;
  /** KV blocks that steps use which are not over, where a device has several lanes: see {@link StepHolds}. */
  readonly holds: Holds;
  /** Called when KV blocks were given back: there may be room for whoever waits for some. */
  onRelease?: () => void;
  /** Called when a KV block was published, the last of a prefix, of a group. */
  onPublish?: (prefix: Prefix, group: number) => void;
  /** Called when a state is kept that a prompt or an answer ends with. */
  onKeepState?: (prefix: Prefix) => void;
  private readonly references: Uint32Array;
  /** KV blocks that hold nothing. */
  private readonly empty: number[];
  /** KV blocks that nobody holds and that are published, least recently used first. */
  private readonly idle = new Map<number, true>();
  private readonly tree: PrefixTree;
  /** What a KV block is published under, and of which group. */
  private readonly published = new Map<number, { prefix: Prefix; group: number }>();

  /**
   * @param kvBlocks How many KV blocks the cache has.
   * @param kvBlockTokens Tokens of a KV block.
   * @param groups The groups of layers that have KV blocks of their own; default one that sees everything.
   * @param slots Where states are, of a model that keeps some beside K and V: a prompt can take over no more
   * KV blocks than up to one after which the state is kept.
   */
  constructor(
    readonly kvBlocks: number,
    readonly kvBlockTokens: number,
    groups?: readonly KvBlockGroup[],
    readonly slots?: SlotManager,
  ) {
    this.layout = new KvBlockLayout(kvBlockTokens, groups);
    this.tree = new PrefixTree(this.layout.groups.length);
    this.references = new Uint32Array(kvBlocks);
    this.holds = new Holds(kvBlocks);
    this.empty = Array.from({ length: kvBlocks }, (_, i) => kvBlocks - 1 - i);
  }

  /** How many KV blocks can be had: empty ones, and those that are kept only in case they are useful. */
  get freeKvBlocks(): number {
    return this.empty.length + this.idle.size;
  }

  /** How many KV blocks are kept for later prompts, held by nobody. */
  get idleKvBlocks(): number {
    return this.idle.size;
  }

  /** How many KV blocks could be had by one who shared `kvBlocks`: those of them that nobody holds are gone then. */
  freeKvBlocksExcept(kvBlocks: readonly number[]): number {
    let idle = 0;
    for (const kvBlock of kvBlocks) if (this.references[kvBlock] === 0) idle++;
    return this.freeKvBlocks - idle;
  }

  /**
   * What is published of the beginning of a sequence. The last token is never among it: somebody has to
   * compute its logits.
   *
   * @param known What was found before for the same tokens; it is brought up to date and given back, so
   * that who asks again and again pays for each KV block once.
   * @param accepts Whether the KV block at an index may be one of which so many tokens were computed as
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
    const { kvBlockTokens } = this;
    for (let start = prefixes.length * kvBlockTokens; start + kvBlockTokens < tokens.length;) {
      const before = prefixes[prefixes.length - 1] ?? ROOT_PREFIX;
      const prefix = this.tree.find(before, tokens, start, start += kvBlockTokens);
      if (prefix === undefined || !accepts(prefixes.length, prefix.promptRows)) break;
      prefixes.push(prefix);
    }
    const has = (i: number, group: number) => prefixes[i].kvBlocks[group] !== NO_KV_BLOCK;
    const endsAfter = this.slots && ((i: number) => prefixes[i].slot !== undefined);
    known.length = this.layout.usable(prefixes.length, has, endsAfter);
    return known;
  }

  /** The KV blocks of a match, of each group those that the tokens after it need. */
  kvBlocksOf({ prefixes, length }: Match): number[][] {
    return this.layout.groups.map((_, group) => {
      const first = this.layout.firstKvBlock(group, length * this.kvBlockTokens);
      const kvBlocks = new Array<number>(Math.min(first, length)).fill(NO_KV_BLOCK);
      for (let i = first; i < length; i++) kvBlocks.push(prefixes[i].kvBlocks[group]);
      return kvBlocks;
    });
  }

  /** That many KV blocks of one's own, or undefined where so many cannot be had. */
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

  /** A reference more to each KV block. */
  share(kvBlocks: readonly number[]): void {
    for (const kvBlock of kvBlocks) {
      this.references[kvBlock]++;
      this.idle.delete(kvBlock);
      this.holds.takeBack(kvBlock);
    }
  }

  /** A reference less to each KV block. */
  release(kvBlocks: readonly number[]): void {
    if (kvBlocks.length === 0) return;
    // Later KV blocks first, so that of a prefix the end is evicted before the beginning.
    for (const kvBlock of kvBlocks.toReversed()) {
      if (--this.references[kvBlock] > 0 || this.holds.giveUp(kvBlock)) continue;
      this.lay(kvBlock);
    }
    this.onRelease?.();
  }

  /** A step is over that KV blocks were held for: those that were given up meanwhile can be had. */
  endHold(kvBlocks: readonly number[]): void {
    const free = this.holds.remove(kvBlocks);
    for (const kvBlock of free.reverse()) this.lay(kvBlock);
    if (free.length > 0) this.onRelease?.();
  }

  /** Whether a KV block may be written to: one holder, and nobody may come to share it. */
  isWritable(kvBlock: number): boolean {
    return this.references[kvBlock] === 1 && !this.published.has(kvBlock);
  }

  /**
   * Publishes full KV blocks, those of the same tokens of each group, or some of them.
   *
   * @param kvBlocks Of each group a KV block, or {@link NO_KV_BLOCK}.
   * @param before What the KV blocks before them stand for; {@link ROOT_PREFIX} for the first.
   * @param tokens The sequence's tokens; those from `start` on are the KV blocks'.
   * @param promptRows How many of these tokens were computed as prompt rows.
   * @returns What the KV blocks up to these stand for; undefined where nothing that comes after them could be
   * found: KV blocks of the same tokens are published that were computed in the other way, and what comes after
   * these must not come after those; or what comes before them has been forgotten.
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

  /** Puts a KV block that nobody holds where it can be had from. */
  private lay(kvBlock: number): void {
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
