import { JsonNumber } from "../../json/json_number.ts";
import {
  FALSE,
  newFloat,
  newInteger,
  newMapping,
  NONE,
  TRUE,
  UNDEFINED,
  type Value,
} from "./library.ts";
import type { Rendering } from "./rendering.ts";

/**
 * A value of a template out of one of JavaScript, as JSON has them. Own properties alone are taken over,
 * into maps, so that no name leads to what JavaScript itself has. Members keep the order in which the object lists
 * them, and a number is an integer or a float by how it is written, as in Python.
 */
export function fromJavaScript(rendering: Rendering, value: unknown): Value {
  rendering.budget.enter();
  try {
    if (value === undefined) return UNDEFINED;
    if (value === null) return NONE;
    if (typeof value === "string") return rendering.string(value);
    if (typeof value === "boolean") return value ? TRUE : FALSE;
    if (typeof value === "number") {
      return Number.isInteger(value) ? newInteger(value) : newFloat(value);
    }
    if (value instanceof JsonNumber) {
      return value.isInteger ? newInteger(integerOf(value)) : newFloat(value.value);
    }
    if (Array.isArray(value)) {
      return rendering.list(value.map((item) => fromJavaScript(rendering, item)));
    }
    if (typeof value !== "object") throw new Error(`a template takes no ${typeof value}`);
    const entries = Object.entries(value);
    rendering.budget.list(entries.length);
    return newMapping(
      new Map(entries.map(([key, item]) => [key, fromJavaScript(rendering, item)])),
    );
  } finally {
    rendering.budget.leave();
  }
}

/** The digits that an integer of a request may have; Python reads as many. */
const MOST_DIGITS = 4300;

function integerOf(value: JsonNumber): number | bigint {
  if (Number.isSafeInteger(value.value)) return value.value;
  const digits = String(value);
  // To read them takes quadratic time.
  if (digits.length > MOST_DIGITS) {
    throw new Error(`a number has ${digits.length} digits; at most ${MOST_DIGITS} can be written`);
  }
  return BigInt(digits);
}
