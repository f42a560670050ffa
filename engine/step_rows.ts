import type { Executor } from "./device/context.ts";

/** Decode rows of a step that a resident kernel takes, at most. */
const MOST_ROWS = 8;
/** Steps that are given one by one, so that it is known what is fastest: of each number of rows at most so many. */
const MOST_TRIALS = 32;
/** What was known is asked again every so many steps: a resident kernel may be given up. */
const STEPS_A_QUESTION = 256;

/**
 * For which numbers of decode rows a device with runs is to be given steps one by one all the same: where a resident kernel
 * does them, which has no runs, and until it is known whether it does.
 */
export class StepRows {
  private readonly steps = new Uint32Array(MOST_ROWS);
  private known: readonly Executor[] = [];

  /** @param ask What steps of 1, 2, ... rows are run by; "auto" where that is not decided yet. */
  constructor(private readonly ask: (rows: number) => Promise<readonly Executor[]>) {}

  has(rows: number): boolean {
    if (rows > MOST_ROWS) return false;
    const executor = this.of(rows);
    return executor === "resident" || (executor === "auto" && this.steps[rows - 1] < MOST_TRIALS);
  }

  /** A step of decode rows alone was done. */
  note(rows: number): void {
    if (rows === 0 || rows > MOST_ROWS) return;
    const steps = ++this.steps[rows - 1];
    if (this.of(rows) !== "auto" && steps % STEPS_A_QUESTION !== 0) return;
    this.ask(MOST_ROWS).then(
      (known) => this.known = known,
      () => {}, // a device that was lost says so to the next step
    );
  }

  private of(rows: number): Executor {
    return this.known[rows - 1] ?? "auto";
  }
}
