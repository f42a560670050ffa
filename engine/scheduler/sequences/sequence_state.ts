import { M40Error } from "../../errors.ts";

/**
 * Where a sequence stands: it waits for its first turn ("waiting"), computes its prompt ("prefilling"),
 * samples tokens ("decoding"), gave way to others and waits to go on ("preempted"), or nothing comes of it
 * any more ("finished").
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
