import { delay } from "@std/async/delay";
import type { DeviceState } from "../device/mod.ts";
import { FULL_PACE, nextPace, type PaceLimits, restBefore } from "./pace.ts";

/** The limits of a {@link Pacer}, and its callback. */
export interface PaceOptions {
  /** The device's highest temperature and power. */
  readonly paceLimits: PaceLimits;
  /** Called when the device begins to pause between steps, and when it no longer does. */
  readonly onPace?: (message: string) => void;
}

/** How often the device is looked at while it computes, in milliseconds. */
const PERIOD_MS = 250;
/** One rest takes no longer, so that a step that took seconds does not make a pause of minutes. */
const MOST_REST_MS = 2000;

/**
 * Has a device rest between steps, so that it stays below a temperature and a power. It looks at the device while there
 * are steps, and never waits for that.
 */
export class Pacer {
  private pace = FULL_PACE;
  /** When the device was looked at last, and whether that is under way. */
  private lookedAt?: number;
  private looking = false;
  /** What it has computed since. */
  private busyMs = 0;

  /**
   * @param onChange Called when the device begins to pause between steps, and when it no longer does.
   */
  constructor(
    private readonly limits: PaceLimits,
    private readonly state: () => Promise<DeviceState>,
    private readonly onChange: (rests: boolean, state: DeviceState) => void = () => {},
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** The share of the time in which the device pauses now, 0 to 1. */
  get share(): number {
    return this.pace.rest;
  }

  /**
   * Waits before a step, as long as the pace demands. A chip can cool by ten degrees in the pause after one long
   * step. So the device is read during the pause, which ends early when that is enough.
   *
   * @param stepMs What the step before took.
   * @param idleMs What has gone since it ended.
   * @returns How long it has waited, in milliseconds.
   */
  async rest(stepMs: number, idleMs: number): Promise<number> {
    const start = performance.now();
    this.busyMs += stepMs;
    for (let waited = 0;; waited = performance.now() - start) {
      this.look();
      const wanted = Math.min(MOST_REST_MS, restBefore(this.pace, stepMs, idleMs)) - waited;
      // Timers count whole milliseconds.
      if (wanted < 1) return waited;
      await delay(Math.min(wanted, PERIOD_MS));
    }
  }

  /** Looks at the device where the last time is long ago. */
  private look(): void {
    const now = this.now();
    if (this.looking || (this.lookedAt !== undefined && now - this.lookedAt < PERIOD_MS)) return;
    const seconds = this.lookedAt === undefined ? 0 : (now - this.lookedAt) / 1000;
    // Steps of two lanes are computed at the same time.
    const busy = seconds === 0 ? 1 : Math.min(1, this.busyMs / 1000 / seconds);
    this.lookedAt = now;
    this.busyMs = 0;
    this.looking = true;
    this.state()
      .then((state) => this.take(state, seconds, busy))
      // A driver that does not answer holds nothing up; the pace stays.
      .catch(() => {})
      .finally(() => this.looking = false);
  }

  private take(state: DeviceState, seconds: number, busy: number): void {
    const rested = this.pace.rest > 0;
    this.pace = nextPace(this.pace, state, this.limits, seconds, busy);
    const rests = this.pace.rest > 0;
    if (rests !== rested) this.onChange(rests, state);
  }
}

/** The pacer of an engine with limits; undefined where there are none. */
export function createPacer(
  { paceLimits, onPace }: PaceOptions,
  state: () => Promise<DeviceState>,
): Pacer | undefined {
  const { maxTemperatureCelsius, maxPowerWatts } = paceLimits;
  if (maxTemperatureCelsius === undefined && maxPowerWatts === undefined) return undefined;
  return new Pacer(paceLimits, state, (rests, { temperatureCelsius, powerWatts }) => {
    const facts = [
      ...(temperatureCelsius === undefined ? [] : [`${temperatureCelsius} °C`]),
      ...(powerWatts === undefined ? [] : [`${powerWatts.toFixed(0)} W`]),
    ].join(", ");
    onPace?.(
      rests
        ? `The device is at its limit (${facts}): it pauses between steps from now on.`
        : `The device is below its limits again (${facts}): it pauses no more.`,
    );
  });
}
