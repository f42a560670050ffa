import { bind, flag, integer, string } from "./arguments.ts";
import { typeError, valueError } from "./errors.ts";
import { escapeText, stripTags, unescapeText } from "./escape.ts";
import { iterate } from "./iterate.ts";
import { capitalize, caseFold, isTitle, LOWER, swapCase, titleCase, UPPER } from "./letters.ts";
import { isSpace } from "./marks.ts";
import { ELEMENT, type Rendering } from "./rendering.ts";
import { bounds } from "./slices.ts";
import {
  joinTexts,
  replaceText,
  splitLines,
  splitText,
  splitWords,
  textsOf,
} from "./text_functions.ts";
import { firstPlace, lastPlace } from "./text_search.ts";
import { type Args, isString, Markup, typeName, type Value } from "./values.ts";

/** A method of a string; `self` says whether it is safe as HTML. */
type Method = (rendering: Rendering, text: string, args: Args, self: string | Markup) => Value;

/** A method that makes one text out of another one, character by character. */
function changing(change: (text: string) => string): Method {
  return (rendering, text, args, self) => {
    bind("a method of strings", args, []);
    rendering.budget.scan(ELEMENT * text.length);
    // A character can become three, such as ﬃ.
    rendering.budget.allow(3 * text.length);
    return rendering.like(self, rendering.marks.remark(change(text)));
  };
}

function isNone(value: Value | undefined): boolean {
  return value === undefined || value === null;
}

function stripping(name: string, ends: "both" | "start" | "end"): Method {
  return (rendering, text, args, self) => {
    const { marks } = rendering;
    const [characters] = bind(name, args, ["chars"]);
    if (isNone(characters)) return rendering.like(self, marks.strip(text, ends));
    const stripped = marks.plain(string(characters, name));
    rendering.budget.scan(2 * ELEMENT * stripped.length);
    const set = new Set(stripped);
    return rendering.like(self, marks.strip(text, ends, (character) => set.has(character)));
  };
}

function splitting(name: string, fromRight: boolean): Method {
  return (rendering, text, args, self) => {
    const [separator, maxsplit] = bind(name, args, ["sep", "maxsplit"]);
    const most = integer(maxsplit, -1, name);
    const parts = isNone(separator)
      ? splitWords(rendering, text, most, fromRight)
      : splitText(rendering, text, string(separator, name), most, fromRight);
    return rendering.list(parts.map((part) => rendering.like(self, part)));
  };
}

function partitioning(name: string, fromRight: boolean): Method {
  return (rendering, text, args, self) => {
    const [sep] = bind(name, args, ["sep"], 1);
    const separator = string(sep, name);
    const parts = splitText(rendering, text, separator, 1, fromRight);
    const [before, behind] = parts;
    const found = parts.length === 2;
    const three = found ? [before, separator, behind] : fromRight ? ["", "", text] : [text, "", ""];
    return rendering.tuple(three.map((part) => rendering.like(self, part)));
  };
}

/**
 * The part of a text in which a method looks, and how many characters stand before it; undefined where it begins
 * behind the text.
 */
function searched(
  { marks }: Rendering,
  text: string,
  [start, end]: readonly (Value | undefined)[],
  name: string,
): [part: string, before: number] | undefined {
  const plain = marks.plain(text);
  if (start === undefined && end === undefined) return [plain, 0];
  const length = marks.length(plain);
  const from = isNone(start) ? 0 : integer(start, 0, name);
  const to = isNone(end) ? length : integer(end, length, name);
  const [first, last] = bounds(length, from, to);
  if (from > length || first > last) return undefined;
  return [marks.slice(plain, first, last), first];
}

function asking(name: string, holds: (text: string, wanted: string) => boolean): Method {
  return (rendering, text, args) => {
    const [prefix, ...range] = bind(name, args, ["prefix", "start", "end"], 1);
    const wanted = textsOf(prefix!, name);
    const part = searched(rendering, text, range, name);
    return part !== undefined &&
      wanted.some((one) => holds(part[0], rendering.marks.plain(one)));
  };
}

function finding(name: string, fromRight: boolean, missing: boolean): Method {
  return (rendering, text, args) => {
    const { marks } = rendering;
    const [sub, ...range] = bind(name, args, ["sub", "start", "end"], 1);
    const wanted = marks.plain(string(sub, name));
    const part = searched(rendering, text, range, name);
    rendering.budget.search(text, wanted);
    const at = part === undefined
      ? -1
      : fromRight
      ? lastPlace(rendering.budget, part[0], wanted)
      : firstPlace(rendering.budget, part[0], wanted);
    if (at < 0 && !missing) throw valueError("the text is not in it");
    return at < 0 ? -1 : part![1] + marks.length(part![0].slice(0, at));
  };
}

function count(rendering: Rendering, text: string, args: Args): Value {
  const [sub, ...range] = bind("count", args, ["sub", "start", "end"], 1);
  const wanted = rendering.marks.plain(string(sub, "count"));
  const part = searched(rendering, text, range, "count");
  if (part === undefined) return 0;
  if (wanted === "") return rendering.marks.length(part[0]) + 1;
  let found = 0;
  rendering.budget.search(text, wanted);
  for (const _ of rendering.marks.find(part[0], wanted, rendering.budget)) {
    rendering.budget.step();
    found++;
  }
  return found;
}

/** Whether a text is not empty and all of its characters are of a kind. */
function consisting(pattern: RegExp): Method {
  return ({ marks }, text, args) => {
    bind("a method of strings", args, []);
    return pattern.test(marks.plain(text));
  };
}

function padding(
  name: string,
  pad: (text: string, missing: number, fill: string, width: number) => string,
  takesFill = true,
): Method {
  return (rendering, text, args, self) => {
    const parameters = takesFill ? ["width", "fillchar"] : ["width"];
    const [given, fillchar] = bind(name, args, parameters, 1);
    const width = integer(given, 0, name);
    let fill = fillchar === undefined ? " " : string(fillchar, name);
    if (rendering.marks.length(fill) !== 1) throw typeError("fillchar must be one character");
    if (self instanceof Markup) fill = escapeText(rendering, fill);
    if (rendering.marks.length(fill) !== 1) throw typeError("fillchar must be one character");
    const missing = Math.max(0, width - rendering.marks.length(text));
    rendering.budget.allow(text.length + missing * fill.length);
    return rendering.like(self, missing === 0 ? text : pad(text, missing, fill, width));
  };
}

function removing(name: string, fromEnd: boolean): Method {
  return (rendering, text, args, self) => {
    const { marks } = rendering;
    const [affix] = bind(name, args, ["affix"], 1);
    const wanted = marks.plain(string(affix, name));
    const plain = marks.plain(text);
    if (!(fromEnd ? plain.endsWith(wanted) : plain.startsWith(wanted))) {
      return rendering.like(self, text);
    }
    rendering.budget.scan(ELEMENT * text.length);
    const characters = marks.characters(text);
    const length = marks.length(wanted);
    const left = fromEnd
      ? characters.slice(0, characters.length - length)
      : characters.slice(length);
    return rendering.like(self, left.join(""));
  };
}

/** A text as it joins one that is safe as HTML. */
function joining(rendering: Rendering, value: Value, self: string | Markup, name: string): string {
  const text = string(value, name);
  if (!(self instanceof Markup) || value instanceof Markup) return text;
  return escapeText(rendering, text);
}

function replace(rendering: Rendering, text: string, args: Args, self: string | Markup): Value {
  const [old, by, times] = bind("replace", args, ["old", "new", "count"], 2);
  const wanted = string(old, "replace");
  const other = joining(rendering, by!, self, "replace");
  const most = integer(times, -1, "replace");
  return rendering.like(self, replaceText(rendering, text, wanted, other, most));
}

function join(rendering: Rendering, text: string, args: Args, self: string | Markup): Value {
  const [list] = bind("join", args, ["iterable"], 1);
  const texts: string[] = [];
  for (const item of iterate(rendering, list!)) {
    rendering.budget.step();
    if (!isString(item)) throw typeError(`join wants strings, got ${typeName(item)}`);
    texts.push(joining(rendering, item, self, "join"));
  }
  return rendering.like(self, joinTexts(rendering, texts, text));
}

function expandTabs(rendering: Rendering, text: string, args: Args, self: string | Markup): Value {
  const [given] = bind("expandtabs", args, ["tabsize"]);
  const size = Math.max(0, integer(given, 8, "expandtabs"));
  rendering.budget.scan(ELEMENT * text.length);
  let column = 0;
  let length = 0;
  const pieces = rendering.marks.characters(text).map((character) => {
    const plain = rendering.marks.plain(character);
    const isTab = plain === "\t";
    const width = isTab ? (size === 0 ? 0 : size - column % size) : character.length;
    rendering.budget.allow(length += width);
    column = plain === "\n" || plain === "\r" ? 0 : column + (isTab ? width : 1);
    return isTab ? character.replace("\t", " ".repeat(width)) : character;
  });
  return rendering.like(self, pieces.join(""));
}

/** The methods of Python's strings; they see no marks, and keep them. */
export const STRING_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["upper", changing((text) => text.toUpperCase())],
  ["lower", changing((text) => text.toLowerCase())],
  ["title", changing(titleCase)],
  ["capitalize", changing(capitalize)],
  ["swapcase", changing(swapCase)],
  ["casefold", changing(caseFold)],
  ["strip", stripping("strip", "both")],
  ["lstrip", stripping("lstrip", "start")],
  ["rstrip", stripping("rstrip", "end")],
  ["split", splitting("split", false)],
  ["rsplit", splitting("rsplit", true)],
  ["partition", partitioning("partition", false)],
  ["rpartition", partitioning("rpartition", true)],
  ["startswith", asking("startswith", (text, wanted) => text.startsWith(wanted))],
  ["endswith", asking("endswith", (text, wanted) => text.endsWith(wanted))],
  ["find", finding("find", false, true)],
  ["rfind", finding("rfind", true, true)],
  ["index", finding("index", false, false)],
  ["rindex", finding("rindex", true, false)],
  ["count", count],
  ["isdigit", consisting(/^[\p{Nd}²³¹⁰⁴-⁹₀-₉①-⑨]+$/u)],
  ["isnumeric", consisting(/^\p{N}+$/u)],
  ["isdecimal", consisting(/^\p{Nd}+$/u)],
  ["isalpha", consisting(/^\p{L}+$/u)],
  ["isalnum", consisting(/^[\p{L}\p{N}]+$/u)],
  // deno-lint-ignore no-control-regex
  ["isascii", consisting(/^[\x00-\x7f]*$/)],
  ["isidentifier", consisting(/^[\p{ID_Start}_]\p{ID_Continue}*$/u)],
  ["isprintable", consisting(/^(?: |[^\p{C}\p{Z}])*$/u)],
  ["isspace", ({ marks, budget }, text, args) => {
    bind("isspace", args, []);
    budget.scan(ELEMENT * text.length);
    return text !== "" && [...marks.plain(text)].every(isSpace);
  }],
  ["isupper", consisting(UPPER)],
  ["islower", consisting(LOWER)],
  ["istitle", ({ marks, budget }, text, args) => {
    bind("istitle", args, []);
    budget.scan(ELEMENT * text.length);
    return isTitle(marks.plain(text));
  }],
  ["removeprefix", removing("removeprefix", false)],
  ["removesuffix", removing("removesuffix", true)],
  ["ljust", padding("ljust", (text, missing, fill) => text + fill.repeat(missing))],
  ["rjust", padding("rjust", (text, missing, fill) => fill.repeat(missing) + text)],
  [
    "center",
    padding("center", (text, missing, fill, width) => {
      // Where the space cannot be halved, Python gives the left more in a field of odd width.
      const before = Math.floor(missing / 2) + (missing & width & 1);
      return fill.repeat(before) + text + fill.repeat(missing - before);
    }),
  ],
  [
    "zfill",
    padding("zfill", (text, missing) => {
      const sign = /^[+-]/.exec(text)?.[0] ?? "";
      return sign + "0".repeat(missing) + text.slice(sign.length);
    }, false),
  ],
  ["expandtabs", expandTabs],
  ["replace", replace],
  ["join", join],
  ["splitlines", (rendering, text, args, self) => {
    const [keepends] = bind("splitlines", args, ["keepends"]);
    const lines = splitLines(rendering, text, flag(keepends));
    return rendering.list(lines.map((line) => rendering.like(self, line)));
  }],
]);

/** The methods of texts that are safe as HTML alone. */
export const MARKUP_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["striptags", (rendering, text, args) => {
    bind("striptags", args, []);
    return rendering.string(stripTags(rendering, text));
  }],
  ["unescape", (rendering, text, args) => {
    bind("unescape", args, []);
    return rendering.string(unescapeText(text));
  }],
]);

/** Methods that may take longer than any count of them says. */
export const UNCOUNTED_STRING_METHODS: ReadonlySet<string> = new Set(["striptags", "unescape"]);

/** Methods of strings that are not here. */
export const UNSUPPORTED_STRING_METHODS = ["encode", "maketrans", "translate"];
