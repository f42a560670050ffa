import type { Cache } from "../device/context.ts";
import type { BlockManager, Match } from "./block_manager.ts";
import type { HostPages } from "./host_pages.ts";
import type { SchedulerCounts } from "./report.ts";
import type { Sequence } from "./sequence.ts";

/**
 * The sequences that run and those that wait, and the KV pages that they hold: who is let in, who gets
 * pages, and who gives way when there are none.
 *
 * First come, first served: the sequence that came last gives way, and comes back before anyone who came
 * after it.
 */
export class Roster {
  private waitingSequences: Sequence[] = [];
  private runningSequences: Sequence[] = [];
  private arrivals = 0;

  /**
   * @param cache Copies pages that are about to be written and are shared.
   * @param maxRunning Sequences that run at the same time.
   * @param counts Where it adds what it does.
   * @param host Where sequences that give way keep their pages; without it they are computed again.
   */
  constructor(
    private readonly blocks: BlockManager,
    private readonly cache: Pick<Cache, "copyPages">,
    private readonly maxRunning: number,
    private readonly counts: SchedulerCounts,
    private readonly host?: HostPages,
  ) {}

  /** In the order of their arrival. */
  get waiting(): readonly Sequence[] {
    return this.waitingSequences;
  }

  /** In the order of their arrival. */
  get running(): readonly Sequence[] {
    return this.runningSequences;
  }

  /** A sequence arrives, and waits. */
  arrive(sequence: Sequence, now: number): void {
    sequence.arrival = this.arrivals++;
    sequence.arrivedAt = now;
    this.waitingSequences.push(sequence);
  }

  /** Lets go of a sequence that waits; the answer is whether it did. */
  withdraw(sequence: Sequence): boolean {
    const place = this.waitingSequences.indexOf(sequence);
    if (place < 0) return false;
    this.waitingSequences.splice(place, 1);
    if (sequence.saved) this.host!.drop(sequence.saved);
    sequence.saved = undefined;
    return true;
  }

  /** Lets the first of those waiting in, if there is a place and there are pages. */
  admit(now: number): Sequence | undefined {
    if (this.runningSequences.length >= this.maxRunning) return undefined;
    const index = this.waitingSequences.findIndex(({ leader }) =>
      leader === undefined || isSettled(leader)
    );
    if (index < 0) return undefined;
    const sequence = this.waitingSequences[index];
    const { blocks } = this;
    // Those who run get a page each before a new one may come in.
    const spare = this.runningSequences.length;
    if (sequence.saved) {
      const pages = this.waitFor(sequence.saved.count, spare);
      if (pages === undefined) return undefined;
      this.host!.restore(sequence.saved, pages);
      sequence.saved = undefined;
      sequence.pages = pages;
    } else {
      const { leader } = sequence;
      const follows = leader !== undefined && sequence.drawn === 0 &&
        leader.computed >= sequence.prompt.length && leader.pages.length > 0;
      const shared = follows ? this.follow(sequence, leader) : blocks.match(sequence.tokens);
      const needed = Math.ceil(sequence.tokens.length / blocks.pageTokens) - shared.pages.length;
      if (needed + spare > blocks.freePages && this.runningSequences.length > 0) {
        blocks.release(shared.pages);
        return undefined;
      }
      sequence.pages = shared.pages;
      sequence.prefix = shared.prefix;
      sequence.published = shared.published;
      sequence.computed = Math.min(
        shared.pages.length * blocks.pageTokens,
        sequence.tokens.length - 1,
      );
      this.counts.queriedTokens += sequence.tokens.length;
      this.counts.cachedTokens += sequence.computed;
    }
    sequence.admittedAt ??= now;
    this.waitingSequences.splice(index, 1);
    this.insert(this.runningSequences, sequence);
    return sequence;
  }

  /** The pages of a sequence that has computed the same prompt, the last of them perhaps not full. */
  private follow(sequence: Sequence, leader: Sequence): Match {
    const { pageTokens } = this.blocks;
    const pages = leader.pages.slice(0, Math.ceil(sequence.prompt.length / pageTokens));
    this.blocks.share(pages);
    const full = this.blocks.match(sequence.prompt);
    this.blocks.release(full.pages);
    return { ...full, pages };
  }

  private waitFor(count: number, spare: number): number[] | undefined {
    const wanted = this.runningSequences.length > 0 ? count + spare : count;
    return wanted > this.blocks.freePages ? undefined : this.blocks.allocate(count);
  }

  /**
   * Sees to it that a sequence can write its next `count` tokens: gets pages, and copies those that
   * are shared. Where there are none, the youngest gives way (if `force`, which may be this one).
   */
  reserve(sequence: Sequence, count: number, force = true): boolean {
    if (!this.runningSequences.includes(sequence)) return false;
    const { pageTokens } = this.blocks;
    const end = Math.ceil((sequence.computed + count) / pageTokens);
    const first = Math.floor(sequence.computed / pageTokens);
    const shared: number[] = [];
    for (let i = first; i < Math.min(end, sequence.pages.length); i++) {
      if (!this.blocks.isWritable(sequence.pages[i])) shared.push(i);
    }
    const needed = Math.max(0, end - sequence.pages.length) + shared.length;
    let fresh = this.blocks.allocate(needed);
    while (fresh === undefined) {
      if (!force) return false;
      const youngest = this.runningSequences[this.runningSequences.length - 1];
      this.preempt(youngest);
      if (youngest === sequence) return false;
      fresh = this.blocks.allocate(needed);
    }
    if (shared.length > 0) {
      const copies = fresh.splice(0, shared.length);
      const originals = shared.map((i) => sequence.pages[i]);
      this.cache.copyPages(Uint32Array.from(originals), Uint32Array.from(copies));
      shared.forEach((i, n) => sequence.pages[i] = copies[n]);
      this.blocks.release(originals);
    }
    sequence.pages.push(...fresh);
    return true;
  }

  /** Takes a sequence's pages away; it waits, before all that came after it. */
  private preempt(sequence: Sequence): void {
    this.counts.preemptions++;
    this.runningSequences = this.runningSequences.filter((one) => one !== sequence);
    const used = Math.ceil(sequence.computed / this.blocks.pageTokens);
    if (used > 0) sequence.saved = this.host?.save(sequence.pages.slice(0, used));
    this.blocks.release(sequence.pages);
    sequence.pages = [];
    if (sequence.saved === undefined) {
      if (sequence.computed > 0) this.counts.recomputations++;
      sequence.computed = 0;
      sequence.published = 0;
      sequence.prefix = 0;
    }
    this.insert(this.waitingSequences, sequence);
  }

  /** Others may take over the pages that a sequence has filled. */
  publish(sequence: Sequence): void {
    const { pageTokens } = this.blocks;
    while ((sequence.published + 1) * pageTokens <= sequence.computed) {
      const start = sequence.published * pageTokens;
      const page = sequence.pages[sequence.published++];
      sequence.prefix = this.blocks.publish(page, sequence.prefix, sequence.tokens, start);
    }
  }

  /** A sequence runs no more, and holds no pages. */
  release(sequence: Sequence): void {
    this.runningSequences = this.runningSequences.filter((one) => one !== sequence);
    this.blocks.release(sequence.pages);
    sequence.pages = [];
  }

  private insert(list: Sequence[], sequence: Sequence): void {
    const place = list.findIndex(({ arrival }) => arrival > sequence.arrival);
    list.splice(place < 0 ? list.length : place, 0, sequence);
  }
}

/** Whether a sequence has computed its prompt, or never will. */
function isSettled(leader: Sequence): boolean {
  return leader.drawn > 0 || leader.cancelled || leader.complete;
}
