import {
  isBoolean,
  isFloat,
  isFunction,
  isInteger,
  isList,
  isMapping,
  isNone,
  isString,
  isUndefined,
  numberOf,
  type Value,
} from "./library.ts";
import { areEqual, compare, contains, typeName } from "./operators.ts";
import type { Rendering } from "./rendering.ts";
import { LOWER, UPPER } from "./string_methods.ts";
import { display } from "./write.ts";

type Test = (rendering: Rendering, value: Value, other: Value | undefined) => boolean;

function integerOf(value: Value | undefined, name: string): number {
  const number = value && numberOf(value);
  if (number !== undefined) return number;
  throw new Error(`${name} wants a number, got ${value ? typeName(value) : "nothing"}`);
}

function comparing(holds: (order: number) => boolean): Test {
  return (rendering, value, other) => holds(compare(rendering, value, needed(other)));
}

function needed(value: Value | undefined): Value {
  if (value === undefined) throw new Error("the test wants something to compare with");
  return value;
}

const equal: Test = (rendering, value, other) => areEqual(rendering, value, needed(other));
const unequal: Test = (rendering, value, other) => !areEqual(rendering, value, needed(other));
const iterable: Test = (_, value) =>
  isList(value) || isString(value) || isMapping(value) || isUndefined(value);

/** Jinja's tests: what stands behind `is`, and what `select` and its like are told by name. */
const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ["defined", (_, value) => !isUndefined(value)],
  ["undefined", (_, value) => isUndefined(value)],
  ["none", (_, value) => isNone(value)],
  ["boolean", (_, value) => isBoolean(value)],
  ["true", (_, value) => isBoolean(value) && value.value],
  ["false", (_, value) => isBoolean(value) && !value.value],
  ["integer", (_, value) => isInteger(value)],
  ["float", (_, value) => isFloat(value)],
  ["number", (_, value) => numberOf(value) !== undefined],
  ["string", (_, value) => isString(value)],
  ["mapping", (_, value) => isMapping(value)],
  ["iterable", iterable],
  ["sequence", iterable],
  ["callable", (_, value) => isFunction(value)],
  ["odd", (_, value) => Math.abs(integerOf(value, "odd")) % 2 === 1],
  ["even", (_, value) => integerOf(value, "even") % 2 === 0],
  [
    "divisibleby",
    (_, value, other) => integerOf(value, "divisibleby") % integerOf(other, "divisibleby") === 0,
  ],
  ["lower", (rendering, value) => LOWER.test(rendering.marks.plain(display(rendering, value)))],
  ["upper", (rendering, value) => UPPER.test(rendering.marks.plain(display(rendering, value)))],
  [
    "sameas",
    (rendering, value, other) => value.type === other?.type && equal(rendering, value, other),
  ],
  ["in", (rendering, value, other) => contains(rendering, needed(other), value)],
  ["eq", equal],
  ["==", equal],
  ["equalto", equal],
  ["ne", unequal],
  ["!=", unequal],
  ["gt", comparing((order) => order > 0)],
  [">", comparing((order) => order > 0)],
  ["greaterthan", comparing((order) => order > 0)],
  ["ge", comparing((order) => order >= 0)],
  [">=", comparing((order) => order >= 0)],
  ["lt", comparing((order) => order < 0)],
  ["<", comparing((order) => order < 0)],
  ["lessthan", comparing((order) => order < 0)],
  ["le", comparing((order) => order <= 0)],
  ["<=", comparing((order) => order <= 0)],
]);

/**
 * Whether a value is what a test asks for.
 *
 * @throws {Error} Where there is no test of that name.
 */
export function passes(rendering: Rendering, name: string, value: Value, other?: Value): boolean {
  const test = TESTS.get(name);
  if (test === undefined) throw new Error(`there is no test "${name}"`);
  rendering.budget.step();
  return test(rendering, value, other);
}
