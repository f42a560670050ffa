import type { StepOutput, StepSequence } from "../device/mod.ts";
import { asM40Error, isDeviceLoss, M40Error } from "../errors.ts";
import { Turns } from "../turns.ts";
import type { KvBlockManager } from "./kv_blocks/kv_block_manager.ts";
import { Changes } from "./sequences/changes.ts";
import { ChunkBudget } from "./steps/chunk_budget.ts";
import { Deliveries } from "./sequences/deliveries.ts";
import type { Lane } from "./sequences/lane.ts";
import { Outcomes } from "./steps/outcomes.ts";
import { KvBlockMoves } from "./kv_blocks/kv_block_moves.ts";
import { prepareAhead } from "./steps/prepare_ahead.ts";
import { noCounts, type SchedulerCounts, type SchedulerStatus } from "./report.ts";
import { Rests, type StepTime } from "./sequences/rests.ts";
import { Room } from "./sequences/room.ts";
import { Roster } from "./sequences/roster.ts";
import type { RunUnderWay } from "./steps/run_under_way.ts";
import { Runs } from "./steps/runs.ts";
import type { Sequence } from "./sequences/sequence.ts";
import type { SchedulerDevice, SchedulerOptions } from "./scheduler_options.ts";
import { assertQueueRoom, type SequenceQueue } from "./sequences/sequence_queue.ts";
import { States } from "./kv_blocks/states.ts";
import { StepHolds } from "./steps/step_holds.ts";
import { StepPlanner } from "./steps/step_planner.ts";
import { StepReports } from "./steps/step_reports.ts";
import { StepsUnderWay, type StepUnderWay } from "./steps/steps_under_way.ts";
import { beginTurn, endTurn, stepOf, type Turn } from "./steps/turn.ts";

/** The fewest tokens of a chunk of a prompt, where a device computes any number at a time. */
const LEAST_CHUNK_TOKENS = 16;

/**
 * Decides what the next step computes.
 *
 * Every step takes one token of each decoding sequence, guesses of the tokens after it, and chunks of prompts
 * up to a budget, first come, first served. {@link Roster} admits and preempts. Sampled tokens are delivered
 * while the next step runs.
 *
 * A device of several stages computes several steps at a time, each with its share of the sequences. A device
 * with two lanes ({@link Lane}) computes a step of each at a time.
 */
export class Scheduler implements SequenceQueue {
  /** Sums since the start. */
  readonly counts: SchedulerCounts = noCounts();

  private readonly roster: Roster;
  private readonly moves: KvBlockMoves;
  private readonly deliveries: Deliveries;
  private readonly outcomes: Outcomes;
  private readonly chunks: ChunkBudget;
  private readonly planner: StepPlanner;
  /** How full it is. */
  readonly room: Room;
  private readonly runs: Runs;
  private readonly now: () => number;
  /** The lanes that steps are computed in at the same time; undefined: one of those that take whatever there is. */
  private readonly lanes: readonly (Lane | undefined)[];
  /** Of each of them what runs one step after the other. */
  private readonly loops: (Promise<void> | undefined)[];
  private readonly underWay: StepsUnderWay;
  private readonly reports: StepReports;
  /** The last decision on a step: the next one is taken when its KV blocks are where they should be. */
  private decided: Promise<unknown> = Promise.resolve();
  private readonly rests?: Rests;
  private failure?: M40Error;
  private readonly changes = new Changes();

  constructor(
    private readonly device: SchedulerDevice,
    private readonly kvBlockManager: KvBlockManager,
    private readonly options: SchedulerOptions,
  ) {
    const { maxRunning, stepTokens, host, disk, tileTokens } = options;
    const { counts } = this;
    const { slots } = kvBlockManager;
    const moves = this.moves = new KvBlockMoves(device);
    const states = slots &&
      new States(kvBlockManager, slots, moves, options.hostStates);
    const fetches = disk?.fetches;
    this.roster = new Roster(
      kvBlockManager,
      moves,
      maxRunning,
      stepTokens,
      counts,
      host,
      fetches,
      states,
    );
    this.room = new Room(this.roster, kvBlockManager, maxRunning, stepTokens);
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
    this.underWay = new StepsUnderWay(this.now);
    this.reports = new StepReports(options, counts, this.chunks);
    this.lanes = options.lanes
      ? ["decode", "prompts"]
      : new Array(options.concurrentSteps ?? 1).fill(undefined);
    this.loops = this.lanes.map(() => undefined);
    this.rests = options.rest && new Rests(this.lanes.length, options.rest, this.now);
    this.planner = new StepPlanner(
      this.roster,
      this.chunks,
      options,
      states,
      () => this.underWay.size,
      (sequence, error) => this.end(sequence, error),
      this.now,
    );
    // Pauses happen between two steps, so there are no runs.
    const hasRuns = this.lanes.length === (options.lanes ? 2 : 1) && options.rest === undefined;
    this.runs = new Runs(
      {
        ...{ device, kvBlockManager, states, counts },
        ...{ roster: this.roster, outcomes: this.outcomes, deliveries: this.deliveries },
        now: this.now,
        onStep: (report) => this.reports.take(report, this.underWay.hasPrompts),
      },
      hasRuns ? options.runSteps ?? 1 : 1,
      maxRunning,
    );
    kvBlockManager.onRelease = () => this.notice();
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

  /** Fails as {@link SequenceQueue.add} says. */
  add(...sequences: Sequence[]): void {
    if (this.failure) throw this.failure;
    for (const sequence of sequences) this.room.assertFits(sequence);
    const { maxRunning, maxWaiting } = this.options;
    const { running, waiting } = this.roster;
    assertQueueRoom(sequences.length, {
      maxRunning,
      maxWaiting,
      running: running.length,
      waiting: waiting.length,
    });
    const now = this.now();
    for (const sequence of sequences) this.roster.arrive(sequence, now);
    this.start();
  }

  /** Takes sequences that arrived at another scheduler and migrate here. The device must not be lost. */
  take(sequences: readonly Sequence[]): void {
    for (const sequence of sequences) this.roster.receive(sequence);
    this.start();
  }

  /** Tokens of prompts that the next step computes at most. */
  get promptBudget(): number {
    const { stepTokens, lanes } = this.options;
    // Prompts do not delay decoding there.
    if (lanes) return stepTokens;
    const delaysOthers = this.roster.running.some((one) => one.samplesNext);
    return delaysOthers ? Math.min(this.chunks.tokens, stepTokens) : stepTokens;
  }

  /** Nothing can be computed any more: the device is lost, though no step has failed. */
  lose(error: M40Error): void {
    this.fail(error);
  }

  cancel(sequence: Sequence): void {
    this.end(sequence);
    this.runs.endRunSoon();
    this.notice();
  }

  /** Another user wants the device: it is free again after the current step, or the next one. */
  endRunSoon(): void {
    this.runs.endRunSoon();
  }

  /**
   * Moves KV blocks for others while no step is being decided on. Where the device has two lanes, steps that have begun go on
   * meanwhile: only KV blocks that are published or free may be moved.
   */
  betweenDecisions<T>(work: () => Promise<T>): Promise<T> {
    const result = this.decided.then(work);
    this.decided = result.catch(() => {});
    return result;
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    while (this.loops.some((loop) => loop !== undefined)) await Promise.all(this.loops);
  }

  private start(): void {
    this.runs.arrive();
    this.notice();
    this.loops.forEach((loop, i) => this.loops[i] = loop ?? this.run(i));
  }

  /** Runs one step after the other, until there is nothing to do. */
  private async run(loop: number): Promise<void> {
    // Sequences that arrive together start together.
    await Promise.resolve();
    const { withDevice = (work) => work() } = this.options;
    let tookPart = true;
    while (
      this.roster.running.length + this.roster.waiting.length > 0 || !this.deliveries.isEmpty
    ) {
      const seen = { changes: this.changes.count };
      // Nothing is decided on the lane of prompts between two steps of the other one, while there are none.
      if (!tookPart && this.lanes[loop] === "prompts" && this.planner.onlyDecodes) {
        await this.changes.since(seen.changes);
        continue;
      }
      try {
        if (this.rests) {
          // Samples are delivered before the device's pause.
          this.deliveries.deliver();
          this.counts.restedMs += await this.rests.before(loop);
        }
        // Requests for the device from now on are served after this step.
        if (this.lanes[loop] !== "prompts") this.runs.relax();
        const step = await withDevice(() => this.step(seen, this.lanes[loop]));
        if (step.time) this.rests?.take(loop, step.time);
        ({ tookPart } = step);
        if (tookPart) continue;
      } catch (error) {
        this.fail(error);
      }
      this.deliveries.deliver();
      this.underWay.pause();
      // Of two lanes, one may be about to begin with sequences that the other has left.
      const { waiting, running } = this.roster;
      const others = waiting.length + this.underWay.size +
        (this.options.lanes ? running.length : 0);
      if (others > 0) await this.changes.since(seen.changes);
    }
    this.underWay.pause();
    this.loops[loop] = undefined;
  }

  /** Something has changed that lets waiting sequences go on. */
  private notice(): void {
    this.changes.note();
    this.options.onChange?.();
  }

  /**
   * Runs a step.
   *
   * @param seen Receives the number of changes before the decision.
   */
  private async step(seen: { changes: number }, lane?: Lane): Promise<StepTaken> {
    const { turns, step, run } = await this.betweenDecisions(() => this.begin(seen, lane));
    if (step === undefined) return { tookPart: turns.length > 0 };
    try {
      return await this.finish(turns, step, run);
    } finally {
      step.taken.resolve();
    }
  }

  /** Waits for what a step gives, and takes it in. */
  private async finish(
    turns: readonly Turn[],
    step: StepUnderWay,
    run?: RunUnderWay,
  ): Promise<StepTaken> {
    let outputs: readonly StepOutput[];
    try {
      const sequences = turns.map(({ sequence }) => sequence);
      // Of a run there is nothing to prepare.
      if (run === undefined) {
        await prepareAhead(sequences, step.result, () => this.underWay.expectedEnds(), this.now);
      }
      ({ outputs } = await step.result);
      await step.before;
    } catch (error) {
      if (isDeviceLoss(error)) throw error;
      // Whatever was wrong with it, the others had no part in it.
      for (const { sequence } of turns) {
        if (sequence.runs) this.outcomes.conclude(sequence, asM40Error(error));
      }
      return { tookPart: true };
    } finally {
      this.underWay.remove(step);
      for (const turn of turns) endTurn(turn);
      if (run !== undefined) this.runs.end(run);
      step.holds?.release();
      if (this.lanes.length > 1) this.notice();
    }
    const end = this.underWay.noteResult();
    const milliseconds = end - step.start;
    if (run === undefined) {
      this.underWay.observe(turns, milliseconds);
      this.outcomes.take(turns, outputs);
      this.reports.report(step, milliseconds);
    }
    return { tookPart: true, time: { milliseconds, end } };
  }

  /** Decides on a step and gives it to the device. There is no result where no sequence takes part any more. */
  private async begin(seen: { changes: number }, lane?: Lane): Promise<StepBegun> {
    const late = lane === "prompts" ? [] : this.roster.running.filter((one) => !this.proceeds(one));
    if (late.length > 0) await this.proceed(late);
    const scheduled = this.planner.plan(lane);
    const steps = lane !== "prompts" && this.underWay.size === 0 ? this.runs.plan(scheduled) : 1;
    // Blocks released by this decision do not help waiting sequences.
    seen.changes = this.changes.count;
    for (const turn of scheduled) beginTurn(turn);
    let turns = scheduled;
    let step: StepUnderWay | undefined;
    let run: RunUnderWay | undefined;
    try {
      if (!this.moves.isEmpty) turns = await this.moveKvBlocks(turns);
      // A sequence may have been cancelled meanwhile.
      const moved = turns.filter(({ sequence }) => sequence.runs);
      const parts = moved.map((turn) => this.partOf(turn));
      turns = moved.filter((_, i) => parts[i] !== undefined);
      if (turns.length === 0) return { turns: moved };
      const wanted = parts.filter((part) => part !== undefined);
      if (steps > 1 && turns.length === scheduled.length) {
        run = this.runs.begin(turns, this.underWay.lastResult);
      }
      const share = this.planner.decodes ? this.options.lanes?.prefillShare ?? 1 : 1;
      const ask = run
        ? () => this.runs.give(run!, wanted, steps)
        : () => this.device.step(wanted, lane && { lane, share });
      step = this.underWay.give(turns, ask, lane && new StepHolds(this.kvBlockManager, turns));
    } finally {
      const taken = step === undefined ? [] : turns;
      for (const turn of scheduled) if (!taken.includes(turn)) endTurn(turn);
      if (steps > 1 && run === undefined) this.runs.trim(scheduled);
    }
    this.deliveries.deliver();
    return { turns, step, run };
  }

  /** Does the long preparations of these sequences' sampling, and yields to other work between the parts. */
  private async proceed(sequences: readonly Sequence[]): Promise<void> {
    const turns = new Turns();
    for (const sequence of sequences) {
      do await turns.next(); while (!this.proceeds(sequence));
    }
  }

  /** Does a part of the preparation of a sequence's sampling. Returns whether nothing is left. */
  private proceeds(sequence: Sequence): boolean {
    try {
      return !sequence.runs || !sequence.samplesNext || !sequence.canBegin || sequence.proceed();
    } catch (error) {
      this.outcomes.conclude(sequence, asM40Error(error));
      return true;
    }
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

  /** Moves KV blocks as was decided with them; gives the turns that are still possible. */
  private async moveKvBlocks(turns: readonly Turn[]): Promise<Turn[]> {
    const moving = this.moves.run();
    this.deliveries.deliver();
    const lost = await moving;
    this.roster.recover(lost);
    const possible = turns.filter(({ sequence }) => sequence.runs);
    if (lost.sequences.size > 0 || possible.length < turns.length) this.notice();
    return possible;
  }

  /** Ends a sequence and notifies its listener at once. */
  private end(sequence: Sequence, error?: unknown): void {
    if (sequence.state !== "finished") this.roster.finish(sequence);
    this.deliveries.notifyEnd(sequence, error);
  }

  /** Ends all sequences. If the device is lost, later ones fail too. */
  private fail(error: unknown): void {
    const known = asM40Error(error);
    if (isDeviceLoss(known)) this.failure ??= this.lost(known);
    for (const sequence of this.sequences()) {
      this.outcomes.conclude(sequence, this.failure ?? known);
    }
    this.notice();
  }

  /** The device is lost: some of its sequences may migrate. */
  private lost(known: M40Error): M40Error {
    const { name, onLoss } = this.options;
    const error = name === undefined ? known : new M40Error("device", `${name}: ${known.message}`);
    if (onLoss === undefined) return error;
    // Sampled tokens are delivered first: migrated sequences continue after them.
    this.deliveries.deliver();
    const migrate = (sequence: Sequence) => this.roster.migrate(sequence);
    onLoss({ error, sequences: this.sequences(), migrate });
    return error;
  }
}

/** The planned turns of a step, and the step, if any takes part. */
interface StepBegun {
  readonly turns: readonly Turn[];
  readonly step?: StepUnderWay;
  /** The run that it is the first step of, where it is one. */
  readonly run?: RunUnderWay;
}

/** A step that has ended: whether any sequence took part, how long it took, and when it ended. */
interface StepTaken {
  readonly tookPart: boolean;
  readonly time?: StepTime;
}
