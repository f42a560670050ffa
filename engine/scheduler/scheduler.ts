import type { Cache } from "../device/context.ts";
import type { Sample, StepResult } from "../device/program.ts";
import type { StepSequence } from "../device/step_block.ts";
import { M40Error } from "../errors.ts";
import type { BlockManager, Match } from "./block_manager.ts";
import { ChunkBudget } from "./chunk_budget.ts";
import type { HostPages } from "./host_pages.ts";
import type { Sequence } from "./sequence.ts";

/** What runs a step: the device's program. */
export interface StepRunner {
  step(sequences: readonly StepSequence[]): Promise<StepResult>;
}

/** The fewest tokens of a chunk of a prompt, where a device does not ask for more. */
const LEAST_CHUNK_TOKENS = 16;

/** Limits of a {@link Scheduler}. */
export interface SchedulerOptions {
  /** Sequences that run at the same time. */
  readonly maxRunning: number;
  /** Sequences that may wait for a place. */
  readonly maxWaiting: number;
  /** Tokens of one step at most. */
  readonly stepTokens: number;
  /** The longest that a chunk of a prompt may delay a decoding sequence, in milliseconds. */
  readonly chunkMs: number;
  /** The fewest tokens of such a chunk; default 16. */
  readonly leastChunkTokens?: number;
  /** The time in milliseconds, rising; default `performance.now`. */
  readonly now?: () => number;
}

/** What a step was, for those who keep count. */
export interface StepReport {
  readonly promptTokens: number;
  readonly decodeTokens: number;
  /** From the call of the step to its result. */
  readonly milliseconds: number;
  /** From the result of the step before to the call of this one; absent where nothing ran before. */
  readonly gapMilliseconds?: number;
}

/** What a scheduler has done so far, and does now. */
export interface SchedulerStatus {
  readonly running: number;
  readonly waiting: number;
  /** Of those waiting, the ones that had begun and gave way to others. */
  readonly preempted: number;
  /** The device's error, where it was lost. */
  readonly failed?: string;
}

/** Sums since the start. */
export interface SchedulerCounts {
  promptTokens: number;
  /** Tokens that were looked for in the cache: prompts, and what is computed again. */
  queriedTokens: number;
  /** Of those, the ones that were found. */
  cachedTokens: number;
  generatedTokens: number;
  steps: number;
  preemptions: number;
  recomputations: number;
}

/** One sequence's part in a step: how many of its tokens are computed. */
interface Turn {
  readonly sequence: Sequence;
  readonly count: number;
}

/** A drawn token on its way to its listener. */
interface Delivery {
  readonly sequence: Sequence;
  readonly sample: Sample;
  readonly last: boolean;
}

/**
 * Decides who computes what in the next step.
 *
 * Every step takes one token of each sequence that decodes, and chunks of prompts up to a budget. First
 * come, first served: when pages run out, the sequence that came last gives way, and comes back before
 * anyone who came after it. What a step has drawn is delivered while the next one runs.
 */
export class Scheduler {
  /** Sums since the start. */
  readonly counts: SchedulerCounts = {
    promptTokens: 0,
    queriedTokens: 0,
    cachedTokens: 0,
    generatedTokens: 0,
    steps: 0,
    preemptions: 0,
    recomputations: 0,
  };
  /** Told of every step. */
  onStep?: (report: StepReport) => void;

  /** In the order of their arrival, as all lists here. */
  private waiting: Sequence[] = [];
  private running: Sequence[] = [];
  private deliveries: Delivery[] = [];
  private readonly chunks: ChunkBudget;
  private readonly now: () => number;
  private arrivals = 0;
  private loop?: Promise<void>;
  private lastResult?: number;
  private failure?: M40Error;

  /**
   * @param cache Copies pages that are about to be written and are shared.
   * @param host Where sequences that give way keep their pages; without it they are computed again.
   */
  constructor(
    private readonly runner: StepRunner,
    private readonly blocks: BlockManager,
    private readonly cache: Pick<Cache, "copyPages">,
    private readonly options: SchedulerOptions,
    private readonly host?: HostPages,
  ) {
    this.chunks = new ChunkBudget(
      options.chunkMs,
      options.stepTokens,
      options.leastChunkTokens ?? LEAST_CHUNK_TOKENS,
    );
    this.now = options.now ?? (() => performance.now());
  }

  status(): SchedulerStatus {
    return {
      running: this.running.length,
      waiting: this.waiting.length,
      preempted: this.waiting.filter((sequence) => sequence.computed > 0 || sequence.drawn > 0)
        .length,
      failed: this.failure?.message,
    };
  }

  /** How far each sequence is, those running first. */
  sequences(): readonly Sequence[] {
    return [...this.running, ...this.waiting];
  }

  /**
   * Queues sequences, all or none.
   *
   * @throws {M40Error} "queue_full" where too many wait; "context_length_exceeded" where one could never
   * fit, "invalid_request" where so many could not; "device" where the device was lost.
   */
  add(...sequences: Sequence[]): void {
    if (this.failure) throw this.failure;
    for (const { maxLength } of sequences) {
      const pages = Math.ceil(maxLength / this.blocks.pageTokens);
      if (pages > this.blocks.pages) {
        throw new M40Error(
          "context_length_exceeded",
          `${maxLength} tokens, prompt and output together, need ${pages} KV pages; there are ` +
            `${this.blocks.pages}. Ask for fewer tokens (max_tokens), or shorten the prompt.`,
        );
      }
    }
    const { maxRunning, maxWaiting } = this.options;
    if (sequences.length > maxWaiting + maxRunning) {
      throw new M40Error(
        "invalid_request",
        `${sequences.length} sequences at once; ${maxRunning} can run and ${maxWaiting} wait. ` +
          "Ask for fewer (n, prompts).",
      );
    }
    const room = maxWaiting + Math.max(0, maxRunning - this.running.length) - this.waiting.length;
    if (sequences.length > room) {
      throw new M40Error(
        "queue_full",
        `${this.waiting.length} requests wait already, the most that may; try again later`,
      );
    }
    const now = this.now();
    for (const sequence of sequences) {
      sequence.arrival = this.arrivals++;
      sequence.arrivedAt = now;
      this.waiting.push(sequence);
    }
    this.loop ??= this.run();
  }

  /** Lets go of a sequence: at once where it waits, before the next step where it runs. */
  cancel(sequence: Sequence): void {
    sequence.cancelled = true;
    const place = this.waiting.indexOf(sequence);
    if (place < 0) return;
    this.waiting.splice(place, 1);
    this.dropSaved(sequence);
    sequence.listener.end();
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    while (this.loop) await this.loop;
  }

  private async run(): Promise<void> {
    // Sequences that arrive together start together.
    await Promise.resolve();
    try {
      while (true) {
        const turns = this.schedule();
        if (turns.length === 0) break;
        const start = this.now();
        const gapMilliseconds = this.lastResult && start - this.lastResult;
        const step = this.runner.step(turns.map(stepOf));
        this.deliver();
        const { samples } = await step;
        this.lastResult = this.now();
        this.commit(turns, samples);
        this.report(turns, this.lastResult - start, gapMilliseconds);
      }
      this.deliver();
    } catch (error) {
      this.deliver();
      this.fail(error);
    } finally {
      this.lastResult = undefined;
      this.loop = this.waiting.length > 0 ? this.run() : undefined;
    }
  }

  /** The next step's turns. Afterwards each of their sequences holds the pages that it writes to. */
  private schedule(): Turn[] {
    for (const sequence of this.running.filter((one) => one.cancelled)) this.leave(sequence);
    const turns: Turn[] = [];
    for (const sequence of this.running.filter((one) => one.decodes)) {
      if (this.reserve(sequence, 1)) turns.push({ sequence, count: 1 });
    }
    // Giving way is for the youngest, so it can hit one whose turn has been decided.
    const decoding = turns.filter(({ sequence }) => sequence.pages.length > 0);
    const { stepTokens } = this.options;
    let budget = decoding.length === 0
      ? stepTokens
      : Math.min(this.chunks.tokens, stepTokens - decoding.length);
    const prompts: Turn[] = [];
    const take = (sequence: Sequence) => {
      const count = Math.min(sequence.left, budget);
      if (count === 0 || !this.reserve(sequence, count, false)) return;
      prompts.push({ sequence, count });
      budget -= count;
    };
    for (const sequence of this.running.filter((one) => !one.decodes)) take(sequence);
    while (budget > 0) {
      const sequence = this.admit();
      if (sequence === undefined) break;
      if (sequence.decodes) {
        if (!this.reserve(sequence, 1, false)) continue;
        decoding.push({ sequence, count: 1 });
        budget--;
      } else take(sequence);
    }
    if (decoding.length + prompts.length === 0 && this.running.length > 0) {
      // Prompts that are half computed hold all pages: the oldest gets its own at the others' cost.
      const sequence = this.running[0];
      const count = Math.min(sequence.left, stepTokens);
      if (this.reserve(sequence, count)) prompts.push({ sequence, count });
    }
    return [...decoding, ...prompts];
  }

  /** Lets the first of those waiting in, if there is a place and there are pages. */
  private admit(): Sequence | undefined {
    if (this.running.length >= this.options.maxRunning) return undefined;
    const index = this.waiting.findIndex(({ leader }) => leader === undefined || isSettled(leader));
    if (index < 0) return undefined;
    const sequence = this.waiting[index];
    const { blocks } = this;
    // Those who run get a page each before a new one may come in.
    const spare = this.running.length;
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
      if (needed + spare > blocks.freePages && this.running.length > 0) {
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
    sequence.admittedAt ??= this.now();
    this.waiting.splice(index, 1);
    this.insert(this.running, sequence);
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
    const wanted = this.running.length > 0 ? count + spare : count;
    return wanted > this.blocks.freePages ? undefined : this.blocks.allocate(count);
  }

  /**
   * Sees to it that a sequence can write its next `count` tokens: gets pages, and copies those that
   * are shared. Where there are none, the youngest gives way (if `force`, which may be this one).
   */
  private reserve(sequence: Sequence, count: number, force = true): boolean {
    if (!this.running.includes(sequence)) return false;
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
      const youngest = this.running[this.running.length - 1];
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
    this.running = this.running.filter((one) => one !== sequence);
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
    this.insert(this.waiting, sequence);
  }

  private commit(turns: readonly Turn[], samples: readonly Sample[]): void {
    let next = 0;
    for (const { sequence, count } of turns) {
      sequence.computed += count;
      if (sequence.drawn === 0) this.counts.promptTokens += count;
      const sample = sequence.left === 0 ? samples[next++] : undefined;
      if (sequence.cancelled) continue;
      this.publish(sequence);
      if (sample === undefined) continue;
      sequence.append(sample.token);
      this.counts.generatedTokens++;
      this.deliveries.push({ sequence, sample, last: sequence.complete });
      if (sequence.complete) this.release(sequence);
    }
  }

  private publish(sequence: Sequence): void {
    const { pageTokens } = this.blocks;
    while ((sequence.published + 1) * pageTokens <= sequence.computed) {
      const start = sequence.published * pageTokens;
      const page = sequence.pages[sequence.published++];
      sequence.prefix = this.blocks.publish(page, sequence.prefix, sequence.tokens, start);
    }
  }

  /** Hands drawn tokens to their listeners. */
  private deliver(): void {
    for (const { sequence, sample, last } of this.deliveries.splice(0)) {
      if (sequence.cancelled) {
        // It left the scheduler complete, so nothing else tells its listener that it has ended.
        if (last) sequence.listener.end();
        continue;
      }
      const more = sequence.listener.accept(sample);
      if (last) sequence.listener.end();
      else if (!more) sequence.cancelled = true;
    }
  }

  private report(
    turns: readonly Turn[],
    milliseconds: number,
    gapMilliseconds: number | undefined,
  ): void {
    // A drawn token has been appended by now: a decoding sequence computed the one before it.
    const decodeTokens =
      turns.filter(({ sequence, count }) =>
        count === 1 && sequence.computed > sequence.prompt.length
      ).length;
    const tokens = turns.reduce((sum, { count }) => sum + count, 0);
    const report = { promptTokens: tokens - decodeTokens, decodeTokens, milliseconds };
    this.counts.steps++;
    this.chunks.observe(report);
    this.onStep?.({ ...report, gapMilliseconds });
  }

  /** A running sequence is let go of; its listener is told. */
  private leave(sequence: Sequence, error?: unknown): void {
    this.release(sequence);
    sequence.listener.end(error);
  }

  private release(sequence: Sequence): void {
    this.running = this.running.filter((one) => one !== sequence);
    this.blocks.release(sequence.pages);
    sequence.pages = [];
  }

  private dropSaved(sequence: Sequence): void {
    if (sequence.saved) this.host!.drop(sequence.saved);
    sequence.saved = undefined;
  }

  private fail(error: unknown): void {
    const known = error instanceof M40Error
      ? error
      : new M40Error("internal", error instanceof Error ? error.message : String(error));
    for (const sequence of [...this.running]) this.leave(sequence, known);
    if (known.code !== "device") return;
    this.failure = known;
    for (const sequence of this.waiting.splice(0)) {
      this.dropSaved(sequence);
      sequence.listener.end(known);
    }
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

function stepOf({ sequence, count }: Turn): StepSequence {
  const end = sequence.computed + count;
  return {
    tokens: sequence.tokens.slice(sequence.computed, end),
    position: sequence.computed,
    pages: sequence.pages,
    decode: sequence.decodes,
    outputs: end === sequence.tokens.length
      ? [{ row: count - 1, sampling: sequence.sampling() }]
      : [],
  };
}
