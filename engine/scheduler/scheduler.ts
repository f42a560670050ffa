import type { StepSequence } from "../device/step_block.ts";
import type { StepOutput, StepResult } from "../device/step_result.ts";
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
 *
 * A device of several stages computes several steps at a time: each takes its share of the sequences, none that is in
 * another.
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
  /** How many steps are computed at a time, and the loops that each run one step after the other. */
  private readonly concurrentSteps: number;
  private readonly loops: (Promise<void> | undefined)[];
  /** Steps that the device has been given and has not answered. */
  private stepsUnderWay = 0;
  /** The last decision on a step: the next one is taken when its pages are where they should be. */
  private decided: Promise<unknown> = Promise.resolve();
  private lastResult?: number;
  private failure?: M40Error;
  /** How often something has changed that could let somebody take part in a step, and who waits for that. */
  private changes = 0;
  private waiters: (() => void)[] = [];

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
    this.concurrentSteps = options.concurrentSteps ?? 1;
    this.loops = new Array(this.concurrentSteps).fill(undefined);
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
    this.loops.forEach((loop, i) => this.loops[i] = loop ?? this.run(i));
  }

  /** Ends a sequence, wherever it is; its listener is told at once. */
  cancel(sequence: Sequence): void {
    this.end(sequence);
    this.notice();
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    while (this.loops.some((loop) => loop !== undefined)) await Promise.all(this.loops);
  }

  /** Runs one step after the other, until there is nothing to do. */
  private async run(loop: number): Promise<void> {
    // Sequences that arrive together start together.
    await Promise.resolve();
    const { withDevice = (work) => work(), rest } = this.options;
    let last = { milliseconds: 0, end: 0 };
    while (
      this.roster.running.length + this.roster.waiting.length > 0 || !this.deliveries.isEmpty
    ) {
      const seen = { changes: this.changes };
      try {
        if (rest) this.counts.restedMs += await rest(last.milliseconds, this.now() - last.end);
        const step = await withDevice(() => this.step(seen));
        last = step.time ?? last;
        if (step.tookPart) continue;
      } catch (error) {
        this.fail(error);
      }
      this.deliveries.deliver();
      if (this.stepsUnderWay === 0) this.lastResult = undefined;
      if (this.roster.waiting.length + this.stepsUnderWay > 0) await this.change(seen.changes);
    }
    if (this.stepsUnderWay === 0) this.lastResult = undefined;
    this.loops[loop] = undefined;
  }

  /** Something has changed that lets those go on who could not. */
  private notice(): void {
    this.changes++;
    for (const wake of this.waiters.splice(0)) wake();
  }

  /** Resolves when something has changed since it had so many times. */
  private async change(seen: number): Promise<void> {
    if (this.changes === seen) await new Promise<void>((resolve) => this.waiters.push(resolve));
  }

  /**
   * Runs a step.
   *
   * @param seen Is told after how many changes it was decided.
   */
  private async step(seen: { changes: number }): Promise<StepTaken> {
    const deciding = this.decided.then(() => this.begin(seen));
    this.decided = deciding.catch(() => {});
    const { turns, start, gapMilliseconds, result } = await deciding;
    if (result === undefined) return { tookPart: turns.length > 0 };
    let outputs: readonly StepOutput[];
    try {
      ({ outputs } = await result);
    } catch (error) {
      if (isDeviceLoss(error)) throw error;
      // Whatever was wrong with it, the others had no part in it.
      for (const { sequence } of turns) {
        if (sequence.runs) this.outcomes.conclude(sequence, asM40Error(error));
      }
      return { tookPart: true };
    } finally {
      this.stepsUnderWay--;
      for (const { sequence } of turns) sequence.inStep = false;
      if (this.concurrentSteps > 1) this.notice();
    }
    const end = this.lastResult = this.now();
    const milliseconds = end - start;
    this.outcomes.take(turns, outputs);
    this.report(turns, milliseconds, gapMilliseconds);
    return { tookPart: true, time: { milliseconds, end } };
  }

  /** Decides on a step, and gives it to the device; there is no result where nobody takes part in it any more. */
  private async begin(seen: { changes: number }): Promise<StepBegun> {
    const scheduled = this.schedule();
    // What was given back in deciding that helps nobody.
    seen.changes = this.changes;
    for (const { sequence } of scheduled) sequence.inStep = true;
    let turns = scheduled;
    let result: StepBegun["result"];
    let start = 0;
    let gapMilliseconds: number | undefined;
    try {
      if (!this.moves.isEmpty) turns = await this.movePages(turns);
      const moved = turns;
      const parts = moved.map((turn) => this.partOf(turn));
      turns = moved.filter((_, i) => parts[i] !== undefined);
      if (turns.length === 0) return { turns: moved, start };
      start = this.now();
      gapMilliseconds = this.stepsUnderWay > 0
        ? undefined
        : this.lastResult && start - this.lastResult;
      result = this.give(parts.filter((part) => part !== undefined));
      // It is waited for later.
      result.catch(() => {});
      this.stepsUnderWay++;
    } finally {
      const taken = result === undefined ? [] : turns;
      for (const turn of scheduled) if (!taken.includes(turn)) turn.sequence.inStep = false;
    }
    this.deliveries.deliver();
    return { turns, start, gapMilliseconds, result };
  }
  /** Gives the device a step at once; whatever is wrong with it, the promise says. */
  private async give(parts: readonly StepSequence[]): Promise<StepResult> {
    return await this.device.step(parts);
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
    const { stepTokens, maxRunning } = this.options;
    const { running, waiting } = this.roster;
    const everybody = Math.min(running.length + waiting.length, maxRunning);
    const decoding = this.scheduleDecoding();
    let budget = stepTokens;
    const delaysOthers = this.stepsUnderWay > 0 && running.some((one) => one.drawsNext);
    if (decoding.length > 0 || delaysOthers) {
      const rows = rowsOf(decoding);
      budget = Math.min(this.chunks.tokens, stepTokens - rows);
    }
    const places = this.shareOf(everybody) - decoding.length;
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
    for (const sequence of this.roster.running) {
      if (!sequence.drawsNext && !sequence.inStep && chunks.length < places) take(sequence);
    }
    while (budget > 0 && chunks.length < places) {
      const sequence = this.roster.admit(this.now());
      if (sequence === undefined) break;
      take(sequence);
    }
    if (decoding.length + chunks.length + this.stepsUnderWay === 0 && running.length > 0) {
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
    const { running } = this.roster;
    const drawing = running.filter((one) => one.drawsNext && !one.inStep)
      .slice(0, this.shareOf(running.length));
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

  /** How many of so many sequences are in one step, so that the steps that are computed at a time are alike. */
  private shareOf(sequences: number): number {
    return Math.ceil(sequences / this.concurrentSteps);
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

/** A step that the device was given. */
interface StepBegun {
  readonly turns: readonly Turn[];
  /** When that was, and how long after the result of the one before, where none was under way. */
  readonly start: number;
  readonly gapMilliseconds?: number;
  readonly result?: Promise<StepResult>;
}

/** A step that is over, if anybody took part in it: how long it took, and when it ended. */
interface StepTaken {
  readonly tookPart: boolean;
  readonly time?: { readonly milliseconds: number; readonly end: number };
}

/** Rows of a step. */
function rowsOf(turns: readonly Turn[]): number {
  return turns.reduce((sum, { count, guesses }) => sum + count + guesses.length, 0);
}
