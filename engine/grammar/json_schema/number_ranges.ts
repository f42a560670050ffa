import type { Expression } from "../grammar.ts";
import { choice, DIGIT, digits, EMPTY, optional, repeat, sequence, text } from "../expressions.ts";
import { type Decimal, withPlaces, ZERO } from "./number_values.ts";

/**
 * Digits before the point at most, where no bound has more: all integers of 64 bits have as many, and a model that
 * begins to write digits without end comes to one.
 */
export const MOST_DIGITS = 20;
/** Digits behind the point at most. */
export const MOST_PLACES = 24;

const some = (least: number, most: number) => repeat(DIGIT, least, most);

/** Digits of the same length from one to the other. */
function between(first: string, last: string): Expression {
  if (first.length === 0) return EMPTY;
  if (/^0*$/.test(first) && /^9*$/.test(last)) return some(first.length, first.length);
  const [low, high] = [Number(first[0]), Number(last[0])];
  const [behindFirst, behindLast] = [first.slice(1), last.slice(1)];
  if (low === high) return sequence(text(first[0]), between(behindFirst, behindLast));
  const rest = first.length - 1;
  const zeros = "0".repeat(rest);
  const nines = "9".repeat(rest);
  const options: Expression[] = [];
  const from = behindFirst === zeros ? low : low + 1;
  const to = behindLast === nines ? high : high - 1;
  if (from > low) options.push(sequence(text(first[0]), between(behindFirst, nines)));
  if (from <= to) options.push(sequence(digits(from, to), some(rest, rest)));
  if (to < high) options.push(sequence(text(last[0]), between(zeros, behindLast)));
  return choice(...options);
}

/** Integers from 0 on, both bounds included. */
function naturals(first: bigint, last: bigint): Expression {
  const options: Expression[] = [];
  const [low, high] = [String(first), String(last)];
  if (low.length === high.length) return between(low, high);
  if (first === 0n) options.push(text("0"), between("1", "9"));
  else options.push(between(low, "9".repeat(low.length)));
  if (high.length - low.length > 1) {
    options.push(sequence(digits(1, 9), some(low.length, high.length - 2)));
  }
  options.push(between("1" + "0".repeat(high.length - 1), high));
  return choice(...options);
}

/** Integers, both bounds included. */
export function integers(first: bigint, last: bigint): Expression {
  const options: Expression[] = [];
  if (first < 0n) {
    options.push(sequence(text("-"), naturals(last < 0n ? -last : 1n, -first)));
  }
  if (last >= 0n) options.push(naturals(first > 0n ? first : 0n, last));
  return choice(...options);
}

const isZero = (digits: string) => /^0*$/.test(digits);

/**
 * Digits behind the point whose value is from `low` to `high` (undefined: as many nines as one likes);
 * `least`: how many there must be, 0 or 1; `room`: how many there may be.
 */
function places(low: string, high: string | undefined, least: 0 | 1, room: number): Expression {
  if (isZero(low)) return high === undefined ? some(least, room) : atMost(high, least, room);
  const first = Number(low[0]);
  const behind = low.slice(1);
  if (high !== undefined && high[0] === low[0]) {
    return sequence(text(low[0]), places(behind, high.slice(1), 0, room - 1));
  }
  const end = high === undefined ? 9 : Number(high[0] ?? "0") - 1;
  const options = [sequence(text(low[0]), places(behind, undefined, 0, room - 1))];
  if (first < end) options.push(sequence(digits(first + 1, end), some(0, room - 1)));
  if (high) options.push(sequence(text(high[0]), atMost(high.slice(1), 0, room - 1)));
  return choice(...options);
}

function atMost(high: string, least: 0 | 1, room: number): Expression {
  if (isZero(high)) return repeat(text("0"), least, Math.max(room, least));
  const first = Number(high[0]);
  const options = [sequence(text(high[0]), atMost(high.slice(1), 0, room - 1))];
  if (first > 0) options.push(sequence(digits(0, first - 1), some(0, room - 1)));
  if (least === 0) options.push(EMPTY);
  return choice(...options);
}

function fraction(low: string, high: string | undefined): Expression {
  const pointed = sequence(text("."), places(low, high, 1, MOST_PLACES));
  return isZero(low) ? optional(pointed) : pointed;
}

/** Decimals from 0 on, both bounds included. */
function magnitudes(first: Decimal, last: Decimal): Expression {
  const parts = ({ units, places }: Decimal) => {
    const digits = String(units).padStart(places + 1, "0");
    const point = digits.length - places;
    return { whole: BigInt(digits.slice(0, point)), rest: digits.slice(point) };
  };
  const count = Math.max(first.places, last.places);
  const low = parts({ units: withPlaces(first, count), places: count });
  const high = parts({ units: withPlaces(last, count), places: count });
  const begin = text(String(low.whole));
  if (low.whole === high.whole) return sequence(begin, fraction(low.rest, high.rest));
  const options = [
    sequence(begin, fraction(low.rest, undefined)),
    sequence(text(String(high.whole)), fraction("0".repeat(count), high.rest)),
  ];
  if (high.whole - low.whole > 1n) {
    const whole = naturals(low.whole + 1n, high.whole - 1n);
    options.push(sequence(whole, fraction("", undefined)));
  }
  return choice(...options);
}

const opposite = ({ units, places }: Decimal): Decimal => ({ units: -units, places });

/** Decimals without exponents, both bounds included. */
export function decimals(first: Decimal, last: Decimal): Expression {
  const options: Expression[] = [];
  if (first.units < 0n) {
    const low = last.units < 0n ? opposite(last) : ZERO;
    options.push(sequence(text("-"), magnitudes(low, opposite(first))));
  }
  if (last.units >= 0n) options.push(magnitudes(first.units > 0n ? first : ZERO, last));
  return choice(...options);
}
