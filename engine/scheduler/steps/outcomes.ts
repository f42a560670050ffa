import type { StepOutput } from "../../device/mod.ts";
import { asM40Error, M40Error } from "../../errors.ts";
import type { Deliveries } from "../sequences/deliveries.ts";
import type { SchedulerCounts } from "../report.ts";
import type { Roster } from "../sequences/roster.ts";
import type { Sequence } from "../sequences/sequence.ts";
import type { States } from "../kv_blocks/states.ts";
import { outputError, type Turn } from "./turn.ts";

/** Tokens that are taken in after one that was sampled because nothing else is allowed, at most. */
const MOST_CERTAIN_TOKENS = 32;

/**
 * What comes of a step: its sequences grow by what was sampled, guessed rightly or certain, or give hidden
 * states, and end where they are complete or an output is none.
 */
export class Outcomes {
  constructor(
    private readonly roster: Roster,
    private readonly deliveries: Deliveries,
    private readonly counts: Pick<
      SchedulerCounts,
      "promptTokens" | "generatedTokens" | "guessedTokens" | "certainTokens"
    >,
    private readonly states?: States,
  ) {}

  /** Takes in what a step gave: the outputs of its turns, one turn's after the other's. */
  take(turns: readonly Turn[], outputs: readonly StepOutput[]): void {
    let first = 0;
    for (const turn of turns) {
      // It may have been cancelled meanwhile.
      if (turn.sequence.runs) this.takeTurn(turn, outputs, first);
      first += turn.outputs;
    }
  }

  /**
   * Takes in what a sequence's turn gave: its rows, the token after the last one, and then a token more for
   * each guess that was right. The others are forgotten. Its outputs are those from `first` on.
   */
  private takeTurn(turn: Turn, outputs: readonly StepOutput[], first: number): void {
    const { sequence, position, count, guesses } = turn;
    if (position !== sequence.computed) {
      const problem = `a step gave tokens from ${position} on, after ${sequence.computed}`;
      return this.conclude(sequence, new M40Error("internal", problem));
    }
    if (sequence.sampled === 0) this.counts.promptTokens += count;
    if (sequence.hidden !== undefined) return this.takeHidden(turn, outputs, first);
    const failed = turn.outputs > 0 && outputs[first].status !== "ok";
    // The state that is written is the one after all of them.
    const together = this.states !== undefined && guesses.length > 0;
    // What gave such logits is nothing to be shared.
    if (!failed && !together) this.roster.advance(sequence, count);
    for (let i = 0; i < turn.outputs; i++) {
      const { status, sample } = outputs[first + i];
      if (status !== "ok") {
        const place = `token ${sequence.sampled + 1} of the answer`;
        return this.conclude(sequence, outputError(status, place));
      }
      const complete = sequence.append(sample!);
      this.counts.generatedTokens++;
      this.deliveries.addSample(sequence, sample!);
      if (together && i === guesses.length) this.roster.advance(sequence, count + i);
      if (complete) return this.conclude(sequence);
      if (guesses[i] !== sample!.token) break;
      this.counts.guessedTokens++;
      if (!together) this.roster.advance(sequence, 1);
    }
    if (together && sequence.left > 1) this.states!.retreat(sequence);
    if (guesses.length > 0) this.roster.trim(sequence);
    if (turn.outputs > 0) this.takeCertain(sequence);
  }

  /** Takes in the tokens that come next whatever the model says; the next step computes them together. */
  private takeCertain(sequence: Sequence): void {
    try {
      for (let i = 0; i < MOST_CERTAIN_TOKENS; i++) {
        const token = sequence.certain();
        if (token === undefined) return;
        const sample = { token, logprob: NaN, top: [] };
        const complete = sequence.append(sample);
        sequence.uncomputed++;
        this.counts.generatedTokens++;
        this.counts.certainTokens++;
        this.deliveries.addSample(sequence, sample);
        if (complete) return this.conclude(sequence);
      }
    } catch (error) {
      this.conclude(sequence, asM40Error(error));
    }
  }

  /** Takes in the hidden states that a sequence's turn gave; with the last of them it is complete. */
  private takeHidden(turn: Turn, outputs: readonly StepOutput[], first: number): void {
    const { sequence, count } = turn;
    const given = outputs.slice(first, first + turn.outputs);
    const end = sequence.computed + count;
    for (const [i, { status }] of given.entries()) {
      if (status === "ok") continue;
      const place = `token ${end - turn.outputs + i + 1} of the text`;
      return this.conclude(sequence, outputError(status, place));
    }
    try {
      for (const { values } of given) sequence.hidden!.take(values!);
    } catch (error) {
      return this.conclude(sequence, asM40Error(error));
    }
    sequence.hiddenTaken = Math.max(sequence.hiddenTaken, end);
    this.roster.advance(sequence, count);
    if (sequence.left === 0) this.conclude(sequence);
  }

  /** Ends a sequence. Its listener is notified after the tokens sampled before. */
  conclude(sequence: Sequence, error?: unknown): void {
    this.roster.finish(sequence);
    this.deliveries.addEnd(sequence, error);
  }
}
