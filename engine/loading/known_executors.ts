import type { DecodeExecutors } from "../device/mod.ts";
import { within } from "../within.ts";

/** How long a caller waits for an answer, in milliseconds. */
const PATIENCE_MS = 100;
/** Steps within which it is decided, of one number of sequences, what they are run by. */
const FIRST_STEPS = 32;
const NOTHING: DecodeExecutors = { executors: [], noResident: "" };

/**
 * What decode steps are run by, as it was known last: the device answers between two steps, and a device that hangs does
 * not answer.
 */
export class KnownExecutors {
  private known = NOTHING;
  private asked?: Promise<void>;
  private steps = 0;
  /** The reported reasons why no persistent kernel runs them, or not all. */
  private readonly reported = new Set<string>();

  /**
   * @param ask Of 1, 2, ... sequences.
   * @param onNoResident Called once for each reason why a persistent kernel does not run them all.
   */
  constructor(
    private readonly ask: () => Promise<DecodeExecutors>,
    private readonly onNoResident: (why: string) => void = () => {},
  ) {}

  /** No executors where the device has not answered yet. */
  async read(): Promise<DecodeExecutors> {
    this.asked ??= this.refresh();
    await within(PATIENCE_MS, this.asked);
    return this.known;
  }

  /**
   * A decode step is done. Refusals show during the first steps, when all ways are tried, or later. So it asks after
   * each of the first steps, then after 32, 64, 128 ... of them. Asking would end a run: during one, it asks after 1,
   * 2, 4 ... steps.
   */
  noteStep(inRun: boolean): void {
    const steps = ++this.steps;
    const asks = (!inRun && steps <= FIRST_STEPS) || Number.isInteger(Math.log2(steps));
    if (asks) this.asked ??= this.refresh();
  }

  private async refresh(): Promise<void> {
    try {
      this.known = await this.ask();
    } catch {
      // A lost device runs nothing any more; its loss is reported elsewhere.
      this.known = NOTHING;
    } finally {
      this.asked = undefined;
    }
    const { noResident } = this.known;
    if (noResident === "" || this.reported.has(noResident)) return;
    this.reported.add(noResident);
    this.onNoResident(noResident);
  }
}
