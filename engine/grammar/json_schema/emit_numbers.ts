/**
 * Numbers of a shape, as expressions or automata of their digits.
 *
 * @module
 */
import type { Expression } from "../grammar.ts";
import {
  among,
  choice,
  DIGIT,
  digits,
  NOTHING,
  optional,
  repeat,
  sequence,
  text,
} from "./expressions.ts";
import type { Budget } from "./limits.ts";
import { setOf } from "./list_sets.ts";
import { multiples } from "./number_multiples.ts";
import { decimals, integers, MOST_DIGITS, MOST_PLACES } from "./number_ranges.ts";
import { allowedValues, type Decimal, decimalOf, isMultiple } from "./number_values.ts";
import type { NumberShape } from "./shapes.ts";
import { TextAutomaton } from "./text_automaton.ts";

/**
 * Digits of numbers that must be multiples, or differ from others: so few that a double has them all, so
 * that who reads one finds it a multiple as well.
 */
const EXACT_DIGITS = 15;
/** Of those, digits behind the point, if there is one. */
const EXACT_PLACES = 6;
/** So many multiples are listed. */
const MOST_LISTED = 1000n;

const whole = (most: number) =>
  sequence(
    optional(text("-")),
    choice(text("0"), sequence(digits(1, 9), repeat(DIGIT, 0, most - 1))),
  );

/** Any integer. */
export const INTEGER = whole(MOST_DIGITS);
/** Any number. */
export const NUMBER = sequence(
  INTEGER,
  optional(sequence(text("."), repeat(DIGIT, 1, MOST_PLACES))),
  optional(
    sequence(
      among([0x45, 0x45], [0x65, 0x65]),
      optional(choice(text("+"), text("-"))),
      repeat(DIGIT, 1, 2),
    ),
  ),
);
/** Numbers that are no integers. */
const FRACTION = sequence(
  whole(EXACT_DIGITS - EXACT_PLACES),
  text("."),
  repeat(DIGIT, 0, EXACT_PLACES - 1),
  digits(1, 9),
);

/** Numbers of so few digits that no two of them are one double. */
function exact({ kind, multiples }: NumberShape): Expression {
  if (kind === "integer") return whole(EXACT_DIGITS);
  if (kind === "fraction") return FRACTION;
  const places = multiples.reduce(
    (most, { of }) => Math.max(most, decimalOf(of).places),
    EXACT_PLACES,
  );
  const before = Math.max(EXACT_DIGITS - places, 1);
  const pointed = sequence(text("."), repeat(DIGIT, 1, places));
  return choice(whole(EXACT_DIGITS), sequence(whole(before), pointed));
}

/** What the numbers of a shape look like. */
export function numbersOf(shape: NumberShape, budget: Budget): Expression | TextAutomaton {
  if (shape.values) {
    return choice(...allowedValues(shape, budget).map((one) => text(JSON.stringify(one))));
  }
  const place = shape.multiples[0]?.place ?? "";
  const free = shape.least === -Infinity && shape.most === Infinity;
  const plain = shape.multiples.length === 0 && shape.not.length === 0;
  if (plain && free) return unbounded(shape);
  if (plain && shape.kind !== "fraction") return bounded(shape);
  const listed = listedMultiples(shape, budget);
  if (listed) return listed;
  let all = TextAutomaton.of(exact(shape), budget, place);
  if (!free) all = all.and(TextAutomaton.of(bounded(shape), budget, place), budget, place);
  for (const { of, place, negated } of shape.multiples) {
    const one = multiples(reduced(of, shape), negated, shape.kind !== "integer", budget, place);
    all = all.and(one, budget, place);
  }
  return without(all, shape, budget, place);
}

/** A number that is not to be has many spellings, of which none may be left. */
function without(all: TextAutomaton, shape: NumberShape, budget: Budget, place: string) {
  if (shape.not.length === 0) return all;
  budget.spend(shape.not.length, place);
  const spellings = shape.not.map((value) => {
    const exact = decimalOf(value);
    const zeros = decimals(exact, exact);
    return value === 0 ? choice(zeros, sequence(text("-"), zeros)) : zeros;
  });
  return all.without(TextAutomaton.of(choice(...spellings), budget, place), budget, place);
}

function unbounded({ kind }: NumberShape): Expression {
  return kind === "integer" ? INTEGER : kind === "fraction" ? FRACTION : NUMBER;
}

const digitsOf = ({ multiples, not }: NumberShape) =>
  multiples.length > 0 || not.length > 0 ? EXACT_DIGITS : MOST_DIGITS;

/** The bounds of integers, as far as they are written. */
function integerBounds(shape: NumberShape): [bigint, bigint] {
  const most = 10n ** BigInt(digitsOf(shape)) - 1n;
  const least = Number.isFinite(shape.least) ? BigInt(Math.ceil(shape.least)) : -most;
  const last = Number.isFinite(shape.most) ? BigInt(Math.floor(shape.most)) : most;
  return [least > -most ? least : -most, last < most ? last : most];
}

/** Bounds of decimals, moved inwards to so many places as are written. */
function decimalBounds(shape: NumberShape): [Decimal, Decimal] {
  const most = { units: 10n ** BigInt(digitsOf(shape)) - 1n, places: 0 };
  const least = { ...most, units: -most.units };
  const within = (value: number, up: boolean): Decimal => {
    if (value <= -(10 ** digitsOf(shape))) return least;
    if (value >= 10 ** digitsOf(shape)) return most;
    const { units, places } = decimalOf(value);
    if (places <= MOST_PLACES) return { units, places };
    const scale = 10n ** BigInt(places - MOST_PLACES);
    const cut = units / scale;
    const exact = cut * scale === units;
    const inwards = exact ? 0n : up && units > 0n ? 1n : !up && units < 0n ? -1n : 0n;
    return { units: cut + inwards, places: MOST_PLACES };
  };
  return [within(shape.least, true), within(shape.most, false)];
}

function bounded(shape: NumberShape): Expression {
  if (shape.kind === "integer") {
    const [least, most] = integerBounds(shape);
    return least > most ? NOTHING : integers(least, most);
  }
  const [least, most] = decimalBounds(shape);
  const places = Math.max(least.places, most.places);
  const difference = most.units * 10n ** BigInt(places - most.places) -
    least.units * 10n ** BigInt(places - least.places);
  return difference < 0n ? NOTHING : decimals(least, most);
}

/** A divisor that says the same of integers, if only those are wanted. */
function reduced(of: number, { kind }: NumberShape): Decimal {
  const { units, places } = decimalOf(of);
  if (kind !== "integer") return { units, places };
  let [a, b] = [units, 10n ** BigInt(places)];
  while (b > 0n) [a, b] = [b, a % b];
  return { units: units / a, places: 0 };
}

/** Integers between bounds that are multiples, where they are few. */
function listedMultiples(shape: NumberShape, budget: Budget): Expression | undefined {
  const first = shape.multiples.find(({ negated }) => !negated);
  if (!first || shape.kind !== "integer" || shape.least === -Infinity || shape.most === Infinity) {
    return undefined;
  }
  const [least, most] = integerBounds(shape);
  const { units: step } = reduced(first.of, shape);
  if ((most - least) / step > MOST_LISTED) return undefined;
  let value = least - least % step;
  if (value < least) value += step;
  const refused = setOf(shape.not, budget, first.place);
  const listed: Expression[] = [];
  for (; value <= most; value += step) {
    const number = Number(value);
    budget.spend(shape.multiples.length, first.place);
    const fits = shape.multiples.every(({ of, negated }) => isMultiple(number, of) !== negated);
    if (fits && !refused.has(number)) listed.push(text(String(value)));
  }
  return choice(...listed);
}
