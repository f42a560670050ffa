import {
  isBoolean,
  isFloat,
  isList,
  isMapping,
  isNone,
  isNumber,
  isString,
  isTuple,
  isUndefined,
  type Key,
  mapOf,
  newBoolean,
  newFloat,
  newInteger,
  type Value,
} from "./library.ts";
import { formatPercent } from "./format.ts";
import type { Rendering } from "./rendering.ts";
import { display } from "./write.ts";

/** A number, or a boolean, which Python counts as one. */
export function numberOf(value: Value): number | undefined {
  if (isNumber(value)) return value.value;
  return isBoolean(value) ? Number(value.value) : undefined;
}

/** What a value finds an entry of a mapping by. */
export function keyOf(rendering: Rendering, value: Value): Key {
  if (isString(value)) return rendering.marks.plain(value.value);
  const number = numberOf(value);
  if (number === undefined) throw new Error(`${typeName(value)} is no key of a mapping`);
  return number;
}

/** Whether two values are equal, as Python has it. */
export function areEqual(rendering: Rendering, a: Value, b: Value): boolean {
  rendering.budget.enter();
  try {
    if (isString(a) && isString(b)) {
      const { marks } = rendering;
      return a.value === b.value || marks.plain(a.value) === marks.plain(b.value);
    }
    const number = numberOf(a);
    if (number !== undefined) return number === numberOf(b);
    if (isNone(a)) return isNone(b);
    if (isUndefined(a)) return isUndefined(b);
    if (isList(a)) {
      return isList(b) && isTuple(a) === isTuple(b) && a.value.length === b.value.length &&
        a.value.every((item, i) => areEqual(rendering, item, b.value[i]));
    }
    if (isMapping(a)) {
      return isMapping(b) && mapOf(a).size === mapOf(b).size &&
        [...mapOf(a)].every(([key, item]) => {
          const other = mapOf(b).get(key);
          return other !== undefined && areEqual(rendering, item, other);
        });
    }
    return a === b;
  } finally {
    rendering.budget.leave();
  }
}

/** Below 0 where `a` comes first, above 0 where `b` does, as Python orders numbers, strings and lists. */
export function compare(rendering: Rendering, a: Value, b: Value): number {
  rendering.budget.enter();
  try {
    const [x, y] = [numberOf(a), numberOf(b)];
    if (x !== undefined && y !== undefined) return x - y;
    if (isString(a) && isString(b)) {
      const [s, t] = [rendering.marks.plain(a.value), rendering.marks.plain(b.value)];
      return s < t ? -1 : s > t ? 1 : 0;
    }
    if (isList(a) && isList(b)) {
      for (let i = 0; i < Math.min(a.value.length, b.value.length); i++) {
        const order = compare(rendering, a.value[i], b.value[i]);
        if (order !== 0) return order;
      }
      return a.value.length - b.value.length;
    }
    throw new Error(`${typeName(a)} and ${typeName(b)} have no order`);
  } finally {
    rendering.budget.leave();
  }
}

/** Whether `container` has `item` in it. */
export function contains(rendering: Rendering, container: Value, item: Value): boolean {
  const { marks } = rendering;
  if (isString(container)) {
    if (!isString(item)) throw new Error(`a string has no ${typeName(item)} in it`);
    return marks.plain(container.value).includes(marks.plain(item.value));
  }
  if (isList(container)) return container.value.some((one) => areEqual(rendering, one, item));
  if (isMapping(container)) {
    const isKey = isString(item) || numberOf(item) !== undefined;
    return isKey && mapOf(container).has(keyOf(rendering, item));
  }
  if (isUndefined(container)) return false;
  throw new Error(`${typeName(container)} has nothing in it`);
}

/**
 * A binary operation, but for those that may leave their right side unevaluated.
 *
 * @throws {Error} Where Python would.
 */
export function operate(rendering: Rendering, operator: string, a: Value, b: Value): Value {
  switch (operator) {
    case "==":
      return newBoolean(areEqual(rendering, a, b));
    case "!=":
      return newBoolean(!areEqual(rendering, a, b));
    case "in":
      return newBoolean(contains(rendering, b, a));
    case "not in":
      return newBoolean(!contains(rendering, b, a));
    case "<":
      return newBoolean(compare(rendering, a, b) < 0);
    case "<=":
      return newBoolean(compare(rendering, a, b) <= 0);
    case ">":
      return newBoolean(compare(rendering, a, b) > 0);
    case ">=":
      return newBoolean(compare(rendering, a, b) >= 0);
    case "~":
      return rendering.string(display(rendering, a) + display(rendering, b));
    case "+":
      if (isString(a) && isString(b)) return concatenate(rendering, a.value, b.value);
      if (isList(a) && isList(b) && isTuple(a) === isTuple(b)) {
        rendering.budget.list(a.value.length + b.value.length);
        const items = a.value.concat(b.value);
        return isTuple(a) ? rendering.tuple(items) : rendering.list(items);
      }
      break;
    case "*":
      if (isString(a) || isList(a)) return repeat(rendering, a, b);
      if (isString(b) || isList(b)) return repeat(rendering, b, a);
      break;
    case "%":
      if (isString(a)) return rendering.string(formatPercent(rendering, a.value, b));
      break;
  }
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x === undefined || y === undefined) {
    throw new Error(`${typeName(a)} ${operator} ${typeName(b)} is not possible`);
  }
  return calculate(operator, x, y, isFloat(a) || isFloat(b));
}

function concatenate(rendering: Rendering, a: string, b: string): Value {
  rendering.budget.string(a.length + b.length);
  return rendering.string(a + b);
}

function repeat(rendering: Rendering, value: Value, times: Value): Value {
  const factor = numberOf(times);
  if (factor === undefined || !Number.isInteger(factor)) {
    throw new Error(`${typeName(value)} * ${typeName(times)} is not possible`);
  }
  const count = Math.max(0, factor);
  if (isString(value)) {
    rendering.budget.string(value.value.length * count);
    return rendering.string(value.value.length === 0 ? "" : value.value.repeat(count));
  }
  const items = value.value as Value[];
  rendering.budget.list(items.length * count);
  const repeated = items.length === 0 ? [] : Array.from({ length: count }, () => items).flat();
  return isTuple(value) ? rendering.tuple(repeated) : rendering.list(repeated);
}

function calculate(operator: string, x: number, y: number, float: boolean): Value {
  const result = (value: number) => {
    if (!float && !Number.isFinite(value)) throw new Error(`${x} ${operator} ${y} is too large`);
    return float ? newFloat(value) : newInteger(value);
  };
  if (y === 0 && ["/", "//", "%"].includes(operator)) throw new Error("division by zero");
  switch (operator) {
    case "+":
      return result(x + y);
    case "-":
      return result(x - y);
    case "*":
      return result(x * y);
    case "/":
      return newFloat(x / y);
    case "//":
      return result(Math.floor(x / y));
    case "%":
      // As in Python, what is left has the divisor's sign.
      return result(x - y * Math.floor(x / y));
    case "**":
      return y < 0 ? newFloat(x ** y) : result(x ** y);
  }
  throw new Error(`there is no operator ${operator}`);
}

/** A value's type, for messages. */
export function typeName(value: Value): string {
  return value.type.replace(/Value$/, "").toLowerCase();
}
