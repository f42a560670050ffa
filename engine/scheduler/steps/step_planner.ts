import { asM40Error } from "../../errors.ts";
import type { ChunkBudget } from "./chunk_budget.ts";
import type { Lane, SchedulerOptions } from "../scheduler_options.ts";
import type { Roster } from "../sequences/roster.ts";
import type { Sequence, Turn } from "../sequences/sequence.ts";
import type { States } from "../kv_blocks/states.ts";
import type { Outcomes } from "./outcomes.ts";
import type { StepsUnderWay } from "./steps_under_way.ts";

/** The scheduler's options that decide which sequences take part in a step. */
type StepPlannerOptions = Pick<
  SchedulerOptions,
  "maxRunning" | "stepTokens" | "stepOutputs" | "concurrentSteps" | "rowTimes" | "lanes"
>;

/** Plans the next step: one row of each decoding sequence, its certain and drafted tokens, and chunks of prompts. */
export class StepPlanner {
  private readonly concurrentSteps: number;

  /** @param now The time in milliseconds. */
  constructor(
    private readonly roster: Roster,
    private readonly chunks: ChunkBudget,
    private readonly options: StepPlannerOptions,
    private readonly states: States | undefined,
    private readonly underWay: StepsUnderWay,
    private readonly outcomes: Outcomes,
    private readonly now: () => number,
  ) {
    this.concurrentSteps = options.concurrentSteps ?? 1;
  }

  /**
   * The next step's turns. Afterwards each of their sequences holds the KV blocks that it writes to.
   *
   * @param lane Which it is for, where the device has two.
   */
  plan(lane?: Lane): Turn[] {
    if (lane === "decode") return this.scheduleDecoding();
    const { stepTokens, maxRunning } = this.options;
    const { running, waiting } = this.roster;
    const everybody = Math.min(running.length + waiting.length, maxRunning);
    const decoding = lane === "prompts" ? [] : this.scheduleDecoding();
    let budget = stepTokens;
    const delaysOthers = lane === undefined && this.underWay.steps.size > 0 && this.decodes;
    if (decoding.length > 0 || delaysOthers) {
      for (const { tokens } of decoding) budget -= tokens.length;
      budget = Math.min(this.chunks.tokens, budget);
    }
    const places = Math.ceil(everybody / this.concurrentSteps) - decoding.length;
    const chunks: Turn[] = [];
    let spare = this.spareOutputs(decoding);
    const take = (sequence: Sequence) => {
      const most = sequence.computesAll ? Math.min(budget, sequence.mostRows(1 + spare)) : budget;
      const turn = sequence.turn(this.states?.cut(sequence, most) ?? most);
      if (turn.count === 0 || !this.roster.reserve(sequence, turn.count, false)) return;
      chunks.push(turn);
      budget -= turn.count;
      spare -= Math.max(0, turn.outputs.length - 1);
    };
    for (const sequence of this.roster.running) {
      if (!sequence.samplesNext && sequence.canBegin && chunks.length < places) take(sequence);
    }
    while (budget > 0 && chunks.length < places) {
      const sequence = this.roster.admit(this.now());
      if (sequence === undefined) break;
      take(sequence);
    }
    if (decoding.length + chunks.length + this.underWay.steps.size === 0 && running.length > 0) {
      // Prompts that are half computed hold all KV blocks: the oldest gets its own at the others' cost.
      const [oldest] = this.roster.running;
      if (lane === "prompts" && oldest.samplesNext) return [];
      const most = Math.min(stepTokens, oldest.mostRows(1 + this.spareOutputs([])));
      const turn = oldest.turn(this.states?.cut(oldest, most) ?? most);
      if (this.roster.reserve(oldest, turn.count)) chunks.push(turn);
    }
    if (chunks.length === 0) return decoding;
    // A device takes decode rows first.
    return [...decoding, ...chunks.sort((a, b) => Number(b.decode) - Number(a.decode))];
  }

  /** Whether a running sequence samples a token in every step. */
  get decodes(): boolean {
    return this.roster.running.some((one) => one.samplesNext);
  }

  /** Whether all running sequences sample a token in every step, and none waits. */
  get onlyDecodes(): boolean {
    const { running, waiting } = this.roster;
    return waiting.length === 0 && running.length > 0 && running.every((one) => one.samplesNext);
  }

  /** The turns of those that sample a token in every step. */
  private scheduleDecoding(): Turn[] {
    const turns: Turn[] = [];
    const { running } = this.roster;
    // So many that the steps that are computed at a time are alike.
    const most = Math.ceil(running.length / this.concurrentSteps);
    const decoding: Sequence[] = [];
    let isPlain = true;
    for (const one of running) {
      if (decoding.length === most) break;
      if (!one.samplesNext || !one.canBegin) continue;
      decoding.push(one);
      if (one.draft !== undefined || one.uncomputed > 0) isPlain = false;
    }
    const proposed = isPlain ? new Map<Sequence, readonly number[]>() : this.propose(decoding);
    // What is certain or repeated leaves a row to each of those that come after it.
    let rows = isPlain ? 0 : this.extraRows(decoding, proposed);
    for (const sequence of decoding) {
      if (!sequence.runs) continue;
      const more = Math.min(sequence.uncomputed, rows);
      rows -= more;
      if (this.roster.reserve(sequence, 1 + more)) turns.push(sequence.turn(1 + more));
    }
    for (const [i, { sequence, count, outputs }] of turns.entries()) {
      if (rows <= 0) break;
      if (outputs.length === 0 || !sequence.runs) continue;
      const drafts = (proposed.get(sequence) ?? []).slice(0, rows);
      if (drafts.length === 0) continue;
      if (!this.roster.reserve(sequence, sequence.left + drafts.length, false, true)) continue;
      turns[i] = sequence.turn(count, drafts);
      rows -= drafts.length;
    }
    // The newest sequence is preempted, which may have a planned turn.
    return turns.filter(({ sequence }) => sequence.runs);
  }

  /** Outputs of a step that are left after one for each sequence that runs or may be admitted. */
  private spareOutputs(
    turns: readonly Turn[],
    stepOutputs = this.options.stepOutputs ?? 0,
  ): number {
    const { maxRunning } = this.options;
    const { running, waiting } = this.roster;
    const others = waiting.length > 0 ? maxRunning : running.length;
    let spare = stepOutputs - others;
    for (const { drafts } of turns) spare -= drafts.length;
    return Math.max(0, spare);
  }

  /** What each of them may be going to sample, as many tokens together as a step has outputs to spare. */
  private propose(decoding: readonly Sequence[]): Map<Sequence, readonly number[]> {
    const proposed = new Map<Sequence, readonly number[]>();
    let room = this.spareOutputs([], this.options.lanes?.decodeTokens);
    for (const sequence of decoding) {
      if (room <= 0) break;
      const drafts = this.draftsOf(sequence, room);
      room -= drafts.length;
      proposed.set(sequence, drafts);
    }
    return proposed;
  }

  /** Rows of the next step in addition to one of each sequence: all that are left to compute, or those worth it. */
  private extraRows(
    decoding: readonly Sequence[],
    proposed: ReadonlyMap<Sequence, readonly number[]>,
  ): number {
    const least = decoding.length;
    const uncomputed = decoding.reduce((sum, one) => sum + one.uncomputed, 0);
    const drafts = [...proposed.values()].reduce((sum, { length }) => sum + length, 0);
    const { stepTokens, lanes } = this.options;
    const most = Math.min(lanes?.decodeTokens ?? stepTokens, least + uncomputed + drafts);
    if (most <= least) return 0;
    return (this.options.rowTimes?.best(least, most) ?? most) - least;
  }

  /** At most so many drafts of what a sequence samples. */
  private draftsOf(sequence: Sequence, room: number): readonly number[] {
    const most = Math.min(room, sequence.maxTokens - sequence.sampled - 1);
    if (sequence.draft === undefined || most < 1) return [];
    try {
      return sequence.draft(sequence.tokens, most).slice(0, most);
    } catch (error) {
      this.outcomes.end(sequence, asM40Error(error));
      return [];
    }
  }
}
