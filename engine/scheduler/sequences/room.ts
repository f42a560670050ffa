import { M40Error } from "../../errors.ts";
import { pagesIn } from "../pages/page_layout.ts";
import type { Match, PageManager } from "../pages/page_manager.ts";
import type { Roster } from "./roster.ts";
import type { Sequence } from "./sequence.ts";

/** What a scheduler has to do. */
export interface SchedulerLoad {
  /** Sequences that run, and those that were given to it and are not let in yet. */
  readonly sequences: number;
  /** Their tokens that no step has begun to compute, those that are drawn one a step left out. */
  readonly promptTokens: number;
}

/** What a scheduler could do with a sequence that came now. */
export interface SchedulerOffer extends SchedulerLoad {
  /** Whether there are places, KV pages and a state for it and those that come with it. */
  readonly hasRoom: boolean;
  /** Its tokens that need not be computed, because their K and V are in the KV cache. */
  readonly cachedTokens: number;
}

/** How full a {@link Roster} is, for who chooses among several. It changes nothing. */
export class Room {
  constructor(
    private readonly roster: Roster,
    private readonly pageManager: PageManager,
    private readonly maxRunning: number,
    private readonly stepTokens: number,
  ) {}

  /** Whether there are as many KV pages as a sequence may need. */
  fits(sequence: Sequence): boolean {
    return this.pagesNeeded(sequence) <= this.pageManager.pages;
  }

  /** @throws {M40Error} "context_length_exceeded" for a sequence that does not fit. */
  assertFits(sequence: Sequence): void {
    if (this.fits(sequence)) return;
    throw new M40Error(
      "context_length_exceeded",
      `${sequence.maxLength} tokens, prompt and output together, need ${
        this.pagesNeeded(sequence)
      } KV pages; ` +
        `there are ${this.pageManager.pages}. Ask for fewer tokens (max_tokens), or shorten the prompt.`,
    );
  }

  load(): SchedulerLoad {
    const { running, waiting } = this.roster;
    let promptTokens = 0;
    for (const one of running) if (!one.drawsNext) promptTokens += one.left;
    for (const one of waiting) promptTokens += this.uncomputed(one);
    return { sequences: running.length + waiting.length, promptTokens };
  }

  /**
   * @param count How many come together, all with the same prompt.
   * @param match What was found of it before; it is brought up to date, where there is a place.
   */
  offer(sequence: Sequence, count: number, match: Match): SchedulerOffer {
    const load = this.load();
    if (!this.hasPlaces(count)) return { ...load, hasRoom: false, cachedTokens: 0 };
    const shared = this.find(sequence, match);
    return {
      ...load,
      hasRoom: this.hasPages(sequence, count, shared),
      cachedTokens: (shared[0]?.length ?? 0) * this.pageManager.pageTokens,
    };
  }

  /** The pages of its beginning that are there. */
  private find(sequence: Sequence, match: Match): readonly number[][] {
    const { pageManager, roster } = this;
    if (sequence.computesAll) return pageManager.layout.groups.map(() => []);
    return pageManager.pagesOf(
      pageManager.match(sequence.tokens, match, roster.accepted(sequence)),
    );
  }

  private pagesNeeded({ maxLength }: Sequence): number {
    return this.pageManager.layout.most(maxLength, this.stepTokens);
  }

  private hasPlaces(count: number): boolean {
    const { roster: { running, waiting, preempted }, pageManager: { slots } } = this;
    const there = running.length + waiting.length;
    // Who is alone gets room; those with the same prompt may be more than can run.
    if (there > 0 && there + count > this.maxRunning) return false;
    // Who gave way comes first.
    return preempted === 0 && (slots === undefined || slots.free > waiting.length);
  }

  private hasPages(sequence: Sequence, count: number, shared: readonly number[][]): boolean {
    const { roster: { running, waiting, spare }, pageManager } = this;
    const own = this.roster.pagesBeside(shared, sequence.tokens.length);
    const free = pageManager.freePagesBeside(pagesIn(shared));
    if (running.length + waiting.length === 0) return own <= free;
    const others = waiting.reduce((sum, one) => sum + this.pagesOf(one), 0);
    const followers = (count - 1) * pageManager.layout.groups.length;
    return own + followers + others + spare <= free;
  }

  /** How many pages one that waits to be let in will take. */
  private pagesOf({ leader, match, tokens }: Sequence): number {
    if (leader !== undefined) return this.pageManager.layout.groups.length;
    const shared = match === undefined
      ? this.pageManager.layout.groups.map(() => [])
      : this.pageManager.pagesOf(match);
    return this.roster.pagesBeside(shared, tokens.length);
  }

  /** Tokens of one that waits which have to be computed. */
  private uncomputed({ leader, saved, match, tokens, computed }: Sequence): number {
    if (saved !== undefined) return tokens.length - computed;
    if (leader !== undefined) return 1;
    return tokens.length - (match?.length ?? 0) * this.pageManager.pageTokens;
  }
}
