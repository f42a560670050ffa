import type { PowerLimit } from "../device/mod.ts";
import { M40Error } from "../errors.ts";

/** What sets a device's power limit, and says what it was before; absent watts: only reads it. */
export type SetPowerLimit = (watts?: number) => Promise<PowerLimit>;

/** Of nvmlReturn_t. */
const REASONS: Readonly<Record<number, string>> = {
  2: "the card allows no such limit",
  3: "this card or its driver cannot",
  4: "it takes the rights of root",
  15: "the device was lost",
};

/** Why a limit was neither read nor set. */
function reasonOf({ code }: PowerLimit): string {
  if (code === undefined) return "there is no driver that could be asked";
  return REASONS[code] ?? `the driver answers ${code}`;
}

/**
 * Sets a device's power limit for a while: {@link restore} puts back what was set before, whatever happens. One call
 * is made at a time, and none after that.
 */
export class PowerLimiter {
  private last: Promise<unknown> = Promise.resolve();
  private restored?: Promise<void>;

  private constructor(
    private readonly setLimit: SetPowerLimit,
    readonly beforeWatts: number,
    readonly leastWatts?: number,
    readonly mostWatts?: number,
  ) {}

  /** Where limits can be set; else why not. To find out, the limit is set to what it is. */
  static async open(setLimit: SetPowerLimit): Promise<PowerLimiter | string> {
    const read = await setLimit();
    if (read.code !== 0 || read.beforeWatts === undefined) return reasonOf(read);
    const tried = await setLimit(read.beforeWatts);
    if (tried.code !== 0) return reasonOf(tried);
    return new PowerLimiter(setLimit, read.beforeWatts, read.leastWatts, read.mostWatts);
  }

  /** @throws {M40Error} `device` where the driver refuses this limit. */
  async set(watts: number): Promise<void> {
    await this.next(async () => {
      if (this.restored !== undefined) return;
      const answer = await this.setLimit(watts);
      if (answer.code === 0) return;
      throw new M40Error(
        "device",
        `the power limit cannot be set to ${watts} W: ${reasonOf(answer)}` +
          (this.mostWatts === undefined
            ? ""
            : `; it can be ${this.leastWatts} to ${this.mostWatts} W`),
      );
    });
  }

  /**
   * Puts the limit back; calls after the first one wait for the same.
   *
   * @throws {M40Error} `device` where that fails, with what to do by hand.
   */
  restore(): Promise<void> {
    return this.restored ??= this.next(async () => {
      const answer = await this.setLimit(this.beforeWatts);
      if (answer.code === 0) return;
      throw new M40Error(
        "device",
        `the power limit could not be put back: ${reasonOf(answer)}. ` +
          `It was ${this.beforeWatts} W: nvidia-smi -pl ${this.beforeWatts} sets it.`,
      );
    });
  }

  private next(work: () => Promise<void>): Promise<void> {
    const done = this.last.then(work);
    this.last = done.catch(() => {});
    return done;
  }
}
