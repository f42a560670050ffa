import {
  type Arguments,
  isInteger,
  isList,
  isMapping,
  isNamespace,
  isString,
  isTrue,
  isUndefined,
  type Key,
  mapOf,
  newInteger,
  UNDEFINED,
  type Value,
} from "./library.ts";
import { areEqual, compare, operate, typeName } from "./operators.ts";
import type { Rendering } from "./rendering.ts";
import { passes } from "./tests.ts";
import { joinTexts } from "./text_functions.ts";
import { display } from "./write.ts";

/**
 * What a loop goes over: the elements of a list, the keys of a mapping, the characters of a string;
 * nothing where there is no value.
 */
export function iterate(rendering: Rendering, value: Value): readonly Value[] {
  if (isList(value)) return value.value;
  if (isUndefined(value)) return [];
  if (isMapping(value)) {
    rendering.budget.list(mapOf(value).size);
    return [...mapOf(value).keys()].map((key) => keyValue(rendering, key));
  }
  if (isString(value)) {
    rendering.budget.list(value.value.length);
    return rendering.marks.characters(value.value).map((one) => rendering.string(one));
  }
  throw new Error(`${typeName(value)} has no elements`);
}

/** A part of a value: `a`, `a.b`, `0`, as filters name them. */
export function attributeOf(rendering: Rendering, value: Value, attribute: Value): Value {
  if (isInteger(attribute)) {
    return isList(value) ? value.value.at(attribute.value) ?? UNDEFINED : UNDEFINED;
  }
  if (!isString(attribute)) throw new Error("attribute must be a string");
  let part = value;
  for (const name of rendering.marks.plain(attribute.value).split(".")) {
    rendering.budget.step();
    if (isMapping(part) || isNamespace(part)) part = mapOf(part).get(name) ?? UNDEFINED;
    else if (isList(part) && /^\d+$/.test(name)) part = part.value[Number(name)] ?? UNDEFINED;
    else return UNDEFINED;
  }
  return part;
}

type ListFilter = (rendering: Rendering, value: Value, args: Arguments) => Value;

/** Those of the elements that pass a test, or those that do not. */
function selecting(wanted: boolean, byAttribute: boolean): ListFilter {
  return (rendering, value, args) => {
    // As in Jinja, nothing comes of what is false, whatever it is.
    if (!isTrue(value)) return rendering.list([]);
    const [attribute, ...rest] = byAttribute ? args.positional : [UNDEFINED, ...args.positional];
    const [name, other] = rest;
    if (byAttribute && attribute === undefined) throw new Error("an attribute is wanted");
    if (name !== undefined && !isString(name)) throw new Error("a test's name is wanted");
    const selected = iterate(rendering, value).filter((item) => {
      const tested = byAttribute ? attributeOf(rendering, item, attribute) : item;
      const holds = name === undefined
        ? isTrue(tested)
        : passes(rendering, name.value as string, tested, other);
      return holds === wanted;
    });
    return rendering.list(selected);
  };
}

/** How elements are put in order: by an attribute, large letters as small ones unless told. */
function ordering(
  rendering: Rendering,
  attribute: Value | undefined,
  caseSensitive: boolean,
): (a: Value, b: Value) => number {
  const keyOf = (item: Value) => {
    const key = attribute === undefined || attribute.type === "NullValue"
      ? item
      : attributeOf(rendering, item, attribute);
    return isString(key) && !caseSensitive ? rendering.string(key.value.toLowerCase()) : key;
  };
  return (a, b) => compare(rendering, keyOf(a), keyOf(b));
}

function sort(rendering: Rendering, value: Value, args: Arguments): Value {
  const order = ordering(rendering, args.get(2, "attribute"), args.flag(1, "case_sensitive"));
  const direction = args.flag(0, "reverse") ? -1 : 1;
  return rendering.list([...iterate(rendering, value)].sort((a, b) => direction * order(a, b)));
}

function dictsort(rendering: Rendering, value: Value, args: Arguments): Value {
  const by = args.text(1, "by", "key") === "value" ? 1 : 0;
  const order = ordering(rendering, undefined, args.flag(0, "case_sensitive"));
  const direction = args.flag(2, "reverse") ? -1 : 1;
  const pairs = entriesOf(rendering, value);
  return rendering.list(
    pairs.sort((a, b) => direction * order(partOf(a, by), partOf(b, by))),
  );
}

function partOf(pair: Value, place: number): Value {
  return (pair.value as Value[])[place];
}

/** The pairs of a mapping's keys and values. */
export function entriesOf(rendering: Rendering, value: Value): Value[] {
  if (isUndefined(value)) return [];
  if (!isMapping(value)) throw new Error(`${typeName(value)} is no mapping`);
  rendering.budget.list(mapOf(value).size);
  return [...mapOf(value)].map(([key, item]) => rendering.tuple([keyValue(rendering, key), item]));
}

function keyValue(rendering: Rendering, key: Key): Value {
  return typeof key === "number" ? newInteger(key) : rendering.string(key);
}

function unique(rendering: Rendering, value: Value, args: Arguments): Value {
  const caseSensitive = args.flag(0, "case_sensitive");
  const attribute = args.get(1, "attribute");
  const keys: Value[] = [];
  const found: Value[] = [];
  for (const item of iterate(rendering, value)) {
    let key = attribute === undefined ? item : attributeOf(rendering, item, attribute);
    if (isString(key) && !caseSensitive) key = rendering.string(key.value.toLowerCase());
    if (keys.some((other) => areEqual(rendering, key, other))) continue;
    keys.push(key);
    found.push(item);
  }
  return rendering.list(found);
}

function join(rendering: Rendering, value: Value, args: Arguments): Value {
  const attribute = args.get(1, "attribute");
  const texts = iterate(rendering, value).map((item) =>
    display(rendering, attribute === undefined ? item : attributeOf(rendering, item, attribute))
  );
  return joinTexts(rendering, texts, args.text(0, "d", ""));
}

/** The first or the last in order. */
function extreme(direction: 1 | -1): ListFilter {
  return (rendering, value, args) => {
    const order = ordering(rendering, args.get(1, "attribute"), args.flag(0, "case_sensitive"));
    let best: Value | undefined;
    for (const item of iterate(rendering, value)) {
      if (best === undefined || direction * order(item, best) < 0) best = item;
    }
    return best ?? UNDEFINED;
  };
}

function sum(rendering: Rendering, value: Value, args: Arguments): Value {
  const attribute = args.get(0, "attribute");
  let total = args.get(1, "start") ?? newInteger(0);
  for (const item of iterate(rendering, value)) {
    const one = attribute === undefined ? item : attributeOf(rendering, item, attribute);
    total = operate(rendering, "+", total, one);
  }
  return total;
}

function batch(rendering: Rendering, value: Value, args: Arguments): Value {
  const size = args.integer(0, "linecount", 1);
  if (size < 1) throw new Error("batch wants a size of at least 1");
  const fill = args.get(1, "fill_with");
  const items = iterate(rendering, value);
  const batches: Value[] = [];
  for (let at = 0; at < items.length; at += size) {
    const one = items.slice(at, at + size);
    if (fill !== undefined) {
      rendering.budget.list(size);
      while (one.length < size) one.push(fill);
    }
    batches.push(rendering.list(one));
  }
  return rendering.list(batches);
}

/** The filters of lists. */
export const LIST_FILTERS: readonly (readonly [string, ListFilter])[] = [
  ["list", (rendering, value) => rendering.list([...iterate(rendering, value)])],
  ["first", (rendering, value) => iterate(rendering, value)[0] ?? UNDEFINED],
  ["last", (rendering, value) => iterate(rendering, value).at(-1) ?? UNDEFINED],
  ["items", (rendering, value) => rendering.list(entriesOf(rendering, value))],
  ["select", selecting(true, false)],
  ["reject", selecting(false, false)],
  ["selectattr", selecting(true, true)],
  ["rejectattr", selecting(false, true)],
  [
    "attr",
    (rendering, value, args) => attributeOf(rendering, value, args.positional[0] ?? UNDEFINED),
  ],
  ["sort", sort],
  ["dictsort", dictsort],
  ["unique", unique],
  ["join", join],
  ["min", extreme(1)],
  ["max", extreme(-1)],
  ["sum", sum],
  ["batch", batch],
];
