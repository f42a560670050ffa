import { compare, type Decimal, decimalOf, wholeFrom, withPlaces } from "./number_values.ts";

/** What numbers begin or end with. */
export interface Bound {
  readonly at: Decimal;
  /** Whether they begin behind it, or end before it. */
  readonly excluded: boolean;
}

/** The tighter of two lower bounds (`up`) or upper ones; absent: there is none. */
export function tighter(
  a: Bound | undefined,
  b: Bound | undefined,
  up: boolean,
): Bound | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const order = compare(a.at, b.at);
  if (order === 0) return a.excluded || !b.excluded ? a : b;
  return (order > 0) === up ? a : b;
}

/** Whether a value is on the right side of a bound; `up`: of a lower one. */
export function isBeyond(bound: Bound | undefined, value: Decimal, up: boolean): boolean {
  if (bound === undefined) return true;
  const order = compare(value, bound.at);
  return order === 0 ? !bound.excluded : (order > 0) === up;
}

/** The least whole number from a lower bound on (`up`), or the largest up to an upper one. */
export function firstWhole({ at, excluded }: Bound, up: boolean): bigint {
  const whole = wholeFrom(at, up);
  const isBound = excluded && withPlaces({ units: whole, places: 0 }, at.places) === at.units;
  return isBound ? whole + (up ? 1n : -1n) : whole;
}

/**
 * The first decimal from a bound on. Behind an excluded one it is the next number that a double can hold: so that a
 * reader with doubles does not read the bound itself.
 */
export function firstDecimal({ at, excluded }: Bound, up: boolean): Decimal {
  if (!excluded) return at;
  const next = neighbour(Number(`${at.units}e-${at.places}`), up);
  return (Number.isFinite(next) ? decimalOf(next) : undefined) ??
    { units: at.units * 10n + (up ? 1n : -1n), places: at.places + 1 };
}

const bits = new DataView(new ArrayBuffer(8));

/** The next number that a double can hold, up or down. */
function neighbour(value: number, up: boolean): number {
  if (!Number.isFinite(value)) return value;
  if (value === 0) return up ? Number.MIN_VALUE : -Number.MIN_VALUE;
  bits.setFloat64(0, value);
  bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 === up ? 1n : -1n));
  return bits.getFloat64(0);
}
