import type { DeviceState } from "../device/mod.ts";
import { within } from "../within.ts";

/** How often power is looked at where energy is not counted, in milliseconds. */
const PERIOD_MS = 100;

/** What a device drew in a time. */
export interface Energy {
  readonly joules: number;
  readonly seconds: number;
  /** Whether the driver counted it, or its power was looked at ten times a second and added up. */
  readonly from: "counter" | "samples";
}

/** What of a device's state it takes. */
type Reading = Pick<DeviceState, "powerWatts" | "energyJoules">;

/** Measures the energy that a device draws from {@link start} to {@link stop}. */
export class PowerMeter {
  private constructor(
    private readonly state: () => Promise<Reading>,
    private readonly first: Reading & { readonly at: number },
    private readonly sampled: Promise<number> | undefined,
    private readonly stopSampling: () => void,
  ) {}

  /** Begins; undefined where the device says neither what it draws nor what it drew. */
  static async start(state: () => Promise<Reading>): Promise<PowerMeter | undefined> {
    const reading = await state();
    const first = { ...reading, at: performance.now() };
    if (reading.energyJoules !== undefined) {
      return new PowerMeter(state, first, undefined, () => {});
    }
    if (reading.powerWatts === undefined) return undefined;
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    const sampled = sample(state, { watts: reading.powerWatts, at: first.at }, stopped);
    // The caller of {@link stop} gets the error.
    sampled.catch(() => {});
    return new PowerMeter(state, first, sampled, stop);
  }

  /** The energy since the start. */
  async stop(): Promise<Energy> {
    this.stopSampling();
    if (this.sampled !== undefined) {
      const joules = await this.sampled;
      return { joules, seconds: (performance.now() - this.first.at) / 1000, from: "samples" };
    }
    const { energyJoules } = await this.state();
    const seconds = (performance.now() - this.first.at) / 1000;
    // A driver that has counted once goes on.
    return { joules: energyJoules! - this.first.energyJoules!, seconds, from: "counter" };
  }
}

/** Adds power up until it is stopped, in joules. A reading that is not there counts as the one before. */
async function sample(
  state: () => Promise<Reading>,
  before: { watts: number; at: number },
  stopped: Promise<void>,
): Promise<number> {
  let joules = 0;
  for (let done = false; !done;) {
    done = await within(PERIOD_MS, stopped.then(() => true)) ?? false;
    const { powerWatts = before.watts } = await state();
    const at = performance.now();
    joules += (powerWatts + before.watts) / 2 * (at - before.at) / 1000;
    before = { watts: powerWatts, at };
  }
  return joules;
}
