/** What a device is held to. */
export interface PaceLimits {
  readonly maxTemperatureCelsius?: number;
  readonly maxPowerWatts?: number;
}

/** What of a device's state its pace hangs on; absent where the driver does not say. */
export interface PaceReading {
  readonly temperatureCelsius?: number;
  readonly powerWatts?: number;
}

/** How much a device rests between steps, and what that came from. */
export interface Pace {
  /** The share of the time in which it rests, 0 to {@link MOST_REST}. */
  readonly rest: number;
  /** What had to be rested in the long run: for its heat, and for its power. */
  readonly heat: number;
  readonly power: number;
  /** Its temperature in the last seconds and in those before, which show the trend; absent before the first reading. */
  readonly lately?: number;
  readonly before?: number;
}

/** A device that need not rest. */
export const FULL_PACE: Pace = { rest: 0, heat: 0, power: 0 };

/** A device that is too hot though it hardly computes has another cause of heat. */
export const MOST_REST = 0.95;

/** What counts as one unit too much: degrees, and a share of the power. */
const UNIT_CELSIUS = 5;
const UNIT_POWER = 0.1;
/**
 * Below what is aimed at by less than this nothing is added up, in units: half a degree, 2% of the power. The values
 * jump by as much from one reading to the next.
 */
const HELD_CELSIUS = 0.1;
const HELD_POWER = 0.2;
/** Aimed at is so much less than the limit, in units: half a degree, so that its swings are about the limit, not beyond. */
const AIMED_BELOW = 0.1;
/**
 * A card's heat follows its work by minutes, a chip's within a second, and its sensor reports that up to a second
 * later. The pause responds to the current excess, but weakly: with 0.7 and a sensor a quarter of a second late, a
 * chip swings by four degrees and more. It also adds up the excess slowly.
 */
const HEAT_AT_ONCE = 0.15;
const HEAT_PER_SECOND = 0.12;
/** Temperatures are means over as many seconds; their difference, so many times, is how far it will rise. */
const LATELY_SECONDS = 0.75;
const BEFORE_SECONDS = 12;
const AHEAD = 1.5;
/** Its power follows within the driver's own mean of up to a second: what is too much is added up alone. */
const POWER_PER_SECOND = 0.025;
/** One reading changes no more than this many units would. */
const MOST_UNITS = 4;
/**
 * A device that computed less than this share of its time was not limited by its pauses. That it is cool then does
 * not allow shorter pauses: it would be too hot as soon as there is work again.
 */
const USED = 0.9;
/** A reading after a long time without any counts as one of this many seconds. */
const MOST_SECONDS = 2;

/**
 * The pace after a reading, so that a device stays below its limits: smoothly, without swinging, and no slower than it
 * must be.
 *
 * @param seconds Since the reading before.
 * @param busy The share of that time in which it computed, 0 to 1.
 */
export function nextPace(
  { rest, heat, power, lately, before }: Pace,
  { temperatureCelsius, powerWatts }: PaceReading,
  { maxTemperatureCelsius, maxPowerWatts }: PaceLimits,
  seconds: number,
  busy = 1,
): Pace {
  const time = Math.min(Math.max(seconds, 0), MOST_SECONDS);
  const wasHeld = busy >= USED * (1 - rest);
  const added = (excess: number, held: number) =>
    time * (wasHeld ? beyond(excess, held) : Math.max(excess, 0));
  let atOnce = 0;
  if (maxTemperatureCelsius !== undefined && temperatureCelsius !== undefined) {
    lately = mean(lately, temperatureCelsius, time / LATELY_SECONDS);
    before = mean(before, temperatureCelsius, time / BEFORE_SECONDS);
    const over = (celsius: number) =>
      bounded((celsius - maxTemperatureCelsius) / UNIT_CELSIUS + AIMED_BELOW);
    heat = share(heat + HEAT_PER_SECOND * added(over(lately), HELD_CELSIUS));
    atOnce = HEAT_AT_ONCE * over(lately + AHEAD * (lately - before));
  }
  if (maxPowerWatts !== undefined && powerWatts !== undefined) {
    const excess = bounded((powerWatts - maxPowerWatts) / (UNIT_POWER * maxPowerWatts));
    power = share(power + POWER_PER_SECOND * added(excess, HELD_POWER));
  }
  return { rest: Math.max(share(heat + atOnce), power), heat, power, lately, before };
}

/**
 * How long to wait before the next step, in milliseconds.
 *
 * @param stepMs What the last step took.
 * @param idleMs What has gone since it ended.
 */
export function restBefore({ rest }: Pace, stepMs: number, idleMs: number): number {
  return Math.max(0, stepMs * rest / (1 - rest) - idleMs);
}

/** A mean that takes in a value by a share. */
function mean(old: number | undefined, value: number, by: number): number {
  return old === undefined ? value : old + (value - old) * Math.min(1, by);
}

function beyond(excess: number, held: number): number {
  return excess > -held && excess < 0 ? 0 : excess;
}

function bounded(units: number): number {
  return Math.min(Math.max(units, -MOST_UNITS), MOST_UNITS);
}

function share(value: number): number {
  return Math.min(Math.max(value, 0), MOST_REST);
}
