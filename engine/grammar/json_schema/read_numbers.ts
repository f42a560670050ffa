import { shown, wrong } from "./limits.ts";
import { compare, type Decimal, decimalOf, MOST_DIGITS, ZERO } from "./number_values.ts";
import type { At, Group } from "./reading.ts";
import { type Alternatives, ANY_NUMBER, limited, NONE, type NumberShape } from "./shapes.ts";

function numberOf({ schema, place }: At, keyword: string): Decimal {
  const value = decimalOf(schema[keyword]);
  if (value !== undefined) return value;
  throw wrong(
    `${place.pointer}/${keyword}`,
    `it must be a number of at most ${MOST_DIGITS} digits, not ${shown(schema[keyword])}`,
  );
}

const numbers = (shape: Partial<NumberShape>): Alternatives =>
  limited({ numbers: [{ ...ANY_NUMBER, ...shape }] });
const others = (shape: Partial<NumberShape>): Alternatives => ({
  ...NONE,
  numbers: [{ ...ANY_NUMBER, ...shape }],
});

/** Numbers on one side of another: from it on (`up`) or up to it. */
const side = (at: Decimal, excluded: boolean, up: boolean): Partial<NumberShape> =>
  up ? { least: { at, excluded } } : { most: { at, excluded } };

function bound(keyword: string, flag: string, up: boolean): Group {
  const isExcluded = ({ schema }: At) => schema[flag] === true;
  return {
    keywords: [keyword],
    holds: (at) => numbers(side(numberOf(at, keyword), isExcluded(at), up)),
    fails: (at) => others(side(numberOf(at, keyword), !isExcluded(at), !up)),
  };
}

function exclusiveBound(keyword: string, up: boolean): Group {
  const isFlag = ({ schema }: At) => typeof schema[keyword] === "boolean";
  return {
    keywords: [keyword],
    holds: (at) => isFlag(at) ? numbers({}) : numbers(side(numberOf(at, keyword), true, up)),
    fails: (at) => isFlag(at) ? NONE : others(side(numberOf(at, keyword), false, !up)),
  };
}

function multiple(at: At, negated: boolean): NumberShape {
  const of = numberOf(at, "multipleOf");
  const place = `${at.place.pointer}/multipleOf`;
  if (compare(of, ZERO) <= 0) {
    throw wrong(place, `it must be above 0, not ${shown(at.schema.multipleOf)}`);
  }
  // Multiples of 1 are the integers, and no others: of these there may be more digits.
  if (of.units === 1n && of.places === 0) {
    return { ...ANY_NUMBER, kind: negated ? "fraction" : "integer" };
  }
  return { ...ANY_NUMBER, multiples: [{ of, place, negated }] };
}

const multipleOf: Group = {
  keywords: ["multipleOf"],
  holds: (at) => numbers(multiple(at, false)),
  fails: (at) => others(multiple(at, true)),
};

/** `minimum`, `maximum`, their exclusive forms (draft 4 spells them as flags) and `multipleOf`. */
export const NUMBER_GROUPS: readonly Group[] = [
  bound("minimum", "exclusiveMinimum", true),
  bound("maximum", "exclusiveMaximum", false),
  exclusiveBound("exclusiveMinimum", true),
  exclusiveBound("exclusiveMaximum", false),
  multipleOf,
];
