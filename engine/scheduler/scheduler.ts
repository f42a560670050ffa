import type { Cache } from "../device/context.ts";
import type { StepSequence } from "../device/step_block.ts";
import type { Sample, StepResult } from "../device/step_result.ts";
import { M40Error } from "../errors.ts";
import type { BlockManager } from "./block_manager.ts";
import { ChunkBudget } from "./chunk_budget.ts";
import type { HostPages } from "./host_pages.ts";
import type { SchedulerCounts, SchedulerStatus, StepReport } from "./report.ts";
import { Roster } from "./roster.ts";
import type { Sequence } from "./sequence.ts";

/** What runs a step: the device's program. */
export interface StepRunner {
  step(sequences: readonly StepSequence[]): Promise<StepResult>;
}

/** The fewest tokens of a chunk of a prompt, where a device computes any number at a time. */
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
  /** The numbers of tokens, rising, that the device computes at a time; default any. */
  readonly tileTokens?: readonly number[];
  /** The time in milliseconds, rising; default `performance.now`. */
  readonly now?: () => number;
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
 * Every step takes one token of each sequence that decodes, and chunks of prompts up to a budget, first
 * come, first served; {@link Roster} says who is let in and who gives way. What a step has drawn is
 * delivered while the next one runs.
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

  private readonly roster: Roster;
  private deliveries: Delivery[] = [];
  private readonly chunks: ChunkBudget;
  private readonly now: () => number;
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
    cache: Pick<Cache, "copyPages">,
    private readonly options: SchedulerOptions,
    host?: HostPages,
  ) {
    this.roster = new Roster(blocks, cache, options.maxRunning, this.counts, host);
    this.chunks = new ChunkBudget(
      options.chunkMs,
      options.stepTokens,
      options.tileTokens?.[0] ?? LEAST_CHUNK_TOKENS,
      options.tileTokens,
    );
    this.now = options.now ?? (() => performance.now());
  }

  status(): SchedulerStatus {
    return {
      running: this.roster.running.length,
      waiting: this.roster.waiting.length,
      preempted:
        this.roster.waiting.filter((sequence) => sequence.computed > 0 || sequence.drawn > 0)
          .length,
      failed: this.failure?.message,
    };
  }

  /** How far each sequence is, those running first. */
  sequences(): readonly Sequence[] {
    return [...this.roster.running, ...this.roster.waiting];
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
    const room = maxWaiting + Math.max(0, maxRunning - this.roster.running.length) -
      this.roster.waiting.length;
    if (sequences.length > room) {
      throw new M40Error(
        "queue_full",
        `${this.roster.waiting.length} requests wait already, the most that may; try again later`,
      );
    }
    const now = this.now();
    for (const sequence of sequences) this.roster.arrive(sequence, now);
    this.loop ??= this.run();
  }

  /** Lets go of a sequence: at once where it waits, before the next step where it runs. */
  cancel(sequence: Sequence): void {
    sequence.cancelled = true;
    if (this.roster.withdraw(sequence)) sequence.listener.end();
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
        const { outputs } = await step;
        const samples = outputs.map(({ status, sample }) => {
          if (sample === undefined) throw new M40Error("internal", `an output is ${status}`);
          return sample;
        });
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
      this.loop = this.roster.waiting.length > 0 ? this.run() : undefined;
    }
  }

  /** The next step's turns. Afterwards each of their sequences holds the pages that it writes to. */
  private schedule(): Turn[] {
    for (const sequence of this.roster.running.filter((one) => one.cancelled)) this.leave(sequence);
    const turns: Turn[] = [];
    for (const sequence of this.roster.running.filter((one) => one.decodes)) {
      if (this.roster.reserve(sequence, 1)) turns.push({ sequence, count: 1 });
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
      if (count === 0 || !this.roster.reserve(sequence, count, false)) return;
      prompts.push({ sequence, count });
      budget -= count;
    };
    for (const sequence of this.roster.running.filter((one) => !one.decodes)) take(sequence);
    while (budget > 0) {
      const sequence = this.roster.admit(this.now());
      if (sequence === undefined) break;
      if (sequence.decodes) {
        if (!this.roster.reserve(sequence, 1, false)) continue;
        decoding.push({ sequence, count: 1 });
        budget--;
      } else take(sequence);
    }
    if (decoding.length + prompts.length === 0 && this.roster.running.length > 0) {
      // Prompts that are half computed hold all pages: the oldest gets its own at the others' cost.
      const sequence = this.roster.running[0];
      const count = Math.min(sequence.left, stepTokens);
      if (this.roster.reserve(sequence, count)) prompts.push({ sequence, count });
    }
    return [...decoding, ...prompts];
  }

  private commit(turns: readonly Turn[], samples: readonly Sample[]): void {
    let next = 0;
    for (const { sequence, count } of turns) {
      sequence.computed += count;
      if (sequence.drawn === 0) this.counts.promptTokens += count;
      const sample = sequence.left === 0 ? samples[next++] : undefined;
      if (sequence.cancelled) continue;
      this.roster.publish(sequence);
      if (sample === undefined) continue;
      sequence.append(sample.token);
      this.counts.generatedTokens++;
      this.deliveries.push({ sequence, sample, last: sequence.complete });
      if (sequence.complete) this.roster.release(sequence);
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
    this.roster.release(sequence);
    sequence.listener.end(error);
  }

  private fail(error: unknown): void {
    const known = error instanceof M40Error
      ? error
      : new M40Error("internal", error instanceof Error ? error.message : String(error));
    for (const sequence of [...this.roster.running]) this.leave(sequence, known);
    if (known.code !== "device") return;
    this.failure = known;
    for (const sequence of [...this.roster.waiting]) {
      this.roster.withdraw(sequence);
      sequence.listener.end(known);
    }
  }
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
