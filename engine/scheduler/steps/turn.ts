import { NONE, type OutputStatus, type StepSampling, type StepSequence } from "../../device/mod.ts";
import { M40Error } from "../../errors.ts";
import type { Sequence } from "../sequences/sequence.ts";

/** One sequence's part in a step, as the device takes it: its rows, all of one kind, and what they give. */
export interface Turn extends StepSequence {
  readonly sequence: Sequence;
  /** Of a run: the position of the step whose result is next. */
  position: number;
  /** Tokens that are computed, guesses not counted. */
  readonly count: number;
  /** Whether its sequence samples in each step; else it computes a prompt, or what it lost. */
  readonly samplesNext: boolean;
  /** What may come after the tokens; computed as well. */
  readonly guesses: readonly number[];
  /**
   * Tokens that are sampled: one after the last token and one after each guess, or none. Or hidden states that are
   * given, of so many of the last tokens.
   */
  readonly outputs: readonly TurnOutput[];
  states?: StepSequence["states"];
}

type TurnOutput = StepSequence["outputs"][number] & { sampling?: StepSampling };

const NO_TOKENS: readonly number[] = [];

/** A sequence's turn of at most so many rows; guesses come on top. */
export function turnOf(sequence: Sequence, most: number, guesses = NO_TOKENS): Turn {
  const { begun: position, kvBlocks, samplesNext } = sequence;
  const rows = sequence.nextRows();
  const count = Math.min(rows.count, most);
  const tokens = sequence.tokens.slice(position, position + count).concat(guesses);
  const outputs: TurnOutput[] = [];
  if (sequence.hidden !== undefined) {
    const kind = "hidden";
    for (let i = sequence.hiddenIn(count); i > 0; i--) outputs.push({ row: count - i, kind });
  } else if (count === sequence.left) {
    for (let i = 0; i <= guesses.length; i++) outputs.push({ row: count - 1 + i });
  }
  const { decode } = rows;
  return { sequence, tokens, position, count, kvBlocks, decode, samplesNext, guesses, outputs };
}

/** A step begins to compute a turn. */
export function beginTurn({ sequence, count }: Turn): void {
  sequence.stepsUnderWay++;
  sequence.underWay += count;
}

/** The step is over, or came to nothing. */
export function endTurn({ sequence, count }: Turn): void {
  sequence.stepsUnderWay--;
  // A sequence preempted meanwhile begins where its computed tokens end.
  if (sequence.runs) sequence.underWay -= count;
}

/** Adds to a turn what follows from the steps before and from the memory reserved: its slots, and how it is sampled. */
export function completeTurn(turn: Turn): void {
  const { sequence, guesses, outputs } = turn;
  const { slot, nextSlot = slot } = sequence;
  if (nextSlot !== undefined) turn.states = { from: slot ?? NONE, to: nextSlot };
  if (sequence.hidden !== undefined) return;
  for (let i = 0; i < outputs.length; i++) {
    outputs[i].sampling = sequence.sampler.next(i === 0 ? NO_TOKENS : guesses.slice(0, i));
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
