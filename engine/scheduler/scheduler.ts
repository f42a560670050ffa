import type { StepResult } from "../device/program.ts";
import type { StepSequence } from "../device/step_block.ts";
import { M40Error } from "../errors.ts";
import type { BlockManager } from "./block_manager.ts";
import type { Sequence } from "./sequence.ts";

/** What runs a step: the device's program. */
export interface StepRunner {
  step(sequences: readonly StepSequence[]): Promise<StepResult>;
}

/** Limits of a {@link Scheduler}. */
export interface SchedulerOptions {
  /** Sequences that run at the same time. */
  readonly maxRunning: number;
  /** Sequences that may wait for a place. */
  readonly maxWaiting: number;
  /** Tokens of one step at most. */
  readonly stepTokens: number;
  /** Tokens of a KV page. */
  readonly pageTokens: number;
}

/** One sequence's part in a step: how many of its tokens are computed. */
interface Turn {
  readonly sequence: Sequence;
  readonly count: number;
}

/**
 * Decides who computes what in the next step. Sequences are served first come, first served; a
 * sequence is let in when the pages for its greatest length are free.
 */
export class Scheduler {
  private readonly waiting: Sequence[] = [];
  private running: Sequence[] = [];
  private loop?: Promise<void>;
  private failure?: M40Error;

  constructor(
    private readonly runner: StepRunner,
    private readonly blocks: BlockManager,
    private readonly options: SchedulerOptions,
  ) {}

  /** How many sequences run and wait, and the device's error where it was lost. */
  status(): { running: number; waiting: number; failed?: string } {
    return {
      running: this.running.length,
      waiting: this.waiting.length,
      failed: this.failure?.message,
    };
  }

  /**
   * Queues a sequence.
   *
   * @throws {M40Error} "queue_full" where too many wait; "device" where the device was lost.
   */
  add(sequence: Sequence): void {
    if (this.failure) throw this.failure;
    const places = this.options.maxRunning - this.running.length;
    if (this.waiting.length >= this.options.maxWaiting + Math.max(0, places)) {
      throw new M40Error(
        "queue_full",
        `${this.waiting.length} requests wait already, the most that may; try again later`,
      );
    }
    const pages = Math.ceil(sequence.maxLength / this.options.pageTokens);
    if (pages > this.blocks.pages) {
      throw new M40Error(
        "context_length_exceeded",
        `${sequence.maxLength} tokens need ${pages} KV pages; there are ${this.blocks.pages}`,
      );
    }
    this.waiting.push(sequence);
    this.loop ??= this.run();
  }

  /** Lets go of a sequence: at once where it waits, before the next step where it runs. */
  cancel(sequence: Sequence): void {
    sequence.cancelled = true;
    const place = this.waiting.indexOf(sequence);
    if (place < 0) return;
    this.waiting.splice(place, 1);
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
        const { samples } = await this.runner.step(turns.map((turn) => this.stepOf(turn)));
        let next = 0;
        for (const { sequence, count } of turns) {
          sequence.computed += count;
          if (sequence.computed < sequence.tokens.length) continue;
          const sample = samples[next++];
          if (!sequence.cancelled && !sequence.append(sample)) this.leave(sequence);
        }
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.loop = this.waiting.length > 0 ? this.run() : undefined;
    }
  }

  /** The next step's turns: a token of every running sequence, then prompts, within the step's tokens. */
  private schedule(): Turn[] {
    for (const sequence of this.running.filter((one) => one.cancelled)) this.leave(sequence);
    while (this.running.length < this.options.maxRunning && this.waiting.length > 0) {
      const pages = this.blocks.allocate(
        Math.ceil(this.waiting[0].maxLength / this.options.pageTokens),
      );
      if (pages === undefined) break;
      const sequence = this.waiting.shift()!;
      sequence.pages = pages;
      this.running.push(sequence);
    }
    let budget = this.options.stepTokens;
    const turns: Turn[] = [];
    const left = (sequence: Sequence) => sequence.tokens.length - sequence.computed;
    const decoding = (sequence: Sequence) => Number(sequence.drawn > 0);
    for (const sequence of this.running.toSorted((a, b) => decoding(b) - decoding(a))) {
      const count = Math.min(left(sequence), budget);
      if (count === 0) break;
      turns.push({ sequence, count });
      budget -= count;
    }
    return turns;
  }

  private stepOf({ sequence, count }: Turn): StepSequence {
    const end = sequence.computed + count;
    return {
      tokens: sequence.tokens.slice(sequence.computed, end),
      position: sequence.computed,
      decode: sequence.drawn > 0,
      pages: sequence.pages,
      outputs: end === sequence.tokens.length
        ? [{ row: count - 1, sampling: sequence.sampling() }]
        : [],
    };
  }

  private leave(sequence: Sequence, error?: unknown): void {
    this.running = this.running.filter((one) => one !== sequence);
    this.blocks.release(sequence.pages);
    sequence.pages = [];
    sequence.listener.end(error);
  }

  private fail(error: unknown): void {
    const known = error instanceof M40Error
      ? error
      : new M40Error("internal", error instanceof Error ? error.message : String(error));
    if (known.code === "device") this.failure = known;
    for (const sequence of this.running) this.leave(sequence, known);
    if (this.failure) {
      for (const sequence of this.waiting.splice(0)) {
        sequence.listener.end(known);
      }
    }
  }
}
