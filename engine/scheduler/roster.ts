import { type Match, type PageManager, ROOT_PREFIX } from "./page_manager.ts";
import type { HostPages } from "./host_pages.ts";
import type { LostPages, PageMoves } from "./page_moves.ts";
import type { SchedulerCounts } from "./report.ts";
import type { Sequence } from "./sequence.ts";

/**
 * The sequences that run and those that wait, and the KV pages that they hold: who is let in, who gets
 * pages, and who gives way when there are none. It alone changes what state a sequence is in.
 *
 * First come, first served: the sequence that came last gives way, and comes back before anyone who came
 * after it.
 */
export class Roster {
  private waitingSequences: Sequence[] = [];
  private runningSequences: Sequence[] = [];
  private arrivals = 0;

  /**
   * @param moves Where it notes what has to be done to pages before the next step.
   * @param maxRunning Sequences that run at the same time.
   * @param counts Where it adds what it does.
   * @param host Where sequences that give way keep their pages; without it they are computed again.
   */
  constructor(
    private readonly pageManager: PageManager,
    private readonly moves: PageMoves,
    private readonly maxRunning: number,
    private readonly counts: SchedulerCounts,
    private readonly host?: HostPages,
  ) {}

  /** Those that are waiting or preempted, in the order of their arrival. */
  get waiting(): readonly Sequence[] {
    return this.waitingSequences;
  }

  /** Those that are prefilling or decoding, in the order of their arrival. */
  get running(): readonly Sequence[] {
    return this.runningSequences;
  }

  /** How many of those waiting had begun and gave way to others. */
  get preempted(): number {
    return this.waitingSequences.filter(({ state }) => state === "preempted").length;
  }

  /** A sequence arrives, and waits. */
  arrive(sequence: Sequence, now: number): void {
    sequence.arrival = this.arrivals++;
    sequence.arrivedAt = now;
    this.waitingSequences.push(sequence);
  }

  /** Lets the first of those waiting in, if there is a place and there are pages. */
  admit(now: number): Sequence | undefined {
    if (this.runningSequences.length >= this.maxRunning) return undefined;
    const index = this.waitingSequences.findIndex(({ leader }) =>
      leader === undefined || leader.drawn > 0 || leader.state === "finished"
    );
    if (index < 0) return undefined;
    const sequence = this.waitingSequences[index];
    if (!(sequence.saved ? this.bringBack(sequence) : this.takeOver(sequence))) return undefined;
    sequence.admittedAt ??= now;
    this.waitingSequences.splice(index, 1);
    insert(this.runningSequences, sequence);
    sequence.become(sequence.computed < sequence.prompt.length ? "prefilling" : "decoding");
    return sequence;
  }

  /** A sequence's pages come back from host memory, if there is room for them. */
  private bringBack(sequence: Sequence): boolean {
    const saved = sequence.saved!;
    if (saved.count + this.spare > this.pageManager.freePages) return false;
    sequence.pages = this.pageManager.allocate(saved.count)!;
    this.moves.restore(sequence, sequence.pages, this.host!.bytesOf(saved));
    this.dropSaved(sequence);
    return true;
  }

  /** A sequence takes over pages that hold its beginning, if there is room for the others that it needs. */
  private takeOver(sequence: Sequence): boolean {
    const { pageManager } = this;
    const { leader, tokens } = sequence;
    const begins = sequence.state === "waiting";
    const follows = begins && leader?.state === "decoding";
    const { pages, prefixes } = follows ? this.pagesOf(leader) : this.findPages(sequence);
    const needed = Math.ceil(tokens.length / pageManager.pageTokens) - pages.length;
    if (needed + this.spare > pageManager.freePagesBeside(pages)) return false;
    pageManager.share(pages);
    sequence.pages = [...pages];
    sequence.prefixes = [...prefixes];
    sequence.match = undefined;
    if (follows) sequence.noteDecodedLike(leader);
    else if (begins) this.noteDecoded(sequence);
    sequence.computed = Math.min(pages.length * pageManager.pageTokens, tokens.length - 1);
    if (begins) sequence.cached = sequence.computed;
    this.counts.queriedTokens += tokens.length;
    this.counts.cachedTokens += sequence.computed;
    return true;
  }

  /** The pages of the prompt of a leader, the last of them perhaps not full, and what they stand for. */
  private pagesOf({ pages, prefixes, prompt }: Sequence) {
    const { pageTokens } = this.pageManager;
    return {
      pages: pages.slice(0, Math.ceil(prompt.length / pageTokens)),
      prefixes: prefixes.slice(0, Math.floor((prompt.length - 1) / pageTokens)),
    };
  }

  /** Published pages. Who begins takes what there is; who goes on, only what is as its own was before. */
  private findPages(sequence: Sequence): Match {
    const { pageTokens } = this.pageManager;
    const asBefore = (index: number, promptRows: number) =>
      promptRows === sequence.promptRows(index * pageTokens, (index + 1) * pageTokens);
    const accepts = sequence.state === "waiting" ? undefined : asBefore;
    return sequence.match = this.pageManager.match(sequence.tokens, sequence.match, accepts);
  }

  /** Notes which tokens of the pages that a sequence has taken over had been decoded. */
  private noteDecoded(sequence: Sequence): void {
    const { pageTokens } = this.pageManager;
    sequence.pages.forEach((page, i) => {
      const start = i * pageTokens;
      sequence.noteDecoded(start + this.pageManager.promptRowsOf(page), start + pageTokens);
    });
  }

  /** Pages that are left to those who run, one each, before a new one may come in. */
  private get spare(): number {
    return this.runningSequences.length;
  }

  /**
   * Sees to it that a sequence can write its next `count` tokens: gets pages, and copies those that
   * are shared. Where there are none, the youngest gives way (if `force`, which may be this one).
   */
  reserve(sequence: Sequence, count: number, force = true): boolean {
    if (!sequence.runs) return false;
    const { pageTokens } = this.pageManager;
    const end = Math.ceil((sequence.computed + count) / pageTokens);
    const first = Math.floor(sequence.computed / pageTokens);
    const shared: number[] = [];
    for (let i = first; i < Math.min(end, sequence.pages.length); i++) {
      if (!this.pageManager.isWritable(sequence.pages[i])) shared.push(i);
    }
    const needed = Math.max(0, end - sequence.pages.length) + shared.length;
    if (needed === 0) return true;
    let fresh = this.pageManager.allocate(needed);
    while (fresh === undefined) {
      if (!force) return false;
      const youngest = this.runningSequences[this.runningSequences.length - 1];
      this.preempt(youngest);
      if (youngest === sequence) return false;
      fresh = this.pageManager.allocate(needed);
    }
    if (shared.length > 0) {
      const copies = fresh.splice(0, shared.length);
      const originals = shared.map((i) => sequence.pages[i]);
      this.moves.copy(sequence, originals, copies);
      shared.forEach((i, n) => sequence.pages[i] = copies[n]);
      this.pageManager.release(originals);
    }
    sequence.pages.push(...fresh);
    return true;
  }

  /** Takes a sequence's pages away; it waits, before all that came after it. */
  private preempt(sequence: Sequence): void {
    this.counts.preemptions++;
    const used = Math.ceil(sequence.computed / this.pageManager.pageTokens);
    sequence.saved = used > 0 ? this.host?.allocate(used) : undefined;
    if (sequence.saved) {
      const memory = this.host!.bytesOf(sequence.saved);
      this.moves.save(sequence, sequence.pages.slice(0, used), memory);
    }
    this.pause(sequence);
    if (sequence.saved === undefined) this.forget(sequence);
  }

  /** Those whose pages were lost are computed again, and so are those who shared them. */
  recover(lost: LostPages): void {
    const sharing = this.runningSequences.filter(({ pages }) =>
      pages.some((page) => lost.pages.has(page))
    );
    for (const sequence of new Set([...lost.sequences, ...sharing])) {
      if (sequence.state === "finished") continue;
      // To copy what its leader has could fail again.
      sequence.leader = undefined;
      if (sequence.runs) this.pause(sequence);
      this.dropSaved(sequence);
      this.forget(sequence);
    }
  }

  /** A sequence runs no more and holds no pages; it waits, before all that came after it. */
  private pause(sequence: Sequence): void {
    remove(this.runningSequences, sequence);
    insert(this.waitingSequences, sequence);
    sequence.become("preempted");
    this.releasePages(sequence);
  }

  private forget(sequence: Sequence): void {
    if (sequence.computed > 0) this.counts.recomputations++;
    sequence.forgetComputed();
  }

  /** A step has computed so many more tokens of a sequence: others may take over the pages that it filled. */
  advance(sequence: Sequence, count: number): void {
    sequence.computed += count;
    if (sequence.state === "prefilling" && sequence.computed >= sequence.prompt.length) {
      sequence.become("decoding");
    }
    this.publish(sequence);
  }

  private publish(sequence: Sequence): void {
    const { pageTokens } = this.pageManager;
    const { prefixes, pages, tokens } = sequence;
    while ((prefixes.length + 1) * pageTokens <= sequence.computed) {
      const prefix = prefixes.length === 0 ? ROOT_PREFIX : prefixes[prefixes.length - 1];
      if (prefix === undefined) return;
      const start = prefixes.length * pageTokens;
      const rows = sequence.promptRows(start, start + pageTokens);
      prefixes.push(this.pageManager.publish(pages[prefixes.length], prefix, tokens, start, rows));
    }
  }

  /** Gives back pages that were reserved for guesses that were wrong. */
  trim(sequence: Sequence): void {
    const used = Math.ceil(sequence.tokens.length / this.pageManager.pageTokens);
    if (sequence.pages.length > used) this.pageManager.release(sequence.pages.splice(used));
  }

  /**
   * Nothing comes of a sequence any more. Its pages are free at once, also while a step computes it: what
   * the device does next waits for that step.
   */
  finish(sequence: Sequence): void {
    if (!remove(this.runningSequences, sequence)) remove(this.waitingSequences, sequence);
    sequence.become("finished");
    this.releasePages(sequence);
    this.dropSaved(sequence);
    sequence.match = undefined;
    if (sequence.drawn === 0) this.appointLeader(sequence);
  }

  /** Where a leader ends before it has computed its prompt, the first of its followers leads the others. */
  private appointLeader(former: Sequence): void {
    const [heir, ...others] = this.waitingSequences.filter(({ leader }) => leader === former);
    if (heir === undefined) return;
    heir.leader = undefined;
    for (const other of others) other.leader = heir;
  }

  private releasePages(sequence: Sequence): void {
    this.pageManager.release(sequence.pages);
    sequence.pages = [];
  }

  private dropSaved(sequence: Sequence): void {
    if (sequence.saved) this.host!.release(sequence.saved);
    sequence.saved = undefined;
  }
}

/** Puts a sequence where its arrival belongs. */
function insert(list: Sequence[], sequence: Sequence): void {
  const place = list.findIndex(({ arrival }) => arrival > sequence.arrival);
  list.splice(place < 0 ? list.length : place, 0, sequence);
}

/** Takes a sequence out; the answer is whether it was there. */
function remove(list: Sequence[], sequence: Sequence): boolean {
  const place = list.indexOf(sequence);
  if (place >= 0) list.splice(place, 1);
  return place >= 0;
}
