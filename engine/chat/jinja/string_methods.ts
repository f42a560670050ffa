import {
  type Arguments,
  isList,
  isString,
  newBoolean,
  newInteger,
  type StringValue,
  type Value,
} from "./library.ts";
import { formatBraces } from "./format.ts";
import { isSpace } from "./marks.ts";
import type { Rendering } from "./rendering.ts";
import {
  capitalize,
  joinTexts,
  replaceText,
  splitText,
  splitWords,
  textsOf,
  titleCase,
} from "./text_functions.ts";

type Method = (rendering: Rendering, text: string, args: Arguments) => Value;

/** A method that makes one text out of another one, character by character. */
function changing(change: (text: string) => string): Method {
  return (rendering, text) => {
    // A character can become three, such as ﬃ.
    rendering.budget.allow(3 * text.length);
    return rendering.string(rendering.marks.remark(change(text)));
  };
}

function stripping(ends: "both" | "start" | "end"): Method {
  return (rendering, text, args) => {
    const { marks } = rendering;
    const characters = args.text(0, "chars");
    if (characters === undefined) return rendering.string(marks.strip(text, ends));
    const set = new Set(marks.plain(characters));
    return rendering.string(marks.strip(text, ends, (character) => set.has(character)));
  };
}

function splitting(fromRight: boolean): Method {
  return (rendering, text, args) => {
    const separator = args.text(0, "sep");
    const most = args.integer(1, "maxsplit", -1);
    return rendering.strings(
      separator === undefined
        ? splitWords(rendering, text, most, fromRight)
        : splitText(rendering, text, separator, most, fromRight),
    );
  };
}

function partitioning(fromRight: boolean): Method {
  return (rendering, text, args) => {
    const separator = args.text(0, "sep", "");
    const parts = splitText(rendering, text, separator, 1, fromRight);
    const [before, behind] = parts;
    const found = parts.length === 2;
    const three = found ? [before, separator, behind] : fromRight ? ["", "", text] : [text, "", ""];
    return rendering.tuple(three.map((part) => rendering.string(part)));
  };
}

function asking(holds: (text: string, wanted: string) => boolean): Method {
  return ({ marks }, text, args) => {
    const plain = marks.plain(text);
    return newBoolean(textsOf(args, "it").some((wanted) => holds(plain, marks.plain(wanted))));
  };
}

function finding(find: (text: string, wanted: string) => number, missing: boolean): Method {
  return ({ marks }, text, args) => {
    const plain = marks.plain(text);
    const at = find(plain, marks.plain(args.text(0, "sub", "")));
    if (at < 0 && !missing) throw new Error("the text is not in it");
    return newInteger(at < 0 ? -1 : marks.length(plain.slice(0, at)));
  };
}

/** Whether a text is not empty and all of its characters are of a kind. */
function consisting(pattern: RegExp): Method {
  return ({ marks }, text) => newBoolean(pattern.test(marks.plain(text)));
}

function padding(
  pad: (text: string, missing: number, fill: string, width: number) => string,
): Method {
  return (rendering, text, args) => {
    const width = args.integer(0, "width", 0);
    const fill = args.text(1, "fillchar", " ");
    if (rendering.marks.length(fill) !== 1) throw new Error("fillchar must be one character");
    const missing = Math.max(0, width - rendering.marks.length(text));
    rendering.budget.allow(text.length + missing * fill.length);
    return rendering.string(missing === 0 ? text : pad(text, missing, fill, width));
  };
}

function removing(fromEnd: boolean): Method {
  return (rendering, text, args) => {
    const { marks } = rendering;
    const wanted = marks.plain(args.text(0, "affix", ""));
    const plain = marks.plain(text);
    if (!(fromEnd ? plain.endsWith(wanted) : plain.startsWith(wanted))) {
      return rendering.string(text);
    }
    const characters = marks.characters(text);
    const count = marks.length(wanted);
    const left = fromEnd ? characters.slice(0, characters.length - count) : characters.slice(count);
    return rendering.string(left.join(""));
  };
}

/** Texts with cased letters, all of one case. */
export const UPPER = /^(?=.*\p{Lu})\P{Ll}+$/su;
export const LOWER = /^(?=.*\p{Ll})\P{Lu}+$/su;

/** The methods of Python's strings that templates use; they see no marks, and keep them. */
const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["upper", changing((text) => text.toUpperCase())],
  ["lower", changing((text) => text.toLowerCase())],
  ["title", changing(titleCase)],
  ["capitalize", changing(capitalize)],
  ["strip", stripping("both")],
  ["lstrip", stripping("start")],
  ["rstrip", stripping("end")],
  ["split", splitting(false)],
  ["rsplit", splitting(true)],
  ["partition", partitioning(false)],
  ["rpartition", partitioning(true)],
  ["startswith", asking((text, wanted) => text.startsWith(wanted))],
  ["endswith", asking((text, wanted) => text.endsWith(wanted))],
  ["find", finding((text, wanted) => text.indexOf(wanted), true)],
  ["rfind", finding((text, wanted) => text.lastIndexOf(wanted), true)],
  ["index", finding((text, wanted) => text.indexOf(wanted), false)],
  ["rindex", finding((text, wanted) => text.lastIndexOf(wanted), false)],
  ["isdigit", consisting(/^\p{Nd}+$/u)],
  ["isnumeric", consisting(/^\p{N}+$/u)],
  ["isdecimal", consisting(/^\p{Nd}+$/u)],
  ["isalpha", consisting(/^\p{L}+$/u)],
  ["isalnum", consisting(/^[\p{L}\p{N}]+$/u)],
  [
    "isspace",
    ({ marks }, text) => newBoolean(text !== "" && [...marks.plain(text)].every(isSpace)),
  ],
  ["isupper", consisting(UPPER)],
  ["islower", consisting(LOWER)],
  ["removeprefix", removing(false)],
  ["removesuffix", removing(true)],
  ["ljust", padding((text, missing, fill) => text + fill.repeat(missing))],
  ["rjust", padding((text, missing, fill) => fill.repeat(missing) + text)],
  [
    "center",
    padding((text, missing, fill, width) => {
      // Where the space cannot be halved, Python gives the left more in a field of odd width.
      const before = Math.floor(missing / 2) + (missing & width & 1);
      return fill.repeat(before) + text + fill.repeat(missing - before);
    }),
  ],
  [
    "zfill",
    padding((text, missing) => {
      const sign = /^[+-]/.exec(text)?.[0] ?? "";
      return sign + "0".repeat(missing) + text.slice(sign.length);
    }),
  ],
  ["replace", (rendering, text, args) => {
    const [wanted, by] = [args.text(0, "old"), args.text(1, "new")];
    if (wanted === undefined || by === undefined) throw new Error("replace wants two strings");
    const most = args.integer(2, "count", -1);
    return rendering.string(replaceText(rendering, text, wanted, by, most));
  }],
  ["count", (rendering, text, args) => {
    let count = 0;
    for (const _ of rendering.marks.find(text, args.text(0, "sub", ""))) {
      rendering.budget.step();
      count++;
    }
    return newInteger(count);
  }],
  ["splitlines", (rendering, text, args) => {
    const lines = splitText(rendering, text.replace(/\r\n?/g, "\n"), "\n", -1);
    if (lines.at(-1) === "") lines.pop();
    const end = args.flag(0, "keepends") ? "\n" : "";
    return rendering.strings(lines.map((line) => line + end));
  }],
  ["format", (rendering, text, args) => rendering.string(formatBraces(rendering, text, args))],
  ["join", (rendering, text, args) => {
    const [list] = args.positional;
    if (!isList(list)) throw new Error("join wants a list");
    const texts = list.value.map((item: Value) => {
      if (isString(item)) return item.value;
      throw new Error("join wants a list of strings");
    });
    return joinTexts(rendering, texts, text);
  }],
]);

/** A method of a string, bound to it; undefined where there is none of that name. */
export function stringMethod(
  rendering: Rendering,
  string: StringValue,
  name: string,
): ((args: Arguments) => Value) | undefined {
  const method = METHODS.get(name);
  return method && ((args) => {
    rendering.budget.step();
    return method(rendering, string.value, args);
  });
}
