import type { StepSequence } from "../device/step_block.ts";
import type { StepOutput } from "../device/step_result.ts";
import { asM40Error, isDeviceLoss, M40Error } from "../errors.ts";
import type { PageManager } from "./page_manager.ts";
import { ChunkBudget } from "./chunk_budget.ts";
import { Deliveries } from "./deliveries.ts";
import { Outcomes } from "./outcomes.ts";
import { PageMoves } from "./page_moves.ts";
import type { SchedulerCounts, SchedulerStatus } from "./report.ts";
import { Roster } from "./roster.ts";
import type { Sequence } from "./sequence.ts";
import type { SchedulerDevice, SchedulerOptions } from "./scheduler_options.ts";
import { States } from "./states.ts";
import { stepOf, type Turn, turnOf } from "./turn.ts";

/** The fewest tokens of a chunk of a prompt, where a device computes any number at a time. */
const LEAST_CHUNK_TOKENS = 16;

/**
 * Decides who computes what in the next step.
 *
 * Every step takes one token of each sequence that decodes, with guesses of the tokens after it where there
 * are some, and chunks of prompts up to a budget, first come, first served; {@link Roster} says who is let
 * in and who gives way. What a step has drawn is delivered while the next one runs.
 */
export class Scheduler {
  /** Sums since the start. */
  readonly counts: SchedulerCounts = {
    promptTokens: 0,
    queriedTokens: 0,
    cachedTokens: 0,
    generatedTokens: 0,
    guessedTokens: 0,
    certainTokens: 0,
    steps: 0,
    preemptions: 0,
    recomputations: 0,
    restedMs: 0,
  };

  private readonly roster: Roster;
  private readonly moves: PageMoves;
  private readonly states?: States;
  private readonly deliveries: Deliveries;
  private readonly outcomes: Outcomes;
  private readonly chunks: ChunkBudget;
  private readonly now: () => number;
  private loop?: Promise<void>;
  private lastResult?: number;
  /** How long the last step took, and when it ended, whoever has come and gone since then. */
  private lastStep = { milliseconds: 0, end: 0 };
  private failure?: M40Error;
  /** Whether something has changed since nobody could take part in a step, and who waits for that. */
  private changed = false;
  private wake?: () => void;

  constructor(
    private readonly device: SchedulerDevice,
    private readonly pageManager: PageManager,
    private readonly options: SchedulerOptions,
  ) {
    const { maxRunning, stepTokens, host, disk, tileTokens } = options;
    const { counts } = this;
    const { slots } = pageManager;
    const moves = this.moves = new PageMoves(device);
    const states = this.states = slots &&
      new States(pageManager, slots, moves, options.hostStates);
    const fetches = disk?.fetches;
    this.roster = new Roster(
      pageManager,
      moves,
      maxRunning,
      stepTokens,
      counts,
      host,
      fetches,
      states,
    );
    this.deliveries = new Deliveries(
      (sequence, error) => this.end(sequence, error),
      (error) => options.onListenerError?.(error),
    );
    this.outcomes = new Outcomes(this.roster, this.deliveries, counts, states);
    this.chunks = new ChunkBudget(
      options.chunkMs,
      options.stepTokens,
      tileTokens?.[0] ?? LEAST_CHUNK_TOKENS,
      tileTokens,
    );
    this.now = options.now ?? (() => performance.now());
    pageManager.onRelease = () => this.notice();
    if (slots) slots.onRelease = () => this.notice();
    disk?.serve({
      isBusy: () => this.roster.running.length > 0,
      onEnd: () => this.notice(),
      onLoss: (error) => this.fail(error),
    });
  }

  status(): SchedulerStatus {
    return {
      running: this.roster.running.length,
      waiting: this.roster.waiting.length,
      preempted: this.roster.preempted,
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
      const pages = this.pageManager.layout.most(maxLength, this.options.stepTokens);
      if (pages > this.pageManager.pages) {
        throw new M40Error(
          "context_length_exceeded",
          `${maxLength} tokens, prompt and output together, need ${pages} KV pages; there are ` +
            `${this.pageManager.pages}. Ask for fewer tokens (max_tokens), or shorten the prompt.`,
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
    this.notice();
    this.loop ??= this.run();
  }

  /** Ends a sequence, wherever it is; its listener is told at once. */
  cancel(sequence: Sequence): void {
    this.end(sequence);
    this.notice();
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    while (this.loop) await this.loop;
  }

  private async run(): Promise<void> {
    // Sequences that arrive together start together.
    await Promise.resolve();
    const { withDevice = (work) => work() } = this.options;
    while (
      this.roster.running.length + this.roster.waiting.length > 0 || !this.deliveries.isEmpty
    ) {
      try {
        if (this.options.rest) await this.rest(this.options.rest);
        if (await withDevice(() => this.step())) continue;
      } catch (error) {
        this.fail(error);
      }
      this.deliveries.deliver();
      this.lastResult = undefined;
      if (this.roster.waiting.length > 0) await this.change();
    }
    this.lastResult = undefined;
    this.loop = undefined;
  }

  /** Lets the device rest, before it is decided who takes part in the next step. */
  private async rest(wait: NonNullable<SchedulerOptions["rest"]>): Promise<void> {
    const { milliseconds, end } = this.lastStep;
    const restedMs = await wait(milliseconds, this.now() - end);
    this.counts.restedMs += restedMs;
  }

  /** Something has changed that lets those go on who could not. */
  private notice(): void {
    this.changed = true;
    this.wake?.();
  }

  /** Resolves when something has changed since the last time that nobody could take part in a step. */
  private async change(): Promise<void> {
    if (!this.changed) await new Promise<void>((resolve) => this.wake = resolve);
    this.wake = undefined;
  }

  /** Runs a step; the answer is whether there was somebody to take part in it. */
  private async step(): Promise<boolean> {
    let turns = this.schedule();
    // What was given back in deciding that helps nobody.
    this.changed = false;
    if (!this.moves.isEmpty) turns = await this.movePages(turns);
    if (turns.length === 0) return false;
    const parts = turns.map((turn) => this.partOf(turn));
    turns = turns.filter((_, i) => parts[i] !== undefined);
    if (turns.length === 0) return true;
    const start = this.now();
    const gapMilliseconds = this.lastResult && start - this.lastResult;
    let outputs: readonly StepOutput[];
    try {
      const step = this.device.step(parts.filter((part) => part !== undefined));
      this.deliveries.deliver();
      ({ outputs } = await step);
    } catch (error) {
      if (isDeviceLoss(error)) throw error;
      // Whatever was wrong with it, the others had no part in it.
      for (const { sequence } of turns) {
        if (sequence.runs) this.outcomes.conclude(sequence, asM40Error(error));
      }
      return true;
    }
    this.lastResult = this.now();
    this.lastStep = { milliseconds: this.lastResult - start, end: this.lastResult };
    this.outcomes.take(turns, outputs);
    this.report(turns, this.lastResult - start, gapMilliseconds);
    return true;
  }

  /** A turn as the device takes it; where that fails (what steers the sequence, say), its sequence ends. */
  private partOf(turn: Turn): StepSequence | undefined {
    try {
      return stepOf(turn);
    } catch (error) {
      this.outcomes.conclude(turn.sequence, asM40Error(error));
      return undefined;
    }
  }

  /** Moves pages as {@link schedule} has decided; gives the turns that are still possible. */
  private async movePages(turns: readonly Turn[]): Promise<Turn[]> {
    const moving = this.moves.run();
    this.deliveries.deliver();
    const lost = await moving;
    this.roster.recover(lost);
    const possible = turns.filter(({ sequence }) => sequence.runs);
    if (lost.sequences.size > 0 || possible.length < turns.length) this.notice();
    return possible;
  }

  /** The next step's turns. Afterwards each of their sequences holds the pages that it writes to. */
  private schedule(): Turn[] {
    const { stepTokens } = this.options;
    const decoding = this.scheduleDecoding();
    let budget = stepTokens;
    if (decoding.length > 0) {
      const rows = rowsOf(decoding);
      budget = Math.min(this.chunks.tokens, stepTokens - rows);
    }
    const chunks: Turn[] = [];
    let spare = this.spareOutputs(decoding);
    const take = (sequence: Sequence) => {
      const most = Math.min(budget, sequence.mostRows(1 + spare));
      const turn = turnOf(sequence, this.states?.cut(sequence, most) ?? most);
      if (turn.count === 0 || !this.roster.reserve(sequence, turn.count, false)) return;
      chunks.push(turn);
      budget -= turn.count;
      spare -= Math.max(0, turn.outputs - 1);
    };
    for (const sequence of this.roster.running) if (!sequence.drawsNext) take(sequence);
    while (budget > 0) {
      const sequence = this.roster.admit(this.now());
      if (sequence === undefined) break;
      take(sequence);
    }
    if (decoding.length + chunks.length === 0 && this.roster.running.length > 0) {
      // Prompts that are half computed hold all pages: the oldest gets its own at the others' cost.
      const [oldest] = this.roster.running;
      const most = Math.min(stepTokens, oldest.mostRows(1 + this.spareOutputs([])));
      const turn = turnOf(oldest, this.states?.cut(oldest, most) ?? most);
      if (this.roster.reserve(oldest, turn.count)) chunks.push(turn);
    }
    if (chunks.length === 0) return decoding;
    // A device takes decode rows first.
    return [
      ...decoding,
      ...chunks.filter((one) => one.decode),
      ...chunks.filter((one) => !one.decode),
    ];
  }

  /** The turns of those that draw a token in every step. */
  private scheduleDecoding(): Turn[] {
    const turns: Turn[] = [];
    const drawing = this.roster.running.filter((one) => one.drawsNext);
    const proposed = this.propose(drawing);
    // What is certain or repeated leaves a row to each of those that come after it.
    let rows = this.extraRows(drawing, proposed);
    for (const sequence of drawing) {
      if (!sequence.runs) continue;
      const more = Math.min(sequence.uncomputed, rows);
      rows -= more;
      if (this.roster.reserve(sequence, 1 + more)) turns.push(turnOf(sequence, 1 + more));
    }
    for (const [i, { sequence, count, outputs }] of turns.entries()) {
      if (rows <= 0) break;
      if (outputs === 0 || !sequence.runs) continue;
      const guesses = (proposed.get(sequence) ?? []).slice(0, rows);
      if (guesses.length === 0) continue;
      if (!this.roster.reserve(sequence, sequence.left + guesses.length, false, true)) continue;
      turns[i] = turnOf(sequence, count, guesses);
      rows -= guesses.length;
    }
    // Giving way is for the youngest, so it can hit one whose turn has been decided.
    return turns.filter(({ sequence }) => sequence.runs);
  }

  /** Outputs of a step that are left where each sequence that runs, or may be let in yet, has one. */
  private spareOutputs(turns: readonly Turn[]): number {
    const { stepOutputs = 0, maxRunning } = this.options;
    const { running, waiting } = this.roster;
    const others = waiting.length > 0 ? maxRunning : running.length;
    const guesses = turns.reduce((sum, { guesses }) => sum + guesses.length, 0);
    return Math.max(0, stepOutputs - others - guesses);
  }

  /** What each of them may be going to draw, as many tokens together as a step has outputs to spare. */
  private propose(drawing: readonly Sequence[]): ReadonlyMap<Sequence, readonly number[]> {
    const proposed = new Map<Sequence, readonly number[]>();
    let room = this.spareOutputs([]);
    for (const sequence of drawing) {
      if (room <= 0) break;
      const guesses = this.guessesOf(sequence, room);
      room -= guesses.length;
      proposed.set(sequence, guesses);
    }
    return proposed;
  }

  /** Rows of the next step beside one of each sequence: all that there are to compute, or those that are worth it. */
  private extraRows(
    drawing: readonly Sequence[],
    proposed: ReadonlyMap<Sequence, readonly number[]>,
  ): number {
    const least = drawing.length;
    const uncomputed = drawing.reduce((sum, one) => sum + one.uncomputed, 0);
    const guesses = [...proposed.values()].reduce((sum, { length }) => sum + length, 0);
    const most = Math.min(this.options.stepTokens, least + uncomputed + guesses);
    if (most <= least) return 0;
    return (this.options.rowTimes?.best(least, most) ?? most) - least;
  }

  /** At most so many guesses of what a sequence draws. */
  private guessesOf(sequence: Sequence, room: number): readonly number[] {
    const most = Math.min(room, sequence.maxTokens - sequence.drawn - 1);
    if (sequence.guess === undefined || most < 1) return [];
    try {
      return sequence.guess(sequence.tokens, most).slice(0, most);
    } catch (error) {
      this.end(sequence, asM40Error(error));
      return [];
    }
  }

  private report(
    turns: readonly Turn[],
    milliseconds: number,
    gapMilliseconds: number | undefined,
  ): void {
    let tokens = 0;
    let decodeTokens = 0;
    for (const { count, guesses, draws } of turns) {
      tokens += count + guesses.length;
      if (draws) decodeTokens += count + guesses.length;
    }
    const report = { promptTokens: tokens - decodeTokens, decodeTokens, milliseconds };
    this.counts.steps++;
    this.chunks.observe(report);
    if (report.promptTokens === 0) this.options.rowTimes?.observe(decodeTokens, milliseconds);
    this.options.disk?.observe(report);
    try {
      this.options.onStep?.({ ...report, gapMilliseconds });
    } catch (error) {
      this.options.onListenerError?.(error);
    }
  }

  /** Nothing comes of a sequence any more; its listener is told at once. */
  private end(sequence: Sequence, error?: unknown): void {
    if (sequence.state !== "finished") this.roster.finish(sequence);
    this.deliveries.tellEnd(sequence, error);
  }

  /** Nothing comes of anybody any more; if the device is lost, of nobody who comes either. */
  private fail(error: unknown): void {
    const known = asM40Error(error);
    if (isDeviceLoss(known)) this.failure = known;
    for (const sequence of this.sequences()) this.outcomes.conclude(sequence, known);
    this.notice();
  }
}

/** Rows of a step. */
function rowsOf(turns: readonly Turn[]): number {
  return turns.reduce((sum, { count, guesses }) => sum + count + guesses.length, 0);
}
