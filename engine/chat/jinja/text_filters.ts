import { flag, integer, noMapping, string, unfit } from "./arguments.ts";
import { TemplateError, typeError, Unsupported, valueError } from "./errors.ts";
import { escapeText, escapeValue, plainString, softString, stripTags } from "./escape.ts";
import { formatPercent } from "./format_percent.ts";
import { isIterable, iterate, lengthOf } from "./iterate.ts";
import { declared, type Filter, type Given } from "./list_filters.ts";
import { compare, operate } from "./operators.ts";
import type { Rendering } from "./rendering.ts";
import { STRING_METHODS } from "./string_methods.ts";
import { replaceText, splitLines } from "./text_functions.ts";
import {
  Args,
  Dict,
  isInteger,
  isString,
  Markup,
  textOf,
  Tuple,
  Undefined,
  type Value,
} from "./values.ts";
import { repr, toJson } from "./write.ts";
import { wrapLine } from "./word_wrap.ts";

/** A method of strings; other values are written as strings first. */
function called(rendering: Rendering, value: Value, name: string, given: Given = []): Value {
  const self = softString(rendering, value);
  const args = new Args(given as readonly Value[]);
  return STRING_METHODS.get(name)!(rendering, textOf(self), args, self);
}

function indent(rendering: Rendering, value: Value, [width = 4, first, blank]: Given): Value {
  if (!isString(value)) throw unfit("indent", "a string", value);
  const spaces = isString(width) ? 0 : Math.max(0, integer(width, 4, "indent"));
  rendering.budget.allow(spaces);
  const by = isString(width) ? textOf(width) : " ".repeat(spaces);
  const { marks } = rendering;
  const lines = splitLines(rendering, textOf(value) + "\n", false);
  rendering.budget.allow(lines.length * (by.length + 1));
  const indented = lines.map((line, i) => {
    if (i === 0) return flag(first) ? by + line : line;
    return flag(blank) || marks.plain(line) !== "" ? by + line : line;
  });
  return rendering.like(value, indented.join("\n"));
}

function replace(rendering: Rendering, value: Value, [old, by, count]: Given): Value {
  const most = count === null ? -1 : integer(count, -1, "replace");
  const text = plainString(rendering, value);
  const [wanted, other] = [plainString(rendering, old!), plainString(rendering, by!)];
  return rendering.string(replaceText(rendering, text, wanted, other, most));
}

/** Jinja's `title` begins words behind white space and brackets alone, other than Python's. */
function title(rendering: Rendering, value: Value): Value {
  const text = plainString(rendering, value);
  rendering.budget.allow(3 * text.length);
  const { marks } = rendering;
  const words = marks.plain(text).replace(
    /([^-\s({[<])([^-\s({[<]*)/gu,
    (_, first, rest) => first.toUpperCase() + rest.toLowerCase(),
  );
  return rendering.string(marks.has(text) ? marks.protect(words) : words);
}

function truncate(
  rendering: Rendering,
  value: Value,
  [given, killwords, ending = "...", slack]: Given,
): Value {
  const { marks } = rendering;
  const length = integer(given, 255, "truncate");
  const leeway = slack === null ? 5 : integer(slack, 5, "truncate");
  const end = string(ending, "truncate");
  const kept = length - marks.length(end);
  if (kept < 0) {
    throw new TemplateError("other", `truncate wants a length of ${end.length} or more`);
  }
  if (leeway < 0) throw new TemplateError("other", "truncate wants a leeway of 0 or more");
  if (lengthOf(rendering, value) <= length + leeway) return value;
  if (!isString(value)) throw unfit("truncate", "a string", value);
  const cut = marks.slice(textOf(value), 0, kept);
  const space = cut.lastIndexOf(" ");
  const text = flag(killwords) || space < 0 ? cut : cut.slice(0, space);
  return operate(rendering, "+", rendering.like(value, text), ending);
}

function tojson(
  rendering: Rendering,
  value: Value,
  [ensureAscii, indentation, separators, sortKeys]: Given,
): Value {
  const indent = indentOf(rendering, indentation);
  let pair: readonly Value[] = [indent === undefined ? ", " : ",", ": "];
  if (separators !== undefined && separators !== null) {
    pair = [...iterate(rendering, separators)];
    if (pair.length !== 2) throw valueError("separators must be two strings");
  }
  const json = toJson(rendering, value, {
    indent,
    itemSeparator: string(pair[0], "tojson"),
    keySeparator: string(pair[1], "tojson"),
    ensureAscii: flag(ensureAscii),
    order: flag(sortKeys) ? (a, b) => compare(rendering, a, b) : undefined,
  });
  return rendering.string(json);
}

function indentOf(rendering: Rendering, value: Value | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (isString(value)) return textOf(value);
  const width = Math.max(0, integer(value, 0, "indent"));
  rendering.budget.allow(width);
  return " ".repeat(width);
}

function urlencode(rendering: Rendering, value: Value): Value {
  const quote = (one: Value, inQuery: boolean) => {
    const text = rendering.marks.plain(plainString(rendering, one)).toWellFormed();
    rendering.budget.allow(9 * text.length);
    const quoted = encodeURIComponent(text).replace(
      /[!'()*]/g,
      (character) => "%" + character.charCodeAt(0).toString(16).toUpperCase(),
    );
    return inQuery ? quoted.replace(/%20/g, "+") : quoted.replace(/%2F/g, "/");
  };
  if (isString(value) || !isIterable(value)) return rendering.string(quote(value, false));
  const pairs: Iterable<Iterable<Value>> = value instanceof Dict
    ? value.entries()
    : Array.from(iterate(rendering, value), (pair) => iterate(rendering, pair));
  const texts = Array.from(pairs, (pair) => {
    rendering.budget.step();
    const [key, item, more] = pair;
    if (key === undefined || item === undefined || more !== undefined) {
      throw valueError("urlencode wants pairs");
    }
    return `${quote(key, true)}=${quote(item, true)}`;
  });
  return rendering.string(texts.join("&"));
}

function wordwrap(
  rendering: Rendering,
  value: Value,
  [width, breakLong, by, breakOnHyphens]: Given,
): Value {
  if (!isString(value)) throw unfit("wordwrap", "a string", value);
  const text = textOf(value);
  const separator = by === undefined || by === null ? "\n" : string(by, "wordwrap");
  const wrapping = {
    width: integer(width, 79, "wordwrap"),
    breakLongWords: flag(breakLong, true),
    breakOnHyphens: flag(breakOnHyphens, true),
  };
  const lines = splitLines(rendering, text, false).map((line) =>
    wrapLine(rendering, line, wrapping).join(separator)
  );
  return rendering.string(lines.join(separator));
}

function xmlattr(rendering: Rendering, value: Value, [autospace]: Given): Value {
  if (!(value instanceof Dict)) throw noMapping(value);
  const texts: string[] = [];
  for (const [key, item] of value.entries()) {
    if (item === null || item instanceof Undefined) continue;
    const name = string(key, "xmlattr");
    if (/[ \t\n\r\f\v/>=]/.test(name)) {
      throw valueError("an attribute's name has no such characters");
    }
    texts.push(`${escapeText(rendering, name)}="${escapeValue(rendering, item).text}"`);
  }
  const text = texts.join(" ");
  return rendering.string(flag(autospace, true) && text !== "" ? " " + text : text);
}

function format(rendering: Rendering, value: Value, { positional, named }: Args): Value {
  if (positional.length > 0 && named.size > 0) {
    throw typeError("format takes values or names, not both");
  }
  const values = named.size > 0 ? Dict.of(named) : new Tuple(positional);
  return formatPercent(rendering, softString(rendering, value), values);
}

/** Python's `pprint`, of what fits into one line. */
function pprint(rendering: Rendering, value: Value): Value {
  const text = repr(rendering, sortedKeys(rendering, value));
  if (rendering.marks.length(text) > 80) throw new Unsupported("pprint of more than 80 characters");
  return rendering.string(text);
}

/** A value with the keys of its mappings in order, as `pprint` writes them. */
function sortedKeys(rendering: Rendering, value: Value): Value {
  return rendering.budget.inside(() => {
    if (Array.isArray(value)) return rendering.list(value.map((one) => sortedKeys(rendering, one)));
    if (value instanceof Tuple) {
      return new Tuple(value.items.map((one) => sortedKeys(rendering, one)));
    }
    if (!(value instanceof Dict)) return value;
    const dict = new Dict();
    const keys = [...value.hashes()];
    const isOrdered = keys.every(([, key]) => isString(key)) ||
      keys.every(([, key]) => isInteger(key));
    if (!isOrdered) throw new Unsupported("pprint of keys of several kinds");
    keys.sort(([, a], [, b]) => compare(rendering, a, b));
    for (const [hash, key] of keys) dict.set(hash, key, sortedKeys(rendering, value.get(hash)!));
    return dict;
  });
}

export const TEXT_FILTERS: readonly (readonly [string, Filter])[] = [
  ["format", format],
  ...declared({
    upper: [(rendering, value) => called(rendering, value, "upper")],
    lower: [(rendering, value) => called(rendering, value, "lower")],
    capitalize: [(rendering, value) => called(rendering, value, "capitalize")],
    title: [title],
    trim: [(rendering, value, given) => called(rendering, value, "strip", given), "chars"],
    center: [
      (rendering, value, [width = 80]) => called(rendering, value, "center", [width]),
      "width",
    ],
    indent: [indent, "width first blank"],
    replace: [replace, "old new count", 2],
    truncate: [truncate, "length killwords end leeway"],
    tojson: [tojson, "ensure_ascii indent separators sort_keys"],
    urlencode: [urlencode],
    wordwrap: [wordwrap, "width break_long_words wrapstring break_on_hyphens"],
    xmlattr: [xmlattr, "autospace"],
    pprint: [pprint],
    safe: [(rendering, value) => new Markup(plainString(rendering, value))],
    escape: [escapeValue],
    e: [escapeValue],
    forceescape: [
      (rendering, value) =>
        new Markup(rendering.string(escapeText(rendering, plainString(rendering, value)))),
    ],
    striptags: [
      (rendering, value) => rendering.string(stripTags(rendering, plainString(rendering, value))),
    ],
    string: [softString],
    wordcount: [(rendering, value) => {
      const text = rendering.marks.plain(plainString(rendering, value));
      return text.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0;
    }],
  }),
];
