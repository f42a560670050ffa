/**
 * Values in the notations of Python and of Gemma 4, as JSON: what differs from JSON is how texts and keys are quoted,
 * and a few names.
 *
 * @module
 */
import { SIMPLE_ESCAPES } from "../jinja/string_literal.ts";
import { escapeJson } from "./json_reading.ts";
import type { Reading, TextScanner } from "./text_scanner.ts";

type Take = (text: string) => void;

/** Gemma 4's token at both ends of a text. */
export const GEMMA_QUOTE = '<|"|>';

/** Names that JSON has others for. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
]);

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;
const CLOSERS: ReadonlyMap<string, string> = new Map([["[", "]"], ["(", ")"], ["{", "}"]]);
const MOST_LEVELS = 200;

/** Digits behind a backslash and such a letter, which give a character's code. */
const CODE_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** Reads a value and gives it as JSON in pieces; false where it is not whole, or none. */
export function* readLiteral(input: TextScanner, take: Take, level = 0): Reading<boolean> {
  yield* input.space();
  const quote = yield* acceptQuote(input);
  if (quote !== undefined) return yield* readText(input, quote, take);
  const open = yield* input.peek();
  const close = CLOSERS.get(open);
  if (close !== undefined) {
    if (level === MOST_LEVELS) return false;
    yield* input.accept(open);
    return yield* readItems(input, open, close, take, level + 1);
  }
  const word = (yield* input.word(/[^\s,:()[\]{}"'<]/, 4096)).trim();
  // What is cut off may have been another word.
  if (word === "" || input.ranOut) return false;
  take(NAMES.get(word) ?? (NUMBER.test(word) ? word : JSON.stringify(word)));
  return true;
}

function* acceptQuote(input: TextScanner): Reading<string | undefined> {
  return yield* input.acceptOneOf([GEMMA_QUOTE, '"', "'"]);
}

function* readItems(
  input: TextScanner,
  open: string,
  close: string,
  take: Take,
  level: number,
): Reading<boolean> {
  const isObject = open === "{";
  take(isObject ? "{" : "[");
  for (let some = false;; some = true) {
    if (yield* input.acceptSpaced(close)) break;
    if (some) {
      if (!(yield* input.accept(","))) return false;
      if (yield* input.acceptSpaced(close)) break;
      take(", ");
    }
    if (isObject && !(yield* readKey(input, take, ":"))) return false;
    if (!(yield* readLiteral(input, take, level))) return false;
  }
  take(isObject ? "}" : "]");
  return true;
}

/**
 * Reads a key, quoted or not, and what parts it from its value, and gives it as JSON with a colon.
 *
 * @param separator A character.
 */
export function* readKey(input: TextScanner, take: Take, separator: string): Reading<boolean> {
  let key = "";
  yield* input.space();
  const quote = yield* acceptQuote(input);
  if (quote === undefined) {
    const word = yield* input.word(/[^\s,:=()[\]{}"'<]/);
    if (word === "") return false;
    key = JSON.stringify(word);
  } else if (!(yield* readText(input, quote, (text) => key += text))) {
    return false;
  }
  if (!(yield* input.acceptSpaced(separator))) return false;
  take(`${key}: `);
  return true;
}

/** Reads a text behind its first quote. */
function* readText(input: TextScanner, quote: string, take: Take): Reading<boolean> {
  take('"');
  if (quote === GEMMA_QUOTE) {
    if (!(yield* input.upTo(quote, (text) => take(escapeJson(text))))) return false;
  } else {
    for (;;) {
      const whole = yield* input.run(
        (character) => character === "\\" || character === quote ? "behind" : "more",
        (text) => take(escapeJson(text)),
      );
      if (!whole) return false;
      if (yield* input.accept(quote)) break;
      if (!(yield* input.accept("\\"))) return false;
      if (!(yield* readEscape(input, take))) return false;
    }
  }
  take('"');
  return true;
}

/** Reads what stands behind a backslash. */
function* readEscape(input: TextScanner, take: Take): Reading<boolean> {
  const letter = yield* input.peek();
  if (letter === "") return false;
  yield* input.accept(letter);
  const digits = CODE_DIGITS[letter];
  if (digits === undefined) {
    // Python leaves a backslash where it is before what it does not know; quotes and slashes are themselves.
    take(escapeJson(SIMPLE_ESCAPES[letter] ?? (letter === "/" ? letter : `\\${letter}`)));
    return true;
  }
  const hex = yield* input.word(/[0-9a-fA-F]/, digits);
  if (input.ranOut) return false;
  const code = parseInt(hex, 16);
  if (hex.length < digits || code > 0x10ffff) take(escapeJson(`\\${letter}${hex}`));
  // Halves of a pair come one by one, and are escaped as such.
  else take(escapeJson(code > 0xffff ? String.fromCodePoint(code) : String.fromCharCode(code)));
  return true;
}
