import type { Expression } from "../grammar.ts";
import { choice, DIGIT, NOTHING, repeat, sequence, text } from "../expressions.ts";
import { parseRegex } from "../regex.ts";
import type { Budget, Costs } from "./limits.ts";
import { type Bound, firstDecimal, firstWhole } from "./number_bounds.ts";
import { allowedValues } from "./finite_values.ts";
import { multiples } from "./number_multiples.ts";
import { decimals, integers, MOST_DIGITS, MOST_PLACES } from "./number_ranges.ts";
import { compare, type Decimal, isMultiple, wholeFrom } from "./number_values.ts";
import type { NumberShape } from "./shapes.ts";
import { TextAutomaton } from "./text_automaton.ts";

/**
 * Digits of numbers that must be multiples, or differ from others: so few that a double has them all, and a reader with
 * doubles finds it a multiple as well.
 */
const EXACT_DIGITS = 15;
/** Of those, digits behind the point, if there is one. */
const EXACT_PLACES = 6;
/** That many multiples are listed. */
const MOST_LISTED = 1000n;

const wholePattern = (most: number) => `-?(?:0|[1-9][0-9]{0,${most - 1}})`;
const whole = (most: number) => parseRegex(wholePattern(most));

/** Any integer. */
const INTEGER = whole(MOST_DIGITS);
/** Any number. */
const NUMBER = parseRegex(
  String.raw`${
    wholePattern(MOST_DIGITS)
  }(?:\.[0-9]{1,${MOST_PLACES}})?(?:[Ee](?:\+|-)?[0-9]{1,2})?`,
);
/** Numbers that are no integers, with that many digits before the point. */
const fraction = (most: number) =>
  parseRegex(String.raw`${wholePattern(most)}\.[0-9]{0,${EXACT_PLACES - 1}}[1-9]`);
const FRACTION = fraction(EXACT_DIGITS - EXACT_PLACES);

/** Numbers of so few digits that no two of them are one double, unless the bounds ask for more. */
function exact(shape: NumberShape): Expression {
  const { kind, multiples } = shape;
  if (kind === "integer") return whole(Math.max(...integerBounds(shape).map(lengthOf)));
  const bounds = [shape.least, shape.most].flatMap((one) =>
    one ? lengthOf(wholeFrom(one.at, true)) : []
  );
  const wide = Math.max(0, ...bounds) > EXACT_DIGITS ? Math.max(...bounds) + 1 : 0;
  if (kind === "fraction") return wide > 0 ? fraction(wide) : FRACTION;
  const places = multiples.reduce((most, { of }) => Math.max(most, of.places), EXACT_PLACES);
  const before = Math.max(EXACT_DIGITS - places, 1, wide);
  const pointed = sequence(text("."), repeat(DIGIT, 1, places));
  return choice(whole(Math.max(EXACT_DIGITS, wide)), sequence(whole(before), pointed));
}

/** The digits of a whole number. */
const lengthOf = (value: bigint) => String(value < 0n ? -value : value).length;

/** Numbers of a shape, as an expression or an automaton of their digits. */
export function numbersOf(shape: NumberShape, budget: Budget): Expression | TextAutomaton {
  if (shape.values) {
    return choice(...allowedValues(shape, budget).map((one) => text(one.text)));
  }
  const costs = budget.at(shape.multiples[0]?.place ?? "");
  const free = shape.least === undefined && shape.most === undefined;
  const plain = shape.multiples.length === 0 && shape.not.length === 0;
  if (plain && free) return unbounded(shape);
  if (plain && shape.kind !== "fraction") return bounded(shape);
  const listed = listedMultiples(shape, budget);
  if (listed) return listed;
  let all = TextAutomaton.of(exact(shape), costs);
  if (!free) all = all.and(TextAutomaton.of(bounded(shape), costs), costs);
  for (const { of, place, negated } of shape.multiples) {
    const own = budget.at(place);
    const one = multiples(reduced(of, shape), negated, shape.kind !== "integer", own);
    all = all.and(one, own);
  }
  return without(all, shape, costs);
}

/** A number that is not to be has many spellings, of which none may be left. */
function without(all: TextAutomaton, shape: NumberShape, costs: Costs) {
  if (shape.not.length === 0) return all;
  costs.spend(shape.not.length);
  const spellings = shape.not.map(({ decimal }) => {
    const zeros = decimals(decimal, decimal);
    return decimal.units === 0n ? choice(zeros, sequence(text("-"), zeros)) : zeros;
  });
  return all.without(TextAutomaton.of(choice(...spellings), costs), costs);
}

function unbounded({ kind }: NumberShape): Expression {
  return kind === "integer" ? INTEGER : kind === "fraction" ? FRACTION : NUMBER;
}

const digitsOf = ({ multiples, not }: NumberShape) =>
  multiples.length > 0 || not.length > 0 ? EXACT_DIGITS : MOST_DIGITS;

/** The least and the most that is written where a bound is absent: beyond the other bound, where that is far out. */
function farthest(shape: NumberShape, up: boolean): bigint {
  const digits = digitsOf(shape);
  const other = up ? shape.least?.at : shape.most?.at;
  const whole = other === undefined ? 0n : wholeFrom(other, up);
  const isFar = up ? whole >= 10n ** BigInt(digits) : whole <= -(10n ** BigInt(digits));
  const most = 10n ** BigInt(isFar ? lengthOf(whole) + 1 : digits) - 1n;
  return up ? most : -most;
}

/** The bounds of integers, as far as they are written. */
function integerBounds(shape: NumberShape): [bigint, bigint] {
  const { least, most } = shape;
  return [
    least ? firstWhole(least, true) : farthest(shape, false),
    most ? firstWhole(most, false) : farthest(shape, true),
  ];
}

/** Bounds of decimals, moved inwards to the written number of digits. */
function decimalBounds(shape: NumberShape): [Decimal, Decimal] {
  const within = (bound: Bound | undefined, up: boolean): Decimal => {
    if (bound === undefined) return { units: farthest(shape, !up), places: 0 };
    const { units, places } = firstDecimal(bound, up);
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
  return compare(least, most) > 0 ? NOTHING : decimals(least, most);
}

/** A divisor that says the same of integers, if only those are wanted. */
function reduced({ units, places }: Decimal, { kind }: NumberShape): Decimal {
  if (kind !== "integer") return { units, places };
  let [a, b] = [units, 10n ** BigInt(places)];
  while (b > 0n) [a, b] = [b, a % b];
  return { units: units / a, places: 0 };
}

/** Integers between bounds that are multiples, where they are few. */
function listedMultiples(shape: NumberShape, budget: Budget): Expression | undefined {
  const first = shape.multiples.find(({ negated }) => !negated);
  if (!first || shape.kind !== "integer" || !shape.least || !shape.most) return undefined;
  const [least, most] = integerBounds(shape);
  const { units: step } = reduced(first.of, shape);
  if ((most - least) / step > MOST_LISTED) return undefined;
  let value = least - least % step;
  if (value < least) value += step;
  budget.look(shape.not.length, first.place);
  const refused = new Set(
    shape.not.map(({ decimal: { units, places } }) => places ? "" : `${units}`),
  );
  const listed: Expression[] = [];
  for (; value <= most; value += step) {
    const number = { units: value, places: 0 };
    budget.spend(shape.multiples.length, first.place);
    const fits = shape.multiples.every(({ of, negated }) => isMultiple(number, of) !== negated);
    if (fits && !refused.has(String(value))) listed.push(text(String(value)));
  }
  return choice(...listed);
}
