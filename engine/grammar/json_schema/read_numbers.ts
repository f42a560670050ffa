/**
 * `minimum`, `maximum`, their exclusive forms (draft 4 spells them as flags) and `multipleOf`.
 *
 * @module
 */
import { refusal, shown } from "./limits.ts";
import type { At, Group } from "./reading.ts";
import { type Alternatives, ANY_NUMBER, limited, NONE, type NumberShape } from "./shapes.ts";

const bits = new DataView(new ArrayBuffer(8));

/** The next number that a double can hold, up or down. */
export function neighbour(value: number, up: boolean): number {
  if (!Number.isFinite(value)) return value;
  if (value === 0) return up ? Number.MIN_VALUE : -Number.MIN_VALUE;
  bits.setFloat64(0, value);
  bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 === up ? 1n : -1n));
  return bits.getFloat64(0);
}

function numberOf({ schema, place }: At, keyword: string): number {
  const value = schema[keyword];
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw refusal(`${place.pointer}/${keyword}`, `it must be a number, not ${shown(value)}`);
}

const numbers = (shape: Partial<NumberShape>): Alternatives =>
  limited({ numbers: [{ ...ANY_NUMBER, ...shape }] });

function bound(keyword: string, flag: string, up: boolean): Group {
  const within = (value: number): Partial<NumberShape> => up ? { least: value } : { most: value };
  const beyond = (value: number): Alternatives => ({
    ...NONE,
    numbers: [{ ...ANY_NUMBER, ...(up ? { most: value } : { least: value }) }],
  });
  return {
    keywords: [keyword],
    holds(at) {
      const value = numberOf(at, keyword);
      return numbers(within(at.schema[flag] === true ? neighbour(value, up) : value));
    },
    fails(at) {
      const value = numberOf(at, keyword);
      return beyond(at.schema[flag] === true ? value : neighbour(value, !up));
    },
  };
}

function exclusiveBound(keyword: string, up: boolean): Group {
  return {
    keywords: [keyword],
    holds(at) {
      if (typeof at.schema[keyword] === "boolean") return numbers({});
      const value = neighbour(numberOf(at, keyword), up);
      return numbers(up ? { least: value } : { most: value });
    },
    fails(at) {
      if (typeof at.schema[keyword] === "boolean") return NONE;
      const value = numberOf(at, keyword);
      return {
        ...NONE,
        numbers: [{ ...ANY_NUMBER, ...(up ? { most: value } : { least: value }) }],
      };
    },
  };
}

function multiple(at: At, negated: boolean): readonly NumberShape[] {
  const of = numberOf(at, "multipleOf");
  const place = `${at.place.pointer}/multipleOf`;
  if (of <= 0) throw refusal(place, `it must be above 0, not ${of}`);
  return [{ ...ANY_NUMBER, multiples: [{ of, place, negated }] }];
}

const multipleOf: Group = {
  keywords: ["multipleOf"],
  holds: (at) => limited({ numbers: multiple(at, false) }),
  fails: (at) => ({ ...NONE, numbers: multiple(at, true) }),
};

export const NUMBER_GROUPS: readonly Group[] = [
  bound("minimum", "exclusiveMinimum", true),
  bound("maximum", "exclusiveMaximum", false),
  exclusiveBound("exclusiveMinimum", true),
  exclusiveBound("exclusiveMaximum", false),
  multipleOf,
];
