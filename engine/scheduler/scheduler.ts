import type { StepOutput, StepResult } from "../device/mod.ts";
import { asM40Error, isDeviceLoss, M40Error } from "../errors.ts";
import { Turns } from "../turns.ts";
import type { KvBlockManager } from "./kv_blocks/kv_block_manager.ts";
import { KvBlockMoves } from "./kv_blocks/kv_block_moves.ts";
import { States } from "./kv_blocks/states.ts";
import { noCounts, type SchedulerCounts, type SchedulerStatus } from "./report.ts";
import type { Lane, SchedulerDevice, SchedulerOptions } from "./scheduler_options.ts";
import { assertQueueRoom, Room, type SequenceQueue } from "./sequences/room.ts";
import { Roster } from "./sequences/roster.ts";
import {
  beginTurn,
  completeTurn,
  endTurn,
  type Sequence,
  type Turn,
} from "./sequences/sequence.ts";
import { ChunkBudget } from "./steps/chunk_budget.ts";
import { Outcomes } from "./steps/outcomes.ts";
import { prepareAhead } from "./steps/prepare_ahead.ts";
import { Rests } from "./steps/rests.ts";
import { Runs } from "./steps/runs.ts";
import { StepHolds } from "./steps/step_holds.ts";
import { StepPlanner } from "./steps/step_planner.ts";
import { StepsUnderWay, type StepUnderWay } from "./steps/steps_under_way.ts";

/** The fewest tokens of a chunk of a prompt, where a device computes any number at a time. */
const LEAST_CHUNK_TOKENS = 16;

/** What runs one step after the other. There is one for each step that may be under way at a time. */
interface Loop {
  readonly index: number;
  /** The lane of its steps; undefined: they take whatever there is. */
  readonly lane?: Lane;
  /** While it runs: resolves when there is nothing to do any more. */
  running?: Promise<void>;
  /** How often something had changed before its last decision. */
  seen: number;
}

/**
 * Decides what the next step computes.
 *
 * Every step takes one token of each decoding sequence, drafts of the tokens after it, and chunks of prompts
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
  private readonly outcomes: Outcomes;
  private readonly chunks: ChunkBudget;
  private readonly planner: StepPlanner;
  /** How full it is. */
  readonly room: Room;
  private readonly runs: Runs;
  private readonly now: () => number;
  private readonly loops: readonly Loop[];
  private readonly underWay: StepsUnderWay;
  /** The last decision on a step: the next one is taken when its KV blocks are where they should be. */
  private decided: Promise<unknown> = Promise.resolve();
  private readonly rests?: Rests;
  private failure?: M40Error;
  /** How often something has changed that could let another sequence take part in a step, and what waits for that. */
  private changes = 0;
  private waiters: (() => void)[] = [];

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
    const now = this.now = options.now ?? (() => performance.now());
    const roster = this.roster = new Roster(
      kvBlockManager,
      moves,
      maxRunning,
      stepTokens,
      counts,
      host,
      fetches,
      states,
    );
    this.room = new Room(roster, kvBlockManager, maxRunning, stepTokens);
    const outcomes = this.outcomes = new Outcomes(
      roster,
      counts,
      states,
      now,
      options.onListenerError,
    );
    const chunks = this.chunks = new ChunkBudget(
      options.chunkMs,
      stepTokens,
      tileTokens?.[0] ?? LEAST_CHUNK_TOKENS,
      tileTokens,
    );
    const underWay = this.underWay = new StepsUnderWay(options, counts, chunks, now);
    const lanes: (Lane | undefined)[] = options.lanes
      ? ["decode", "prompts"]
      : new Array(options.concurrentSteps ?? 1).fill(undefined);
    this.loops = lanes.map((lane, index) => ({ index, lane, seen: 0 }));
    this.rests = options.rest && new Rests(lanes.length, options.rest, now);
    this.planner = new StepPlanner(roster, chunks, options, states, underWay, outcomes, now);
    // Pauses happen between two steps, so there are no runs.
    const hasRuns = lanes.length === (options.lanes ? 2 : 1) && options.rest === undefined;
    this.runs = new Runs(
      { device, kvBlockManager, states, counts, roster, outcomes, underWay, now },
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

  cancel(sequence: Sequence): void {
    this.outcomes.end(sequence);
    this.runs.endSoon();
    this.notice();
  }

  /** Another user wants the device: it is free again after the current step, or the next one. */
  endRunSoon(): void {
    this.runs.endSoon();
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
    while (this.loops.some(({ running }) => running)) {
      await Promise.all(this.loops.map(({ running }) => running));
    }
  }

  private start(): void {
    if (this.roster.running.length < this.options.maxRunning) this.runs.endSoon();
    this.notice();
    for (const loop of this.loops) loop.running ??= this.run(loop);
  }

  /** Runs one step after the other, until there is nothing to do. */
  private async run(loop: Loop): Promise<void> {
    // Sequences that arrive together start together.
    await Promise.resolve();
    const { lane } = loop;
    const { roster: { running, waiting }, outcomes, underWay } = this;
    const { withDevice = (work) => work() } = this.options;
    let tookPart = true;
    while (running.length + waiting.length + outcomes.undelivered.length > 0) {
      loop.seen = this.changes;
      // Nothing is decided on the lane of prompts between two steps of the other one, while there are none.
      if (!tookPart && lane === "prompts" && this.planner.onlyDecodes) {
        await this.change(loop.seen);
        continue;
      }
      try {
        if (this.rests) {
          // Samples are delivered before the device's pause.
          outcomes.deliver();
          const rested = await this.rests.before(loop.index);
          this.counts.restedMs += rested;
        }
        // Requests for the device from now on are served after this step.
        if (lane !== "prompts") this.runs.endsSoon = false;
        tookPart = await withDevice(() => this.step(loop));
        if (tookPart) continue;
      } catch (error) {
        this.fail(error);
      }
      outcomes.deliver();
      underWay.pause();
      // Of two lanes, one may be about to begin with sequences that the other has left.
      const others = waiting.length + underWay.steps.size + (lane ? running.length : 0);
      if (others > 0) await this.change(loop.seen);
    }
    underWay.pause();
    loop.running = undefined;
  }

  /** Something has changed that lets waiting sequences go on. */
  private notice(): void {
    this.changes++;
    for (const wake of this.waiters.splice(0)) wake();
    this.options.onChange?.();
  }

  /** Resolves when something has changed since it had so many times. */
  private async change(seen: number): Promise<void> {
    if (this.changes === seen) await new Promise<void>((resolve) => this.waiters.push(resolve));
  }

  /** Runs a step. Returns whether any sequence took part. */
  private async step(loop: Loop): Promise<boolean> {
    const step = await this.betweenDecisions(() => this.begin(loop));
    if (typeof step === "boolean") return step;
    const { turns, inRun } = step;
    let outputs: readonly StepOutput[];
    try {
      // Of a run there is nothing to prepare.
      if (!inRun && turns.some(({ sequence }) => sequence.steered)) {
        const ends = () => Array.from(this.underWay.steps, ({ expectedEnd }) => expectedEnd);
        await prepareAhead(turns.map(({ sequence }) => sequence), step.result!, ends, this.now);
      }
      ({ outputs } = await step.result!);
      if (step.before.length > 0) await Promise.all(step.before);
    } catch (error) {
      if (isDeviceLoss(error)) throw error;
      // Whatever was wrong with it, the others had no part in it.
      for (const { sequence } of turns) {
        if (sequence.runs) this.outcomes.conclude(sequence, asM40Error(error));
      }
      return true;
    } finally {
      this.underWay.steps.delete(step);
      for (const turn of turns) endTurn(turn);
      if (inRun) this.runs.end(step);
      step.holds?.release();
      // Sequences that have migrated meanwhile begin elsewhere when it is over.
      if (this.loops.length > 1 || this.failure !== undefined) this.notice();
      // Others go on when what follows has been done: it waits for nothing.
      step.taken.resolve();
    }
    const end = this.underWay.lastResult = this.now();
    this.rests?.take(loop.index, { milliseconds: end - step.reported, end });
    if (!inRun) {
      step.unreported.push(step.decodeTokens);
      this.outcomes.take(turns, outputs);
      this.underWay.report(step, end);
    }
    return true;
  }

  /** Decides on a step and gives it to the device. Returns it, or whether any sequence was to take part. */
  private async begin(loop: Loop): Promise<StepUnderWay | boolean> {
    const { lane } = loop;
    const { underWay, runs, moves } = this;
    if (lane !== "prompts" && this.roster.running.some(({ steered }) => steered)) {
      await this.proceed();
    }
    const scheduled = this.planner.plan(lane);
    const steps = lane !== "prompts" && underWay.steps.size === 0 ? runs.plan(scheduled) : 1;
    // Blocks released by this decision do not help waiting sequences.
    loop.seen = this.changes;
    for (const turn of scheduled) beginTurn(turn);
    const turns: Turn[] = [];
    let took = false;
    let step: StepUnderWay | undefined;
    try {
      if (moves.planned.length > 0) await this.moveKvBlocks(scheduled);
      for (const turn of scheduled) {
        // It may have been cancelled meanwhile.
        if (!turn.sequence.runs) continue;
        took = true;
        try {
          completeTurn(turn);
          turns.push(turn);
        } catch (error) {
          // What steers it failed, say.
          this.outcomes.conclude(turn.sequence, asM40Error(error));
        }
      }
      if (turns.length === 0) return took;
      const inRun = steps > 1 && turns.length === scheduled.length;
      step = underWay.give(turns, inRun, lane && new StepHolds(this.kvBlockManager, turns));
      step.result = this.ask(step, steps, lane);
      // It is waited for later.
      step.result.catch(() => {});
    } finally {
      for (const turn of scheduled) if (step === undefined || !turns.includes(turn)) endTurn(turn);
      if (steps > 1 && !step?.inRun) runs.trim(scheduled);
    }
    this.outcomes.deliver();
    return step!;
  }

  /** Asks the device for a step, or for a run of so many. */
  private async ask(step: StepUnderWay, steps: number, lane?: Lane): Promise<StepResult> {
    if (step.inRun) return await this.runs.give(step, steps);
    if (lane === undefined) return await this.device.step(step.turns);
    const share = this.planner.decodes ? this.options.lanes!.prefillShare : 1;
    return await this.device.step(step.turns, { lane, share });
  }

  /** Does the long preparations of sequences' sampling, and yields to other work between the parts. */
  private async proceed(): Promise<void> {
    const turns = new Turns();
    for (const sequence of [...this.roster.running]) {
      try {
        while (
          sequence.steered && sequence.runs && sequence.samplesNext && sequence.canBegin &&
          !sequence.sampler.proceed()
        ) await turns.next();
      } catch (error) {
        this.outcomes.conclude(sequence, asM40Error(error));
      }
    }
  }

  /** Moves KV blocks as was decided with these turns, not all of which may be possible afterwards. */
  private async moveKvBlocks(turns: readonly Turn[]): Promise<void> {
    const moving = this.moves.run();
    this.outcomes.deliver();
    const lost = await moving;
    this.roster.recover(lost);
    if (lost.sequences.size > 0 || turns.some(({ sequence }) => !sequence.runs)) this.notice();
  }

  /** Ends all sequences. If the device is lost, though no step may have failed, later ones fail too. */
  fail(error: unknown): void {
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
    this.outcomes.deliver();
    const migrate = (sequence: Sequence) => this.roster.migrate(sequence);
    onLoss({ error, sequences: this.sequences(), migrate });
    return error;
  }
}
