import type { DeviceState } from "../device/mod.ts";
import { M40Error } from "../errors.ts";

/** How long the driver may take to report a device's state, in milliseconds. */
const PATIENCE_MS = 3000;

/**
 * Asks the driver for a device's state: one call at a time, whose answer serves all callers. A driver whose GPU hangs
 * may never answer; only one call waits for it.
 */
export class StateReader {
  private asked?: Promise<DeviceState>;
  private overdue = false;

  constructor(private readonly ask: () => Promise<DeviceState>) {}

  /** @throws {M40Error} "device" where the driver does not answer, or answers with an error. */
  async read(): Promise<DeviceState> {
    this.asked ??= this.ask().finally(() => {
      this.asked = undefined;
      this.overdue = false;
    });
    const state = await this.inTime(this.asked);
    if (state !== undefined) return state;
    throw new M40Error(
      "device",
      `the driver has not reported the device's state in ${PATIENCE_MS / 1000} s`,
    );
  }

  /** Waits for the call that is under way; returns whether none is left. */
  async settle(): Promise<boolean> {
    await this.inTime(this.asked?.catch(() => {}));
    return this.asked === undefined;
  }

  /** The value of a promise, or undefined where it comes too late. */
  private async inTime<T>(promise: Promise<T> | undefined): Promise<T | undefined> {
    let timer: number | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        this.overdue = this.asked !== undefined;
        resolve(undefined);
      }, this.overdue ? 0 : PATIENCE_MS);
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
