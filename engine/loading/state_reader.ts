import type { DeviceState } from "../device/mod.ts";
import { M40Error } from "../errors.ts";
import { within } from "../within.ts";

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
    const state = await within(this.overdue ? 0 : PATIENCE_MS, this.asked);
    if (state !== undefined) return state;
    this.overdue = this.asked !== undefined;
    throw new M40Error(
      "device",
      `the driver has not reported the device's state in ${PATIENCE_MS / 1000} s`,
    );
  }

  /** Waits for the call that is under way; returns whether none is left. */
  async settle(): Promise<boolean> {
    if (this.asked === undefined) return true;
    await within(this.overdue ? 0 : PATIENCE_MS, this.asked.catch(() => {}));
    return this.asked === undefined;
  }
}
