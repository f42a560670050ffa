import type { OutputStatus, Sample, StepOutput } from "../../device/mod.ts";
import { asM40Error, M40Error } from "../../errors.ts";
import type { States } from "../kv_blocks/states.ts";
import type { SchedulerCounts } from "../report.ts";
import type { Roster } from "../sequences/roster.ts";
import type { Sequence, Turn } from "../sequences/sequence.ts";

/** Tokens that are taken in after one that was sampled because nothing else is allowed, at most. */
const MOST_CERTAIN_TOKENS = 32;

/** What a listener receives: a sampled token, or the end. */
interface Delivery {
  readonly sequence: Sequence;
  readonly sample?: Sample;
  /** When the device's result with the sample was there. */
  readonly at?: number;
  /** Without a sample: why nothing more comes, where it failed. */
  readonly error?: unknown;
}

/**
 * What comes of a step: its sequences grow by what was sampled, drafted rightly or certain, or give hidden
 * states, and end where they are complete or an output is none. Listeners are notified later, while the device computes.
 * What one throws concerns no other sequence.
 */
export class Outcomes {
  /** What listeners are yet to receive, in order. */
  undelivered: Delivery[] = [];
  /** When the result came that is taken in. */
  private at = 0;

  /**
   * @param now The time, in milliseconds.
   * @param onListenerError Receives what a listener threw at the end.
   */
  constructor(
    private readonly roster: Roster,
    private readonly counts: SchedulerCounts,
    private readonly states: States | undefined,
    private readonly now: () => number,
    private readonly onListenerError: (error: unknown) => void = () => {},
  ) {}

  /**
   * Takes in what a step gave: the outputs of its turns, one turn's after the other's. In a run there is none of a
   * sequence that had ended.
   */
  take(turns: readonly Turn[], outputs: readonly (StepOutput | undefined)[]): void {
    this.at = this.now();
    let first = 0;
    for (const turn of turns) {
      const { length } = turn.outputs;
      // It may have been cancelled meanwhile.
      if (turn.sequence.runs && (length === 0 || outputs[first] !== undefined)) {
        this.takeTurn(turn, outputs as readonly StepOutput[], first);
      }
      first += length;
    }
  }

  /**
   * Takes in what a sequence's turn gave: its rows, the token after the last one, and then a token more for
   * each draft that was right. The others are forgotten. Its outputs are those from `first` on.
   */
  private takeTurn(turn: Turn, outputs: readonly StepOutput[], first: number): void {
    const { sequence, position, count, drafts } = turn;
    if (position !== sequence.computed) {
      const problem = `a step gave tokens from ${position} on, after ${sequence.computed}`;
      return this.conclude(sequence, new M40Error("internal", problem));
    }
    if (sequence.sampled === 0) this.counts.promptTokens += count;
    if (sequence.hidden !== undefined) return this.takeHidden(turn, outputs, first);
    const wanted = turn.outputs.length;
    const failed = wanted > 0 && outputs[first].status !== "ok";
    // The state that is written is the one after all of them.
    const together = this.states !== undefined && drafts.length > 0;
    // What gave such logits is nothing to be shared.
    if (!failed && !together) this.roster.advance(sequence, count);
    for (let i = 0; i < wanted; i++) {
      const { status, sample } = outputs[first + i];
      if (status !== "ok") {
        const place = `token ${sequence.sampled + 1} of the answer`;
        return this.conclude(sequence, outputError(status, place));
      }
      const complete = sequence.append(sample!);
      this.counts.generatedTokens++;
      this.undelivered.push({ sequence, sample, at: this.at });
      if (together && i === drafts.length) this.roster.advance(sequence, count + i);
      if (complete) return this.conclude(sequence);
      if (drafts[i] !== sample!.token) break;
      this.counts.draftTokens++;
      if (!together) this.roster.advance(sequence, 1);
    }
    if (together && sequence.left > 1) this.states!.retreat(sequence);
    if (drafts.length > 0) this.roster.trim(sequence);
    if (wanted > 0 && sequence.steered && !sequence.logprobs) this.takeCertain(sequence);
  }

  /** Takes in the tokens that come next whatever the model says; the next step computes them together. */
  private takeCertain(sequence: Sequence): void {
    try {
      for (let i = 0; i < MOST_CERTAIN_TOKENS; i++) {
        const token = sequence.sampler.certain();
        if (token === undefined) return;
        const sample = { token, logprob: NaN, top: [] };
        const complete = sequence.append(sample);
        sequence.uncomputed++;
        this.counts.generatedTokens++;
        this.counts.certainTokens++;
        this.undelivered.push({ sequence, sample, at: this.at });
        if (complete) return this.conclude(sequence);
      }
    } catch (error) {
      this.conclude(sequence, asM40Error(error));
    }
  }

  /** Takes in the hidden states that a sequence's turn gave; with the last of them it is complete. */
  private takeHidden(turn: Turn, outputs: readonly StepOutput[], first: number): void {
    const { sequence, count } = turn;
    const given = outputs.slice(first, first + turn.outputs.length);
    const end = sequence.computed + count;
    for (const [i, { status }] of given.entries()) {
      if (status === "ok") continue;
      const place = `token ${end - given.length + i + 1} of the text`;
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
    this.undelivered.push({ sequence, error });
  }

  /** Ends a sequence and notifies its listener at once. Undelivered tokens are dropped. */
  end(sequence: Sequence, error?: unknown): void {
    if (sequence.state !== "finished") this.roster.finish(sequence);
    try {
      sequence.notifyEnd(error);
    } catch (thrown) {
      this.onListenerError(thrown);
    }
  }

  /** Notifies the listeners. */
  deliver(): void {
    const queue = this.undelivered;
    this.undelivered = [];
    for (const { sequence, sample, at, error } of queue) {
      if (sample === undefined) this.end(sequence, error);
      else {
        try {
          // Later tokens, and the end, may be queued already.
          if (sequence.listener?.accept(sample, at!) === false) this.end(sequence);
        } catch (thrown) {
          this.end(sequence, asM40Error(thrown));
        }
      }
    }
  }
}

/**
 * The error of an output that has no result, for the person who made the request.
 *
 * @param place The position of the output: "token 5 of the answer".
 */
export function outputError(status: Exclude<OutputStatus, "ok">, place: string): M40Error {
  if (status === "nothing_allowed") {
    return new M40Error(
      "nothing_allowed",
      `no token is allowed as ${place}: what the request demands of its answer leaves no way on. ` +
        "Loosen its constraints.",
    );
  }
  return new M40Error(
    "not_finite",
    `the model's logits for ${place} are not finite numbers. Where keys or values are beyond what F16 ` +
      "holds (65504), --kv-type f32 helps; else the model's file may be damaged.",
  );
}
