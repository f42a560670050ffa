import type { Executor } from "./device/context.ts";

/** How long who asks waits for an answer, in milliseconds. */
const PATIENCE_MS = 100;

/**
 * What decode steps are run by, as it was known last: the device answers between two steps, and a device that hangs does
 * not answer.
 */
export class KnownExecutors {
  private known: readonly Executor[] = [];
  private asked?: Promise<void>;

  /** @param ask Of 1, 2, ... sequences. */
  constructor(private readonly ask: () => Promise<readonly Executor[]>) {}

  /** Of 1, 2, ... sequences; "auto" where it is not decided yet, empty where the device has not answered yet. */
  async read(): Promise<readonly Executor[]> {
    this.asked ??= this.refresh();
    let timer: number | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, PATIENCE_MS));
    await Promise.race([this.asked, late]);
    clearTimeout(timer);
    return this.known;
  }

  private async refresh(): Promise<void> {
    try {
      this.known = await this.ask();
    } catch {
      // A device that was lost runs nothing any more; who asks is told of that elsewhere.
      this.known = [];
    } finally {
      this.asked = undefined;
    }
  }
}
