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
 * into maps, so that no name leads to what JavaScript itself has.
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
