import type { OutputStatus, StepSequence } from "../../device/mod.ts";
import { M40Error } from "../../errors.ts";
import type { Sequence } from "../sequences/sequence.ts";
import { stepStates } from "../kv_blocks/states.ts";

/** One sequence's part in a step: the rows that are computed, all of one kind, and what they give. */
export interface Turn {
  readonly sequence: Sequence;
  /** The position of the first of its tokens. */
  readonly position: number;
  /** Tokens that are computed, guesses not counted. */
  readonly count: number;
  /** Whether they are computed as decode rows; else as prompt rows. */
  readonly decode: boolean;
  /** Whether its sequence samples in each step; else it computes a prompt, or what it lost. */
  readonly samplesNext: boolean;
  /** What may come after them; computed as well. */
  readonly guesses: readonly number[];
  /**
   * Tokens that are sampled: one after the last token and one after each guess, or none. Or hidden states that are
   * given, of so many of the last tokens.
   */
  readonly outputs: number;
}

/** A sequence's turn of at most so many rows; guesses come on top. */
export function turnOf(sequence: Sequence, most: number, guesses: readonly number[] = []): Turn {
  const rows = sequence.nextRows();
  const count = Math.min(rows.count, most);
  const sampled = count === sequence.left ? 1 + guesses.length : 0;
  const outputs = sequence.hidden === undefined ? sampled : sequence.hiddenIn(count);
  const { begun: position, samplesNext } = sequence;
  return { sequence, position, count, decode: rows.decode, samplesNext, guesses, outputs };
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

/** A turn as the device takes it. */
export function stepOf(turn: Turn): StepSequence {
  const { sequence, position, count, decode, guesses, outputs } = turn;
  const { kvBlocks } = sequence;
  const tokens = sequence.tokens.slice(position, position + count);
  const step = { tokens, position, kvBlocks, decode, states: stepStates(sequence) };
  if (outputs === 0) return { ...step, outputs: NO_OUTPUTS };
  if (sequence.hidden !== undefined) {
    const row = (i: number) => ({ row: count - outputs + i, kind: "hidden" as const });
    return { ...step, outputs: Array.from({ length: outputs }, (_, i) => row(i)) };
  }
  const first = { row: count - 1, sampling: sequence.sampling() };
  if (guesses.length === 0) return { ...step, outputs: [first] };
  const others = guesses.map((_, i) => ({
    row: count + i,
    sampling: sequence.sampling(guesses.slice(0, i + 1)),
  }));
  return { ...step, tokens: [...tokens, ...guesses], outputs: [first, ...others] };
}

const NO_OUTPUTS: StepSequence["outputs"] = [];

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
