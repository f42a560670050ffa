import { JsonNumber } from "./json_number.ts";
import { define, orderedObject } from "./ordered_object.ts";

export const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BACKSLASH = 0x5c;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
/** What `JSON.parse` itself reads of a string, or refuses. */
// deno-lint-ignore no-control-regex
const ESCAPE_OR_CONTROL = /[\\\x00-\x1f]/;
const NAMES: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

export const isDigit = (code: number) => code >= 0x30 && code <= 0x39;
const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** An array or an object that is not at its end. */
interface Open {
  /** An object that keeps the order of its keys is a map as long as it is open. */
  readonly value: unknown[] | Record<string, unknown> | Map<string, unknown>;
  /** The key of an object whose value comes next. */
  key?: string;
}

/**
 * Reads a text without a call a level, in parts of a length.
 *
 * @param isPlain Whether the value is that of `JSON.parse`, which loses nothing that counts.
 * @returns A generator that yields between two parts.
 * @throws {SyntaxError} as `JSON.parse` does.
 */
export function* reading(
  text: string,
  length: number,
  isPlain: boolean,
): Generator<undefined, unknown> {
  const open: Open[] = [];
  let value: unknown;
  /** What was read last: the start of an array or an object, a value, or what a value has to follow. */
  let last: "open" | "value" | "separator" = "separator";
  let partEnd = length;
  for (let at = 0; at < text.length;) {
    if (at >= partEnd) {
      partEnd = at + length;
      yield;
    }
    const code = text.charCodeAt(at);
    if (isSpace(code)) {
      at++;
      continue;
    }
    const around = open.at(-1);
    if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      if (around === undefined || last === "separator") return refused(text);
      if (Array.isArray(around.value) !== (code === CLOSE_LIST)) return refused(text);
      open.pop();
      value = around.value instanceof Map ? orderedObject(around.value) : around.value;
      at++;
    } else if (last === "value") {
      if (code !== COMMA || around === undefined) return refused(text);
      last = "separator";
      at++;
      continue;
    } else if (around !== undefined && around.key === undefined && !Array.isArray(around.value)) {
      const end = endOfString(text, at);
      const key = code === QUOTE ? stringOf(text, at, end) : undefined;
      for (at = end; isSpace(text.charCodeAt(at));) at++;
      if (key === undefined || text.charCodeAt(at++) !== COLON) return refused(text);
      around.key = key;
      last = "separator";
      continue;
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      open.push({ value: code === OPEN_LIST ? [] : isPlain ? {} : new Map() });
      last = "open";
      at++;
      continue;
    } else {
      const end = code === QUOTE ? endOfString(text, at) : endOfWord(text, at);
      value = code === QUOTE ? stringOf(text, at, end) : wordOf(text.slice(at, end), isPlain);
      if (value === undefined) return refused(text);
      at = end;
    }
    last = "value";
    if (open.length > 0) add(open.at(-1)!, value);
  }
  return last === "value" && open.length === 0 ? value : refused(text);
}

/** Of what is wrong `JSON.parse` says where. */
function refused(text: string): unknown {
  return JSON.parse(text);
}

function add(holder: Open, item: unknown): void {
  const { value, key } = holder;
  holder.key = undefined;
  if (Array.isArray(value)) value.push(item);
  else if (value instanceof Map) value.set(key!, item);
  else if (key === "__proto__") define(value, key, item);
  else value[key!] = item;
}

/** The string that stands between two places; undefined where it is none. */
function stringOf(text: string, start: number, end: number): string | undefined {
  const plain = text.slice(start + 1, end - 1);
  const isWhole = end - start > 1 && text.charCodeAt(end - 1) === QUOTE;
  if (isWhole && !ESCAPE_OR_CONTROL.test(plain)) return plain;
  try {
    return JSON.parse(text.slice(start, end));
  } catch {
    return undefined;
  }
}

/** What a number or a name stands for; undefined where it is none. */
function wordOf(word: string, isPlain: boolean): unknown {
  if (!NUMBER.test(word)) return NAMES.get(word);
  return isPlain ? Number(word) : JsonNumber.of(word);
}

/** Where a string ends: behind its second quote. */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let before = quote;
    while (text.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((quote - before) % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

const endsWord = (code: number) =>
  code <= 0x20 || code === COMMA || code === COLON || code === CLOSE_LIST || code === CLOSE_OBJECT;

/** Where a number or a name ends. */
export function endOfWord(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && !endsWord(text.charCodeAt(at))) at++;
  return at;
}
