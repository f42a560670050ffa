import { NONE } from "../../device/mod.ts";

/**
 * Layers whose K and V lie in the same KV blocks. A token attends to the last `window` positions, its own among
 * them, or to those from the last multiple of `chunk` on; where both are 0, to all before it.
 */
export interface KvBlockGroup {
  readonly window: number;
  readonly chunk: number;
}

/** An entry of a block table without a KV block: no token reads it any more. */
export const NO_KV_BLOCK = NONE;

/** Which KV blocks sequences need, of each group of layers. */
export class KvBlockLayout {
  /** How many positions a token sees at most, of each group. */
  private readonly reaches: readonly number[];
  /** Whether tokens of some group do not see all before them, so that sequences need their first KV blocks no more. */
  readonly hasWindows: boolean;

  /**
   * @param kvBlockTokens Tokens of a KV block.
   * @param groups Default: one that sees everything.
   */
  constructor(
    readonly kvBlockTokens: number,
    readonly groups: readonly KvBlockGroup[] = [{ window: 0, chunk: 0 }],
  ) {
    this.reaches = groups.map(({ window, chunk }) =>
      Math.min(window || Infinity, chunk || Infinity)
    );
    this.hasWindows = this.reaches.some((reach) => reach < Infinity);
  }

  /** The first KV block of a group that a token at a position needs. Later tokens need no earlier one. */
  firstKvBlock(group: number, position: number): number {
    const { window, chunk } = this.groups[group];
    const ofWindow = window === 0 ? 0 : Math.max(0, position + 1 - window);
    const ofChunk = chunk === 0 ? 0 : position - position % chunk;
    return Math.floor(Math.max(ofWindow, ofChunk) / this.kvBlockTokens);
  }

  /**
   * How many KV blocks of a group a sequence of so many tokens holds at once, at most.
   *
   * @param stepTokens How many of its tokens a step computes at most.
   */
  mostOfGroup(group: number, tokens: number, stepTokens: number): number {
    const all = Math.ceil(tokens / this.kvBlockTokens);
    return Math.min(all, Math.ceil((this.reaches[group] + stepTokens) / this.kvBlockTokens) + 1);
  }

  /** The same of all groups. */
  most(tokens: number, stepTokens: number): number {
    let sum = 0;
    for (let i = 0; i < this.groups.length; i++) sum += this.mostOfGroup(i, tokens, stepTokens);
    return sum;
  }

  /** How many KV blocks a sequence of so many tokens needs in addition to the shared ones. */
  neededBeside(
    shared: readonly (readonly number[])[],
    tokens: number,
    stepTokens: number,
  ): number {
    const all = Math.ceil(tokens / this.kvBlockTokens);
    let sum = 0;
    for (const [group, kvBlocks] of shared.entries()) {
      let most = this.mostOfGroup(group, tokens, stepTokens);
      for (const kvBlock of kvBlocks) if (kvBlock !== NO_KV_BLOCK) most--;
      sum += Math.min(all - kvBlocks.length, Math.max(0, most));
    }
    return sum;
  }

  /** How many KV blocks a sequence of so many tokens needs in addition to those that the computed ones left it. */
  neededAfter(computed: number, tokens: number, stepTokens: number): number {
    const [end, all] = [computed, tokens].map((count) => Math.ceil(count / this.kvBlockTokens));
    let sum = 0;
    for (const group of this.groups.keys()) {
      const held = end - Math.min(this.firstKvBlock(group, computed), end);
      const most = this.mostOfGroup(group, tokens, stepTokens);
      sum += Math.min(all - end, Math.max(0, most - held));
    }
    return sum;
  }

  /**
   * How many KV blocks of tokens can be taken over, of `count` that are known: of each group there are the KV blocks
   * that the tokens after them need.
   *
   * @param has Whether there is the KV block at an index, of a group.
   * @param endsAfter Whether the KV block at an index may be the last that is taken over; default any.
   */
  usable(
    count: number,
    has: (index: number, group: number) => boolean,
    endsAfter: (index: number) => boolean = () => true,
  ): number {
    let usable = 0;
    /** Of each group, the length of the gapless run of KV blocks up to this one. */
    const runs = this.groups.map(() => 0);
    for (let i = 0; i < count; i++) {
      let complete = true;
      for (const group of runs.keys()) {
        runs[group] = has(i, group) ? runs[group] + 1 : 0;
        const needed = i + 1 - this.firstKvBlock(group, (i + 1) * this.kvBlockTokens);
        if (runs[group] < needed) complete = false;
      }
      if (complete && endsAfter(i)) usable = i + 1;
    }
    return usable;
  }

  /** Of a sequence's KV blocks those that its tokens from a position on need: as far as it is computed. */
  needed(table: readonly (readonly number[])[], position: number): number[] {
    const end = Math.ceil(position / this.kvBlockTokens);
    return table.flatMap((kvBlocks, group) =>
      kvBlocks.slice(this.firstKvBlock(group, position), end)
    );
  }

  /** A block table with KV blocks where {@link needed} has found as many. */
  tableOf(kvBlocks: readonly number[], position: number): number[][] {
    const end = Math.ceil(position / this.kvBlockTokens);
    let taken = 0;
    return this.groups.map((_, group) => {
      const first = Math.min(this.firstKvBlock(group, position), end);
      const own = kvBlocks.slice(taken, taken += end - first);
      return [...new Array<number>(first).fill(NO_KV_BLOCK), ...own];
    });
  }
}

/** The KV blocks of a table, earlier ones first. */
export function kvBlocksIn(table: readonly (readonly number[])[]): number[] {
  const kvBlocks: number[] = [];
  let length = 0;
  for (const group of table) length = Math.max(length, group.length);
  for (let i = 0; i < length; i++) {
    for (const group of table) {
      if (i < group.length && group[i] !== NO_KV_BLOCK) kvBlocks.push(group[i]);
    }
  }
  return kvBlocks;
}
