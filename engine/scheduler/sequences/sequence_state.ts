import { M40Error } from "../../errors.ts";

/**
 * The state of a sequence: it waits to be admitted ("waiting"), computes its prompt ("prefilling"), samples
 * tokens ("decoding"), was preempted and waits to go on ("preempted"), or has ended ("finished").
 */
export type SequenceState = "waiting" | "prefilling" | "decoding" | "preempted" | "finished";

/** Where a sequence can go from each state. */
const NEXT: Readonly<Record<SequenceState, readonly SequenceState[]>> = {
  waiting: ["prefilling", "finished"],
  prefilling: ["decoding", "preempted", "finished"],
  decoding: ["preempted", "finished"],
  preempted: ["prefilling", "decoding", "finished"],
  finished: [],
};

/** @throws {M40Error} "internal" where a sequence cannot go from one state to the other. */
export function checkTransition(from: SequenceState, to: SequenceState): void {
  if (NEXT[from].includes(to)) return;
  throw new M40Error("internal", `a sequence that is ${from} cannot become ${to}`);
}
