import { overflowError, typeError, undefinedError } from "./errors.ts";
import { escapeText } from "./escape.ts";
import { formatPercent } from "./format_percent.ts";
import { iterate } from "./iterate.ts";
import { calculate, compareNumbers, integerOf, isNumber } from "./numbers.ts";
import { ELEMENT, type Rendering } from "./rendering.ts";
import { firstPlace } from "./text_search.ts";
import {
  Dict,
  DictView,
  Float,
  type Hash,
  isInteger,
  isString,
  Markup,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

/**
 * What a value finds an entry of a mapping by.
 *
 * @throws {TemplateError} For lists and mappings.
 */
export function hashOf(rendering: Rendering, value: Value): Hash {
  if (isString(value)) {
    const text = textOf(value);
    rendering.budget.scan(text.length);
    return rendering.marks.plain(text);
  }
  if (typeof value === "boolean") return Number(value);
  if (value === null || typeof value !== "object") return value;
  if (value instanceof Float) {
    const { value: number } = value;
    return Number.isInteger(number) && !Number.isSafeInteger(number) ? BigInt(number) : number + 0;
  }
  if (value instanceof Undefined) return Undefined;
  if (value instanceof Tuple) {
    rendering.budget.scan(ELEMENT * value.items.length);
    const parts = value.items.map((item) => {
      const hash = hashOf(rendering, item);
      if (typeof hash === "object" && hash !== null) throw typeError("a tuple of things is no key");
      const text = String(hash);
      return `${typeof hash}${text.length}:${text}`;
    });
    return rendering.string("\u{10ffff}" + parts.join());
  }
  const isView = value instanceof DictView && value.kind !== "values";
  if (Array.isArray(value) || value instanceof Dict || isView) {
    throw typeError(`${typeName(value)} is no key of a mapping`);
  }
  return value;
}

/** Whether two values are equal, as Python has it. */
export function areEqual(rendering: Rendering, a: Value, b: Value): boolean {
  return rendering.budget.inside(() => compareEqual(rendering, a, b));
}

function compareEqual(rendering: Rendering, a: Value, b: Value): boolean {
  if (isString(a)) {
    if (!isString(b)) return false;
    const { marks } = rendering;
    const [s, t] = [textOf(a), textOf(b)];
    rendering.budget.scan(s.length + t.length);
    return s === t || marks.plain(s) === marks.plain(t);
  }
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0;
  if (Array.isArray(a)) return Array.isArray(b) && equalItems(rendering, a, b);
  if (a instanceof Tuple) return b instanceof Tuple && equalItems(rendering, a.items, b.items);
  if (a instanceof Undefined) return b instanceof Undefined;
  if (a instanceof Dict) {
    if (!(b instanceof Dict) || a.size !== b.size) return false;
    for (const [hash] of a.hashes()) {
      const other = b.get(hash);
      if (other === undefined || !areEqual(rendering, a.get(hash)!, other)) return false;
    }
    return true;
  }
  if (a instanceof Range) {
    return b instanceof Range && a.length === b.length &&
      (a.length === 0 || a.start === b.start && (a.length === 1 || a.step === b.step));
  }
  if (a instanceof DictView && b instanceof DictView && a.kind !== "values") {
    const [x, y] = [[...iterate(rendering, a)], [...iterate(rendering, b)]];
    return b.kind !== "values" && x.length === y.length &&
      x.every((item) => y.some((other) => areEqual(rendering, item, other)));
  }
  return a === b;
}

function equalItems(rendering: Rendering, a: readonly Value[], b: readonly Value[]): boolean {
  return a.length === b.length &&
    a.every((item, i) => isSame(rendering, item, b[i]));
}

/** Whether two elements are one and the same, or equal. */
export function isSame(rendering: Rendering, a: Value, b: Value): boolean {
  rendering.budget.scan(ELEMENT + (typeof a === "string" ? a.length : 0));
  return a === b || areEqual(rendering, a, b);
}

/** Below 0 where `a` comes first, above 0 where `b` does; NaN where neither does. */
export function compare(rendering: Rendering, a: Value, b: Value): number {
  return rendering.budget.inside(() => compareOrder(rendering, a, b));
}

function compareOrder(rendering: Rendering, a: Value, b: Value): number {
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (isString(a) && isString(b)) {
    const { marks, budget } = rendering;
    const [s, t] = [textOf(a), textOf(b)];
    budget.scan(s.length + t.length);
    return compareTexts(marks.plain(s), marks.plain(t));
  }
  if (Array.isArray(a) && Array.isArray(b)) return compareItems(rendering, a, b);
  if (a instanceof Tuple && b instanceof Tuple) return compareItems(rendering, a.items, b.items);
  for (const one of [a, b]) if (one instanceof Undefined) throw undefinedError(one);
  throw typeError(`${typeName(a)} and ${typeName(b)} have no order`);
}

/** By code points, as Python compares; JavaScript compares halves of surrogate pairs. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let i = 0;
  while (i < length && a[i] === b[i]) i++;
  if (i === length) return a.length - b.length;
  const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
  const isSurrogate = (code: number) => code >= 0xd800 && code < 0xe000;
  if (isSurrogate(x) !== isSurrogate(y)) return isSurrogate(x) ? 1 : -1;
  return x - y;
}

function compareItems(rendering: Rendering, a: readonly Value[], b: readonly Value[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (isSame(rendering, a[i], b[i])) continue;
    return compare(rendering, a[i], b[i]);
  }
  return a.length - b.length;
}

export function contains(rendering: Rendering, container: Value, item: Value): boolean {
  const { marks } = rendering;
  if (isString(container)) {
    if (!isString(item)) throw typeError(`a string has no ${typeName(item)} in it`);
    const [text, wanted] = [textOf(container), textOf(item)];
    rendering.budget.search(text, wanted);
    return firstPlace(rendering.budget, marks.plain(text), marks.plain(wanted)) >= 0;
  }
  if (container instanceof Dict) return container.has(hashOf(rendering, item));
  if (container instanceof DictView && container.kind === "keys") {
    return container.dict.has(hashOf(rendering, item));
  }
  if (container instanceof Range) {
    if (!isNumber(item)) return false;
    const place = (Number(item instanceof Float ? item.value : item) - container.start) /
      container.step;
    return Number.isInteger(place) && place >= 0 && place < container.length;
  }
  for (const one of iterate(rendering, container)) {
    if (isSame(rendering, one, item)) return true;
  }
  return false;
}

export const COMPARISONS: Readonly<
  Record<string, (rendering: Rendering, a: Value, b: Value) => boolean>
> = {
  "==": areEqual,
  "!=": (rendering, a, b) => !areEqual(rendering, a, b),
  "in": (rendering, a, b) => contains(rendering, b, a),
  "not in": (rendering, a, b) => !contains(rendering, b, a),
  "<": (rendering, a, b) => compare(rendering, a, b) < 0,
  "<=": (rendering, a, b) => compare(rendering, a, b) <= 0,
  ">": (rendering, a, b) => compare(rendering, a, b) > 0,
  ">=": (rendering, a, b) => compare(rendering, a, b) >= 0,
};

/**
 * An operation of arithmetic, or what stands for one with strings and lists.
 *
 * @throws {TemplateError} Where Python would.
 */
export function operate(rendering: Rendering, operator: string, a: Value, b: Value): Value {
  if (isNumber(a) && isNumber(b)) {
    const isLong = typeof a === "bigint" || typeof b === "bigint" || operator === "**";
    if (isLong) rendering.budget.uncounted();
    return calculate(operator, a, b);
  }
  switch (operator) {
    case "+": {
      const sum = add(rendering, a, b);
      if (sum !== undefined) return sum;
      break;
    }
    case "*":
      if (isSequence(a) && (isInteger(b) || typeof b === "boolean")) {
        return repeat(rendering, a, Number(integerOf(b)));
      }
      if (isSequence(b) && (isInteger(a) || typeof a === "boolean")) {
        return repeat(rendering, b, Number(integerOf(a)));
      }
      break;
    case "%":
      if (!isString(a)) break;
      rendering.budget.uncounted();
      return formatPercent(rendering, a, b);
    case "-":
      if (a instanceof DictView || b instanceof DictView) {
        throw typeError("differences of dict views are not supported here");
      }
      break;
  }
  for (const one of [a, b]) if (one instanceof Undefined) throw undefinedError(one);
  throw typeError(`${typeName(a)} ${operator} ${typeName(b)} is not possible`);
}

/** A text as it joins one that is safe as HTML: escaped, unless it is safe itself. */
function escaped(rendering: Rendering, value: string | Markup): string {
  return value instanceof Markup ? value.text : escapeText(rendering, value);
}

function add(rendering: Rendering, a: Value, b: Value): Value | undefined {
  if (isString(a) && isString(b)) {
    const isSafe = a instanceof Markup || b instanceof Markup;
    const [s, t] = isSafe
      ? [escaped(rendering, a), escaped(rendering, b)]
      : [a as string, b as string];
    rendering.budget.allow(s.length + t.length);
    const text = rendering.string(s + t);
    return isSafe ? new Markup(text) : text;
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    rendering.budget.list(a.length + b.length);
    return a.concat(b);
  }
  if (a instanceof Tuple && b instanceof Tuple) {
    rendering.budget.list(a.items.length + b.items.length);
    return new Tuple(a.items.concat(b.items));
  }
}

function isSequence(value: Value): value is string | Markup | Value[] | Tuple {
  return isString(value) || Array.isArray(value) || value instanceof Tuple;
}

function repeat(
  rendering: Rendering,
  value: string | Markup | Value[] | Tuple,
  factor: number,
): Value {
  if (Math.abs(factor) >= 2 ** 63) throw overflowError(`${factor} times is too often`);
  const count = Math.max(0, factor);
  if (isString(value)) {
    const text = textOf(value);
    rendering.budget.allow(text.length * count);
    return rendering.like(value, text === "" ? "" : text.repeat(count));
  }
  const items = value instanceof Tuple ? value.items : value;
  rendering.budget.list(items.length * count);
  const repeated = items.length === 0 ? [] : Array.from({ length: count }, () => items).flat();
  return value instanceof Tuple ? new Tuple(repeated) : repeated;
}
