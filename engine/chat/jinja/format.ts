import {
  type Arguments,
  isFloat,
  isList,
  isMapping,
  isNumber,
  isTuple,
  mapOf,
  type Value,
} from "./library.ts";
import type { Rendering } from "./rendering.ts";
import { display, floatText } from "./write.ts";

const SPECIFIER = /%(?:\((\w{1,64})\))?([-+ 0#]{0,5})(\d{1,9})?(?:\.(\d{1,9}))?([sdifFeEgGrxXo%])/g;

/**
 * A text with `%s` and the like replaced, as Python's `%` does.
 *
 * @param values A tuple, one value, or a mapping for `%(name)s`.
 */
export function formatPercent(rendering: Rendering, format: string, values: Value): string {
  const list = isTuple(values) ? values.value : [values];
  let next = 0;
  let length = format.length;
  const text = format.replace(SPECIFIER, (_, name, flags, width, precision, kind) => {
    if (kind === "%") return "%";
    const value = name === undefined ? list[next++] : mapped(values, name);
    if (value === undefined) throw new Error("a format wants more values than there are");
    const wide = Number(width ?? 0);
    rendering.budget.string(Math.max(wide, Number(precision ?? 0)));
    const written = pad(write(rendering, value, kind, precision, flags), flags, wide);
    length += written.length;
    rendering.budget.grow(length, written.length);
    return written;
  });
  if (next < list.length && !(list.length === 1 && (isMapping(values) || isList(values)))) {
    throw new Error("a format wants fewer values than there are");
  }
  return text;
}

/**
 * A text with `{}`, `{0}` and `{name}` replaced, as Python's `str.format` does; of widths and the like it
 * knows nothing.
 */
export function formatBraces(rendering: Rendering, format: string, args: Arguments): string {
  let next = 0;
  let length = format.length;
  return format.replace(/\{\{|\}\}|\{(\w{0,64})\}|[{}]/g, (whole, name?: string) => {
    if (whole === "{{" || whole === "}}") return whole[0];
    if (name === undefined) throw new Error("a format has a brace that is alone");
    const place = name === "" ? next++ : /^\d+$/.test(name) ? Number(name) : undefined;
    const value = place === undefined ? args.named.get(name) : args.positional[place];
    if (value === undefined) throw new Error(`a format wants a value for {${name}}`);
    const written = display(rendering, value);
    length += written.length;
    rendering.budget.grow(length, written.length);
    return written;
  });
}

function mapped(values: Value, name: string): Value | undefined {
  return isMapping(values) ? mapOf(values).get(name) : undefined;
}

function write(
  rendering: Rendering,
  value: Value,
  kind: string,
  precision: string | undefined,
  flags: string,
): string {
  if (kind === "s" || kind === "r") {
    const text = kind === "s"
      ? display(rendering, value)
      : display(rendering, rendering.list([value])).slice(1, -1);
    return precision === undefined ? text : Array.from(text).slice(0, Number(precision)).join("");
  }
  if (!isNumber(value)) throw new Error(`%${kind} wants a number`);
  const sign = value.value >= 0 && flags.includes("+") ? "+" : "";
  const number = value.value as number;
  switch (kind) {
    case "d":
    case "i":
      return sign + Math.trunc(number);
    case "x":
      return sign + Math.trunc(number).toString(16);
    case "X":
      return sign + Math.trunc(number).toString(16).toUpperCase();
    case "o":
      return sign + Math.trunc(number).toString(8);
    case "f":
    case "F":
      return sign + number.toFixed(digits(precision));
    case "e":
    case "E": {
      const text = number.toExponential(digits(precision)).replace(/e([+-])(\d)$/, "e$10$2");
      return sign + (kind === "E" ? text.toUpperCase() : text);
    }
    default:
      return sign + (isFloat(value) ? floatText(number).replace(/\.0$/, "") : String(number));
  }
}

function digits(precision: string | undefined): number {
  const count = Number(precision ?? 6);
  if (count > 100) throw new Error(`got ${count} digits; wanted at most 100`);
  return count;
}

function pad(text: string, flags: string, width: number): string {
  if (flags.includes("-")) return text.padEnd(width);
  if (!flags.includes("0")) return text.padStart(width);
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  return sign + text.slice(sign.length).padStart(width - sign.length, "0");
}
