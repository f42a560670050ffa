import { invalidGrammar } from "./errors.ts";

/** What one byte may take, in nodes, items and stacks that are looked at: some hundredths of a second at most. */
const MOST_OF_A_STEP = 120_000;

/** Counts what an automaton computes, in nodes, items and stacks that are looked at, and ends what takes too much. */
export class WorkLimit {
  /** What was computed so far. */
  done = 0;
  private most = Infinity;
  private mostOfStep = Infinity;

  /** From now on at most this much is done: what needs more than that ends in an error. */
  allow(most: number): void {
    this.most = this.done + most;
  }

  /** What of that is left. */
  get left(): number {
    return this.most - this.done;
  }

  /** A step begins, which nothing interrupts. */
  beginStep(): void {
    this.mostOfStep = this.done + MOST_OF_A_STEP;
  }

  /** @throws {M40Error} "invalid_request" where what was allowed is used up. */
  check(): void {
    if (this.done > this.most) throw tooAmbiguous();
  }

  /** @throws {M40Error} "invalid_request" where the step takes too much. */
  checkStep(): void {
    if (this.done > this.mostOfStep) throw tooAmbiguous();
  }
}

function tooAmbiguous() {
  return invalidGrammar(
    "the grammar is too ambiguous: too many of its rules may apply at one place. Have alternatives begin " +
      "differently, and do not nest repetitions.",
  );
}
