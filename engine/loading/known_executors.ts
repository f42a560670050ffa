import type { DecodeExecutors } from "../device/mod.ts";

/** How long who asks waits for an answer, in milliseconds. */
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
  /** Why no resident kernel runs them, or not all, as somebody was told. */
  private readonly told = new Set<string>();

  /**
   * @param ask Of 1, 2, ... sequences.
   * @param onNoResident Told once of each reason why a resident kernel does not run them all.
   */
  constructor(
    private readonly ask: () => Promise<DecodeExecutors>,
    private readonly onNoResident: (why: string) => void = () => {},
  ) {}

  /** No executors where the device has not answered yet. */
  async read(): Promise<DecodeExecutors> {
    this.asked ??= this.refresh();
    let timer: number | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, PATIENCE_MS));
    await Promise.race([this.asked, late]);
    clearTimeout(timer);
    return this.known;
  }

  /**
   * A decode step is done. What it was refused for shows among the first of them, when all ways are tried, or later: it is
   * asked for after each of these, then after 32, 64, 128 ... of them. Who asks in the midst of a run ends that: there it is
   * after 1, 2, 4 ... steps.
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
      // A device that was lost runs nothing any more; who asks is told of that elsewhere.
      this.known = NOTHING;
    } finally {
      this.asked = undefined;
    }
    const { noResident } = this.known;
    if (noResident === "" || this.told.has(noResident)) return;
    this.told.add(noResident);
    this.onNoResident(noResident);
  }
}
