import { bind, flag, integer, noMapping } from "./arguments.ts";
import { ignoringCase, type Path, pathOf, pathsOf } from "./attribute_paths.ts";
import { TemplateError, typeError, valueError } from "./errors.ts";
import { plainString } from "./escape.ts";
import { iterate, lengthOf, listOf, pairsOf, sequenceOf } from "./iterate.ts";
import { isNumber } from "./numbers.ts";
import { areEqual, compare, hashOf, operate } from "./operators.ts";
import type { Rendering } from "./rendering.ts";
import { joinTexts } from "./text_functions.ts";
import {
  type Args,
  Dict,
  isString,
  Markup,
  Once,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

/** What stands behind `|`. */
export type Filter = (rendering: Rendering, value: Value, args: Args) => Value;

/** Arguments in the order of the parameters; undefined where one is not given. */
export type Given = readonly (Value | undefined)[];
type Work = (rendering: Rendering, value: Value, given: Given) => Value;

/** Filters by their names: what each does, its parameters, and how many of these have to be given. */
export function declared(
  filters: Readonly<Record<string, readonly [Work, parameters?: string, required?: number]>>,
): [string, Filter][] {
  return Object.entries(filters).map(([name, [work, parameters, required]]) => {
    const names = parameters?.split(" ") ?? [];
    return [
      name,
      (rendering, value, args) => work(rendering, value, bind(name, args, names, required)),
    ];
  });
}

/** The elements in an order; Python asks for the keys first, and so does this. */
function sorted(
  rendering: Rendering,
  items: readonly Value[],
  keyOf: Path,
  reverse: boolean,
): [key: Value, item: Value][] {
  const keyed = items.map((one): [Value, Value] => [keyOf(one), one]);
  const direction = reverse ? -1 : 1;
  return keyed.sort(([a], [b]) => {
    const order = compare(rendering, a, b);
    return Number.isNaN(order) ? 0 : direction * order;
  });
}

function sort(rendering: Rendering, value: Value, [reverse, caseSensitive, path]: Given): Value {
  const keyOf = pathsOf(rendering, path, ignoringCase(rendering, flag(caseSensitive)));
  const items = listOf(rendering, value);
  return sorted(rendering, items, keyOf, flag(reverse)).map(([, one]) => one);
}

function dictsort(
  rendering: Rendering,
  value: Value,
  [caseSensitive, by = "key", reverse]: Given,
): Value {
  const name = isString(by) ? textOf(by) : "";
  if (name !== "key" && name !== "value") throw valueError('dictsort goes by "key" or "value"');
  if (!(value instanceof Dict)) throw noMapping(value);
  const change = ignoringCase(rendering, flag(caseSensitive));
  const keyOf = (pair: Value) => change((pair as Tuple).items[name === "key" ? 0 : 1]);
  return sorted(rendering, pairsOf(rendering, value), keyOf, flag(reverse)).map(([, one]) => one);
}

function unique(rendering: Rendering, value: Value, [caseSensitive, path]: Given): Value {
  const find = pathOf(rendering, path);
  const change = ignoringCase(rendering, flag(caseSensitive));
  return once(function* () {
    const seen = new Set<unknown>();
    for (const one of iterate(rendering, value)) {
      rendering.budget.step();
      const hash = hashOf(rendering, change(find(one)));
      if (seen.has(hash)) continue;
      rendering.budget.list(1);
      seen.add(hash);
      yield one;
    }
  });
}

export function once(generate: () => Generator<Value>): Once {
  return new Once(generate());
}

function join(rendering: Rendering, value: Value, [by = "", path]: Given): Value {
  const find = pathOf(rendering, path);
  const texts: string[] = [];
  for (const one of iterate(rendering, value)) {
    rendering.budget.step();
    texts.push(plainString(rendering, find(one)));
    rendering.budget.element(texts.length);
  }
  return joinTexts(rendering, texts, plainString(rendering, by));
}

function extreme(name: string, direction: 1 | -1): Work {
  return (rendering, value, [caseSensitive, path]) => {
    const find = pathOf(rendering, path);
    const change = ignoringCase(rendering, flag(caseSensitive));
    let best: [Value, Value] | undefined;
    for (const one of iterate(rendering, value)) {
      const key = change(find(one));
      if (best === undefined || direction * compare(rendering, key, best[0]) < 0) best = [key, one];
    }
    return best === undefined ? new Undefined(`${name} of nothing is not there`) : best[1];
  };
}

function sum(rendering: Rendering, value: Value, [path, start = 0]: Given): Value {
  if (isString(start)) throw typeError("sum adds no strings");
  const find = pathOf(rendering, path);
  let total: Value = start;
  for (const one of iterate(rendering, value)) {
    rendering.budget.step();
    total = operate(rendering, "+", total, find(one));
  }
  return total;
}

function batch(rendering: Rendering, value: Value, [count, fill = null]: Given): Value {
  const size = isNumber(count) ? Number(count instanceof Object ? NaN : count) : NaN;
  return once(function* () {
    let part: Value[] = [];
    for (const one of iterate(rendering, value)) {
      rendering.budget.step();
      if (part.length === size) {
        yield rendering.list(part);
        part = [];
      }
      part.push(one);
      rendering.budget.element(part.length);
    }
    if (part.length === 0) return;
    if (fill !== null) {
      if (Number.isNaN(size)) throw typeError("batch wants a whole number");
      rendering.budget.list(Math.max(size, 0));
      while (part.length < size) part.push(fill);
    }
    yield part;
  });
}

function slices(rendering: Rendering, value: Value, [given, fill = null]: Given): Value {
  return once(function* () {
    const items = listOf(rendering, value);
    const count = integer(given, 1, "slice");
    if (count === 0) throw new TemplateError("other", "division by zero");
    const size = Math.floor(items.length / count);
    const longer = items.length - count * size;
    let offset = 0;
    for (let i = 0; i < count; i++) {
      rendering.budget.step();
      const start = offset + i * size;
      if (i < longer) offset++;
      const part = rendering.list(items.slice(start, offset + (i + 1) * size));
      if (fill !== null && i >= longer) part.push(fill);
      yield part;
    }
  });
}

function groupby(
  rendering: Rendering,
  value: Value,
  [path, fallback, caseSensitive]: Given,
): Value {
  const find = pathOf(rendering, path, fallback);
  const change = ignoringCase(rendering, flag(caseSensitive));
  const items = sorted(rendering, listOf(rendering, value), (one) => change(find(one)), false);
  const groups: { key: Value; items: Value[] }[] = [];
  for (const [key, one] of items) {
    const last = groups.at(-1);
    if (last !== undefined && areEqual(rendering, last.key, key)) last.items.push(one);
    else groups.push({ key, items: [one] });
  }
  return rendering.list(groups.map((group) => {
    const key = flag(caseSensitive) ? group.key : find(group.items[0]);
    return new Tuple([key, rendering.list(group.items)], true);
  }));
}

function first(rendering: Rendering, value: Value): Value {
  for (const one of iterate(rendering, value)) return one;
  return new Undefined("there is no first item");
}

function last(rendering: Rendering, value: Value): Value {
  const items = sequenceOf(rendering, value);
  if (items === undefined) throw typeError(`${typeName(value)} cannot be gone over backwards`);
  if (items.length === 0) return new Undefined("there is no last item");
  const found = items[items.length - 1];
  // Python reverses a text by its characters, which are as safe as HTML as the text is.
  return value instanceof Markup ? new Markup(found as string) : found;
}

function reverse(rendering: Rendering, value: Value): Value {
  if (isString(value)) {
    const text = textOf(value);
    rendering.budget.list(text.length);
    return rendering.like(value, rendering.marks.characters(text).reverse().join(""));
  }
  const items = listOf(rendering, value).reverse();
  // What has an order is gone over backwards; of other things Jinja makes a list.
  if (value instanceof Once) return items;
  return new Once(items[Symbol.iterator](), "reverse iterator");
}

function items(rendering: Rendering, value: Value): Value {
  return once(function* () {
    if (value instanceof Undefined) return;
    if (!(value instanceof Dict)) throw noMapping(value);
    yield* pairsOf(rendering, value);
  });
}

export const LIST_FILTERS = declared({
  list: [listOf],
  first: [first],
  last: [last],
  items: [items],
  length: [lengthOf],
  count: [lengthOf],
  reverse: [reverse],
  sort: [sort, "reverse case_sensitive attribute"],
  dictsort: [dictsort, "case_sensitive by reverse"],
  unique: [unique, "case_sensitive attribute"],
  join: [join, "d attribute"],
  min: [extreme("min", 1), "case_sensitive attribute"],
  max: [extreme("max", -1), "case_sensitive attribute"],
  sum: [sum, "attribute start"],
  batch: [batch, "linecount fill_with", 1],
  slice: [slices, "slices fill_with", 1],
  groupby: [groupby, "attribute default case_sensitive", 1],
});
