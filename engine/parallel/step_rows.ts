import type { Executor } from "../device/mod.ts";

/** Decode rows of a step that a persistent kernel takes, at most. */
const MOST_ROWS = 8;
/** Steps that are given one by one, so that it is known what is fastest: of each number of rows at most so many. */
const MOST_TRIALS = 32;

/**
 * The numbers of decode rows for which a device with runs still takes single steps. Only steps can be measured, which
 * decides whether a persistent kernel computes them.
 */
export class StepRows {
  private readonly steps = new Uint32Array(MOST_ROWS);
  private known: readonly Executor[] = [];

  /** @param ask What steps of 1, 2, ... rows are run by; "auto" where that is not decided yet. */
  constructor(private readonly ask: (rows: number) => Promise<readonly Executor[]>) {}

  has(rows: number): boolean {
    return rows <= MOST_ROWS && !this.knows(rows) && this.steps[rows - 1] < MOST_TRIALS;
  }

  /** A step of decode rows alone was done. */
  note(rows: number): void {
    if (rows === 0 || rows > MOST_ROWS) return;
    this.steps[rows - 1]++;
    if (this.knows(rows)) return;
    this.ask(MOST_ROWS).then(
      (known) => this.known = known,
      () => {}, // a device that was lost says so to the next step
    );
  }

  private knows(rows: number): boolean {
    return (this.known[rows - 1] ?? "auto") !== "auto";
  }
}
