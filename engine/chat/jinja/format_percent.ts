import { unfit } from "./arguments.ts";
import { typeError, valueError } from "./errors.ts";
import { escapeValue } from "./escape.ts";
import { floatDigits, integerDigits } from "./format_number.ts";
import { floatOf, integerOf, isNumber, truncated } from "./numbers.ts";
import type { Rendering } from "./rendering.ts";
import { escapeOf } from "./string_literal.ts";
import {
  Dict,
  Float,
  isInteger,
  isString,
  Markup,
  Range,
  textOf,
  Tuple,
  Undefined,
  type Value,
} from "./values.ts";
import { display, repr } from "./write.ts";

const SPECIFIER =
  /%(?:\(([^()]{0,200})\))?([-+ 0#]{0,20})(\d{1,9}|\*)?(?:\.(\d{0,9}|\*))?[hlL]?([^])?/gu;

interface Specifier {
  readonly flags: string;
  readonly width: number;
  readonly precision?: number;
  readonly kind: string;
}

/**
 * A text with `%s` and the like replaced, as Python's `%` does.
 *
 * @param values A tuple, one value, or a mapping for `%(name)s`.
 */
export function formatPercent(rendering: Rendering, format: string | Markup, values: Value): Value {
  const list = values instanceof Tuple ? values.items : [values];
  const isSafe = format instanceof Markup;
  const text = textOf(format);
  let next = 0;
  let length = text.length;
  const take = (): Value => {
    if (next >= list.length) throw typeError("a format wants more values than there are");
    return list[next++];
  };
  const size = (given: string | undefined): number | undefined => {
    if (given !== "*") return given === undefined ? undefined : Number(given);
    const value = take();
    if (typeof value !== "number") throw typeError("* in a format wants a whole number");
    return value;
  };
  const written = text.replace(SPECIFIER, (_, name, flags, width, precision, kind) => {
    if (kind === undefined) throw valueError("a format ends within %");
    let value: Value = null;
    let wide = 0;
    let all: string = flags;
    if (name !== undefined) {
      const plain = rendering.marks.plain(name);
      if (!(values instanceof Dict)) throw typeError("a format with names wants a mapping");
      const found = values.get(plain);
      if (found === undefined) throw typeError(`a format wants a value "${plain}"`);
      value = found;
    }
    wide = size(width) ?? 0;
    if (wide < 0) all += "-";
    const digits = size(precision);
    if (kind === "%") return "%";
    if (name === undefined) value = take();
    rendering.budget.allow(Math.max(Math.abs(wide), digits ?? 0));
    const specifier = { flags: all, width: Math.abs(wide), precision: digits, kind };
    const one = write(rendering, value, specifier, isSafe);
    length += one.length;
    rendering.budget.grow(length, one.length);
    return one;
  });
  // Python takes all that has elements by keys for a mapping, of which nothing has to be used.
  const isMapped = Array.isArray(values) ||
    [Dict, Range, Undefined].some((one) => values instanceof one);
  if (next < list.length && !isMapped) {
    throw typeError("a format wants fewer values than there are");
  }
  return rendering.like(format, written);
}

function write(rendering: Rendering, value: Value, specifier: Specifier, isSafe: boolean): string {
  const { flags, precision, kind, width } = specifier;
  const unsigned = (text: string) => pad(text, flags.replaceAll("0", ""), width, "");
  if (kind === "s" || kind === "r" || kind === "a") {
    const shown = kind === "s" ? value : repr(rendering, value);
    let text = isSafe ? escapeValue(rendering, shown).text : display(rendering, shown);
    if (kind === "a") text = asciiRepr(text);
    return unsigned(
      precision === undefined ? text : Array.from(text).slice(0, precision).join(""),
    );
  }
  if (kind === "c") {
    const text = isString(value) && rendering.marks.length(textOf(value)) === 1
      ? textOf(value)
      : isInteger(value) && value >= 0 && value < 0x110000
      ? String.fromCodePoint(Number(value))
      : undefined;
    if (text === undefined) throw typeError("%c wants a character");
    return unsigned(text);
  }
  if (!"diuoxXeEfFgG".includes(kind)) throw valueError(`a format has no %${kind}`);
  if (!isNumber(value)) throw unfit(`%${kind}`, "a number", value);
  const alternate = flags.includes("#");
  let digits: string;
  let negative: boolean;
  if ("diuoxX".includes(kind)) {
    if (value instanceof Float && "oxX".includes(kind)) {
      throw typeError(`%${kind} wants a whole number`);
    }
    const number = BigInt(value instanceof Float ? truncated(value.value) : integerOf(value));
    negative = number < 0n;
    const format = { kind: "diu".includes(kind) ? "d" : kind, alternate: false };
    const prefix = alternate && "oxX".includes(kind) ? "0" + kind : "";
    digits = prefix + integerDigits(number, format).padStart(precision ?? 0, "0");
  } else {
    const number = floatOf(value);
    negative = number < 0 || Object.is(number, -0);
    digits = floatDigits(number, { kind, precision, alternate });
  }
  const sign = negative ? "-" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
  return pad(digits, flags, width, sign);
}

/** What is beyond ASCII as escapes, as Python's `ascii` writes it. */
export function asciiRepr(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/[^\x00-\x7f]/gu, escapeOf);
}

function pad(text: string, flags: string, width: number, sign: string): string {
  const missing = Math.max(0, width - Array.from(text).length - sign.length);
  if (flags.includes("-")) return sign + text + " ".repeat(missing);
  if (!flags.includes("0")) return " ".repeat(missing) + sign + text;
  const prefix = /^0[xXo]/.exec(text)?.[0] ?? "";
  return sign + prefix + "0".repeat(missing) + text.slice(prefix.length);
}
