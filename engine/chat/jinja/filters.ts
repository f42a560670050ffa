import {
  Arguments,
  isFloat,
  isList,
  isMapping,
  isNone,
  isString,
  isTrue,
  isUndefined,
  mapOf,
  newBoolean,
  newFloat,
  newInteger,
  numberOf,
  UNDEFINED,
  type Value,
} from "./library.ts";
import { formatPercent } from "./format.ts";
import { attributeOf, iterate, LIST_FILTERS } from "./list_filters.ts";
import { typeName } from "./operators.ts";
import type { Rendering } from "./rendering.ts";
import { stringMethod } from "./string_methods.ts";
import { replaceText } from "./text_functions.ts";
import { display, toJson } from "./write.ts";

/** What stands behind `|`. */
export type Filter = (rendering: Rendering, value: Value, args: Arguments) => Value;

/** A filter that is a method of strings; other values are written as strings first. */
function method(name: string): Filter {
  return (rendering, value, args) => {
    const text = isString(value) ? value : rendering.string(display(rendering, value));
    return stringMethod(rendering, text, name)!(args);
  };
}

/** A number out of a text's start, as Python's `int` and `float` read a whole one. */
function parseNumber(rendering: Rendering, value: Value, args: Arguments, whole: boolean): Value {
  const make = whole ? newInteger : newFloat;
  const fallback = args.get(0, "default") ?? make(0);
  const number = numberOf(value);
  if (number !== undefined) return make(whole ? Math.trunc(number) : number);
  if (!isString(value)) return fallback;
  const text = rendering.marks.strip(rendering.marks.plain(value.value), "both");
  if (!/^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text)) return fallback;
  return make(whole ? Math.trunc(Number(text)) : Number(text));
}

/** Half to even, as Python's `round`; what is whole stays so, unless it is told which way. */
function round(value: Value, args: Arguments): Value {
  const number = numberOf(value);
  if (number === undefined) throw new Error(`round wants a number, got ${typeName(value)}`);
  const precision = args.integer(0, "precision", 0);
  if (Math.abs(precision) > 300) throw new Error("round wants at most 300 digits");
  const how = args.text(1, "method", "common");
  if (how === "common" && !isFloat(value) && precision >= 0) return newInteger(number);
  const factor = 10 ** precision;
  const scaled = number * factor;
  const floor = Math.floor(scaled);
  const even = scaled - floor === 0.5 ? floor + (floor % 2 === 0 ? 0 : 1) : Math.round(scaled);
  const rounded = how === "ceil" ? Math.ceil(scaled) : how === "floor" ? floor : even;
  return newFloat(rounded / factor);
}

function indent(rendering: Rendering, value: Value, args: Arguments): Value {
  const width = args.get(0, "width");
  const by = isString(width)
    ? width.value
    : " ".repeat(counted(rendering, args.integer(0, "width", 4)));
  const [first, blank] = [args.flag(1, "first"), args.flag(2, "blank")];
  const lines = display(rendering, value).split("\n");
  rendering.budget.list(lines.length);
  rendering.budget.allow(lines.length * (by.length + 1));
  const { marks } = rendering;
  return rendering.string(
    lines.map((line, i) =>
      i === 0 ? (first ? by + line : line) : blank || marks.plain(line) !== "" ? by + line : line
    ).join("\n"),
  );
}

/** A number of characters that is about to be made. */
function counted(rendering: Rendering, length: number): number {
  rendering.budget.allow(Math.max(0, length));
  return Math.max(0, length);
}

function tojson(rendering: Rendering, value: Value, args: Arguments): Value {
  const given = args.named.get("indent") ?? args.get(1, "indent");
  const indentation = given === undefined || isNone(given)
    ? undefined
    : isString(given)
    ? given.value
    : " ".repeat(counted(rendering, numberOf(given) ?? 0));
  const separators = args.get(2, "separators");
  const pair = isList(separators)
    ? separators.value.map((one: Value) => isString(one) ? one.value : "")
    : undefined;
  if (pair !== undefined && pair.length !== 2) throw new Error("separators must be two strings");
  const json = toJson(rendering, value, {
    indent: indentation,
    itemSeparator: pair?.[0] ?? (indentation === undefined ? ", " : ","),
    keySeparator: pair?.[1] ?? ": ",
    ensureAscii: args.flag(0, "ensure_ascii"),
    sortKeys: args.flag(3, "sort_keys"),
  });
  return rendering.string(json);
}

function truncate(rendering: Rendering, value: Value, args: Arguments): Value {
  const { marks } = rendering;
  const text = display(rendering, value);
  const length = args.integer(0, "length", 255);
  const end = args.text(2, "end", "...");
  const leeway = args.integer(3, "leeway", 5);
  if (marks.length(text) <= length + leeway) return rendering.string(text);
  const kept = marks.characters(text).slice(0, Math.max(0, length - end.length)).join("");
  if (args.flag(1, "killwords")) return rendering.string(kept + end);
  const space = kept.lastIndexOf(" ");
  return rendering.string((space < 0 ? kept : kept.slice(0, space)) + end);
}

const ESCAPES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

function escape(rendering: Rendering, value: Value): Value {
  const text = display(rendering, value);
  rendering.budget.allow(5 * text.length);
  return rendering.string(text.replace(/[&<>"']/g, (character) => ESCAPES[character]));
}

function length(rendering: Rendering, value: Value): Value {
  if (isString(value)) return newInteger(rendering.marks.length(value.value));
  if (isList(value)) return newInteger(value.value.length);
  if (isMapping(value)) return newInteger(mapOf(value).size);
  if (isUndefined(value)) return newInteger(0);
  throw new Error(`${typeName(value)} has no length`);
}

function fallback(_: Rendering, value: Value, args: Arguments): Value {
  const missing = isUndefined(value) || (args.flag(1, "boolean") && !isTrue(value));
  if (!missing) return value;
  return args.get(0, "default_value") ?? UNDEFINED;
}

/** Jinja's `title` begins words behind white space and brackets alone, other than Python's. */
function title(rendering: Rendering, value: Value): Value {
  const text = display(rendering, value);
  rendering.budget.allow(3 * text.length);
  const { marks } = rendering;
  const words = marks.plain(text).replace(
    /([^-\s({[<])([^-\s({[<]*)/gu,
    (_, first, rest) => first.toUpperCase() + rest.toLowerCase(),
  );
  return rendering.string(marks.has(text) ? marks.protect(words) : words);
}

function reverse(rendering: Rendering, value: Value): Value {
  if (isString(value)) {
    const characters = rendering.marks.characters(value.value);
    rendering.budget.list(characters.length);
    return rendering.string(characters.reverse().join(""));
  }
  const items = iterate(rendering, value);
  rendering.budget.list(items.length);
  return rendering.list([...items].reverse());
}

function absolute(value: Value): Value {
  const number = numberOf(value);
  if (number === undefined) throw new Error(`abs wants a number, got ${typeName(value)}`);
  return isFloat(value) ? newFloat(Math.abs(number)) : newInteger(Math.abs(number));
}

/** `map(attribute=...)`, or a filter by name for every element. */
function map(rendering: Rendering, value: Value, args: Arguments): Value {
  if (!isTrue(value)) return rendering.list([]);
  const attribute = args.named.get("attribute");
  if (attribute !== undefined) {
    const missing = args.named.get("default");
    const found = iterate(rendering, value).map((item) => {
      const one = attributeOf(rendering, item, attribute);
      return isUndefined(one) && missing !== undefined ? missing : one;
    });
    return rendering.list(found);
  }
  const [name, ...rest] = args.positional;
  if (!isString(name)) throw new Error("map wants an attribute or a filter's name");
  const given = new Arguments(rest, args.named);
  return rendering.list(
    iterate(rendering, value).map((item) => applyFilter(rendering, name.value, item, given)),
  );
}

const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ...LIST_FILTERS,
  ["map", map],
  ["safe", (_, value) => value],
  ["trim", method("strip")],
  ["upper", method("upper")],
  ["lower", method("lower")],
  ["title", title],
  ["capitalize", method("capitalize")],
  ["center", (rendering, value, args) => {
    const width = newInteger(args.integer(0, "width", 80));
    const text = rendering.string(display(rendering, value));
    return stringMethod(rendering, text, "center")!(new Arguments([width]));
  }],
  ["replace", (rendering, value, args) => {
    const [wanted, by] = [args.text(0, "old"), args.text(1, "new")];
    if (wanted === undefined || by === undefined) throw new Error("replace wants two strings");
    const text = display(rendering, value);
    return rendering.string(replaceText(rendering, text, wanted, by, args.integer(2, "count", -1)));
  }],
  [
    "string",
    (rendering, value) => isString(value) ? value : rendering.string(display(rendering, value)),
  ],
  ["length", length],
  ["count", length],
  ["default", fallback],
  ["d", fallback],
  ["int", (rendering, value, args) => parseNumber(rendering, value, args, true)],
  ["float", (rendering, value, args) => parseNumber(rendering, value, args, false)],
  ["bool", (_, value) => newBoolean(isTrue(value))],
  ["abs", (_, value) => absolute(value)],
  ["round", (_, value, args) => round(value, args)],
  ["indent", indent],
  ["tojson", tojson],
  ["truncate", truncate],
  ["escape", escape],
  ["e", escape],
  ["forceescape", escape],
  ["reverse", reverse],
  ["format", (rendering, value, args) => {
    const format = display(rendering, value);
    return rendering.string(
      formatPercent(rendering, format, rendering.tuple([...args.positional])),
    );
  }],
  ["wordcount", (rendering, value) => {
    const words = rendering.marks.plain(display(rendering, value)).match(/[\p{L}\p{N}_]+/gu) ?? [];
    return newInteger(words.length);
  }],
  ["urlencode", (rendering, value) => {
    const text = rendering.marks.plain(display(rendering, value)).toWellFormed();
    rendering.budget.allow(9 * text.length);
    return rendering.string(encodeURIComponent(text).replace(/%2F/g, "/"));
  }],
]);

/**
 * What a filter makes of a value.
 *
 * @throws {Error} Where there is no filter of that name, or what it throws.
 */
export function applyFilter(
  rendering: Rendering,
  name: string,
  value: Value,
  args: Arguments,
): Value {
  const filter = FILTERS.get(name);
  if (filter === undefined) throw new Error(`there is no filter "${name}"`);
  rendering.budget.step();
  return filter(rendering, value, args);
}
