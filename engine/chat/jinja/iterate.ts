import { typeError, undefinedError } from "./errors.ts";
import type { Rendering } from "./rendering.ts";
import {
  Dict,
  DictView,
  isString,
  Once,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

/**
 * What a loop goes over: elements, keys of a mapping, characters; nothing where there is no value. What can be gone
 * over once is used up by it.
 *
 * @throws {TemplateError} For what has no elements.
 */
export function iterate(rendering: Rendering, value: Value): Iterable<Value> {
  if (Array.isArray(value)) return value;
  const items = sequenceOf(rendering, value);
  if (items !== undefined) return items;
  if (value instanceof Once) return value;
  throw typeError(`${typeName(value)} has no elements`);
}

export function isIterable(value: Value): boolean {
  if (Array.isArray(value) || isString(value)) return true;
  return [Tuple, Dict, DictView, Range, Once, Undefined].some((one) => value instanceof one);
}

/** The elements of what has a length and an order; undefined for other values. */
export function sequenceOf(rendering: Rendering, value: Value): readonly Value[] | undefined {
  if (Array.isArray(value)) return value;
  if (value instanceof Tuple) return value.items;
  if (isString(value)) {
    const text = textOf(value);
    rendering.budget.list(text.length);
    return rendering.marks.characters(text).map((one) => rendering.string(one));
  }
  if (value instanceof Dict) {
    rendering.budget.list(value.size);
    return Array.from(value.entries(), ([key]) => key);
  }
  if (value instanceof DictView) return viewed(rendering, value);
  if (value instanceof Range) {
    rendering.budget.list(value.length);
    return Array.from({ length: value.length }, (_, i) => value.at(i));
  }
  return value instanceof Undefined ? [] : undefined;
}

/** A new list of the elements. */
export function listOf(rendering: Rendering, value: Value): Value[] {
  const items = sequenceOf(rendering, value);
  if (items !== undefined) return rendering.list([...items]);
  const list: Value[] = [];
  for (const item of iterate(rendering, value)) {
    rendering.budget.step();
    list.push(item);
    rendering.budget.element(list.length);
  }
  return list;
}

function viewed(rendering: Rendering, { dict, kind }: DictView): Value[] {
  rendering.budget.list(dict.size);
  return Array.from(
    dict.entries(),
    ([key, value]) =>
      kind === "keys" ? key : kind === "values" ? value : rendering.tuple([key, value]),
  );
}

export function pairsOf(rendering: Rendering, dict: Dict): Value[] {
  return viewed(rendering, new DictView(dict, "items"));
}

/** How many elements a value has, as Python's `len` counts. */
export function lengthOf(rendering: Rendering, value: Value): number {
  if (isString(value)) {
    const text = textOf(value);
    rendering.budget.scan(text.length);
    return rendering.marks.length(text);
  }
  if (Array.isArray(value) || value instanceof Range) return value.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof Tuple) return value.items.length;
  if (value instanceof DictView) return value.dict.size;
  if (value instanceof Undefined) return 0;
  if (value !== null && typeof value === "object" && "length" in value) {
    return value.length as number;
  }
  throw typeError(`${typeName(value)} has no length`);
}

/** An element by its place, from the end where that is below 0; undefined where there is none. */
export function elementAt(rendering: Rendering, value: Value, place: number): Value | undefined {
  if (Array.isArray(value)) return value.at(place);
  if (value instanceof Tuple) return value.items.at(place);
  if (value instanceof Range) {
    const from = place < 0 ? place + value.length : place;
    return from >= 0 && from < value.length ? value.at(from) : undefined;
  }
  if (isString(value)) {
    const { marks, budget } = rendering;
    const text = textOf(value);
    budget.scan(text.length);
    const from = place < 0 ? place + marks.length(text) : place;
    const character = from < 0 ? "" : marks.slice(text, from, from + 1);
    return character === "" ? undefined : rendering.like(value, character);
  }
  if (value instanceof Undefined) throw undefinedError(value);
  throw typeError(`${typeName(value)} has no places`);
}
