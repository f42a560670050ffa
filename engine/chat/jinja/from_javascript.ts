import { JsonNumber } from "../../json/mod.ts";
import { whole } from "./numbers.ts";
import type { Rendering } from "./rendering.ts";
import { Dict, Float, Undefined, type Value } from "./values.ts";

/**
 * A value of a template out of one of JavaScript, as JSON has them. Own properties alone are taken over,
 * into maps, so that no name leads to what JavaScript itself has. Members keep the order in which the object lists
 * them, and a number is an integer or a float by how it is written, as in Python.
 */
export function fromJavaScript(rendering: Rendering, value: unknown): Value {
  switch (typeof value) {
    case "string":
      return rendering.string(value);
    case "boolean":
      return value;
    case "number":
      return numberValue(value);
    case "bigint":
      return whole(value);
    case "undefined":
      return new Undefined("a variable has no value");
    case "object":
      break;
    default:
      throw new Error(`a template takes no ${typeof value}`);
  }
  if (value === null) return null;
  if (value instanceof JsonNumber) {
    return value.isInteger ? integerOf(value) : new Float(value.value);
  }
  rendering.budget.enter();
  const found = Array.isArray(value)
    ? rendering.list(value.map((item) => fromJavaScript(rendering, item)))
    : mapping(rendering, Object.entries(value));
  rendering.budget.leave();
  return found;
}

function mapping(rendering: Rendering, entries: readonly [string, unknown][]): Dict {
  rendering.budget.list(entries.length);
  const dict = new Dict();
  for (const [name, item] of entries) {
    dict.set(rendering.marks.plain(name), name, fromJavaScript(rendering, item));
  }
  return dict;
}

function numberValue(value: number): Value {
  if (Number.isSafeInteger(value)) return value + 0;
  return Number.isInteger(value) ? BigInt(value) : new Float(value);
}

/** The digits that an integer of a request may have; Python reads as many. */
const MOST_DIGITS = 4300;

function integerOf(value: JsonNumber): number | bigint {
  if (Number.isSafeInteger(value.value)) return value.value + 0;
  const digits = String(value);
  // To read them takes quadratic time.
  if (digits.length > MOST_DIGITS) {
    throw new Error(`a number has ${digits.length} digits; at most ${MOST_DIGITS} can be written`);
  }
  return whole(BigInt(digits));
}
