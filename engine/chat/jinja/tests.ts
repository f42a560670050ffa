import { bind } from "./arguments.ts";
import { TemplateError, typeError } from "./errors.ts";
import { FILTER_NAMES } from "./filter_names.ts";
import { LOWER, UPPER } from "./letters.ts";
import { areEqual, COMPARISONS, hashOf, operate } from "./operators.ts";
import { isIterable } from "./iterate.ts";
import { isNumber } from "./numbers.ts";
import type { Rendering } from "./rendering.ts";
import {
  type Args,
  Attributed,
  Callable,
  Dict,
  Float,
  isInteger,
  isString,
  Markup,
  Range,
  textOf,
  Tuple,
  Undefined,
  type Value,
} from "./values.ts";
import { LoopContext } from "./loop_context.ts";
import { display } from "./write.ts";

type Test = (rendering: Rendering, value: Value, other: Value) => boolean;

const isSequence = (value: Value) =>
  isString(value) || Array.isArray(value) || value instanceof Tuple || value instanceof Dict ||
  value instanceof Range || value instanceof Undefined;

function isRemainder(rendering: Rendering, value: Value, by: Value, wanted: number): boolean {
  return areEqual(rendering, operate(rendering, "%", value, by), wanted);
}

/** Tests without an argument. */
const PLAIN = new Map<string, (rendering: Rendering, value: Value) => boolean>([
  ["defined", (_, value) => !(value instanceof Undefined)],
  ["undefined", (_, value) => value instanceof Undefined],
  ["none", (_, value) => value === null],
  ["boolean", (_, value) => typeof value === "boolean"],
  ["true", (_, value) => value === true],
  ["false", (_, value) => value === false],
  ["integer", (_, value) => isInteger(value)],
  ["float", (_, value) => value instanceof Float],
  ["number", (_, value) => isNumber(value)],
  ["string", (_, value) => isString(value)],
  ["mapping", (_, value) => value instanceof Dict],
  ["iterable", (_, value) => isIterable(value) || value instanceof LoopContext],
  ["sequence", (_, value) => isSequence(value)],
  // An undefined value has a `__call__`, which fails.
  ["callable", (_, value) => value instanceof Undefined || isCallable(value)],
  ["escaped", (_, value) => value instanceof Markup],
  ["filter", (rendering, value) => FILTER_NAMES.has(hashOf(rendering, value) as string)],
  ["test", (rendering, value) => isTest(hashOf(rendering, value) as string)],
  ["odd", (rendering, value) => isRemainder(rendering, value, 2, 1)],
  ["even", (rendering, value) => isRemainder(rendering, value, 2, 0)],
  ["lower", ({ marks }, value) => LOWER.test(marks.plain(shown(value)))],
  ["upper", ({ marks }, value) => UPPER.test(marks.plain(shown(value)))],
]);

function isCallable(value: Value): boolean {
  return value instanceof Callable &&
    (!(value instanceof Attributed) || value.type !== "Cycler");
}

/** Letters alone matter, and what is no string has those that Python writes. */
function shown(value: Value): string {
  if (isString(value)) return textOf(value);
  if (value === null) return "None";
  return typeof value === "boolean" ? (value ? "True" : "False") : "";
}

/** Tests with one argument. */
const COMPARING: ReadonlyMap<string, Test> = new Map<string, Test>([
  ["divisibleby", (rendering, value, other) => isRemainder(rendering, value, other, 0)],
  // Numbers and texts that are equal count as the same, as small ones are in Python.
  ["sameas", (_, value, other) => value === other],
  ["in", COMPARISONS.in],
  ...Object.entries({
    "==": ["==", "eq", "equalto"],
    "!=": ["!=", "ne"],
    ">": [">", "gt", "greaterthan"],
    ">=": [">=", "ge"],
    "<": ["<", "lt", "lessthan"],
    "<=": ["<=", "le"],
  }).flatMap(([operator, names]) => names.map((name) => [name, COMPARISONS[operator]] as const)),
]);

export const knownTests = (): string[] => [...PLAIN.keys(), ...COMPARING.keys()];

export const isTest = (name: string): boolean => PLAIN.has(name) || COMPARING.has(name);

/**
 * Whether a value is what a test asks for.
 *
 * @throws {Error} Where there is no test of that name.
 */
export function passes(rendering: Rendering, name: string, value: Value, args: Args): boolean {
  rendering.builtin(true, value, args);
  const plain = PLAIN.get(name);
  if (plain !== undefined) {
    bind(name, args, []);
    if ((name === "upper" || name === "lower") && typeof value === "object") {
      return plain(rendering, rendering.string(display(rendering, value)));
    }
    return plain(rendering, value);
  }
  const comparison = COMPARING.get(name);
  if (comparison === undefined) throw new TemplateError("other", `there is no test "${name}"`);
  const [other] = [...args.positional, ...args.named.values()];
  if (args.positional.length + args.named.size !== 1) throw typeError(`${name} wants one value`);
  return comparison(rendering, value, other);
}
