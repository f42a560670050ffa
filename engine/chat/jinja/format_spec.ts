import { typeError, Unsupported, valueError } from "./errors.ts";
import { floatDigits, grouped, integerDigits } from "./format_number.ts";
import { floatOf, integerOf, isNumber, type NumberValue } from "./numbers.ts";
import type { Rendering } from "./rendering.ts";
import { Float, isString, textOf, typeName, type Value } from "./values.ts";
import { display } from "./write.ts";

const SPEC =
  /^(?:([^])?([<>=^]))?([-+ ])?(z)?(#)?(0)?(\d{1,9})?([,_])?(?:\.(\d{1,9}))?([a-zA-Z%])?$/u;

/** What stands behind `:` in a field of a format. */
interface Spec {
  readonly fill: string;
  readonly align?: string;
  readonly sign: string;
  readonly alternate: boolean;
  readonly width: number;
  readonly grouping: string;
  readonly precision?: number;
  readonly kind: string;
}

/**
 * A value in the form that a format asks for, as Python's `format` writes it.
 *
 * @throws {TemplateError} Where Python would.
 */
export function formatValue(rendering: Rendering, value: Value, format: string): string {
  if (format === "") return display(rendering, value);
  const isText = isString(value);
  if (!isText && !isNumber(value)) throw typeError(`${typeName(value)} takes no format`);
  const match = SPEC.exec(rendering.marks.plain(format));
  if (match === null) throw valueError(`"${format.slice(0, 80)}" is no format`);
  const [, fill, align, sign, z, alternate, zero, width, grouping, precision, kind] = match;
  if (z !== undefined) throw new Unsupported(`"z" in a format`);
  const spec: Spec = {
    fill: fill ?? (zero === undefined ? " " : "0"),
    align: align ?? (zero === undefined || isText ? undefined : "="),
    sign: sign ?? "",
    alternate: alternate !== undefined,
    width: Number(width ?? 0),
    grouping: grouping ?? "",
    precision: precision === undefined ? undefined : Number(precision),
    kind: kind ?? "",
  };
  rendering.budget.allow(Math.max(spec.width, spec.precision ?? 0));
  return isText ? formatText(rendering, textOf(value), spec) : formatNumber(rendering, value, spec);
}

function formatText(rendering: Rendering, text: string, spec: Spec): string {
  const { kind, sign, alternate, align, precision, grouping, fill, width } = spec;
  if (kind !== "" && kind !== "s") throw valueError(`a string has no format "${kind}"`);
  if (sign !== "" || alternate || align === "=" || grouping !== "") {
    throw valueError("a string takes no sign, #, = or separator");
  }
  const { marks } = rendering;
  const cut = precision === undefined ? text : marks.slice(text, 0, precision);
  return aligned(cut, marks.length(cut), align ?? "<", fill, width);
}

function aligned(text: string, length: number, align: string, fill: string, width: number): string {
  const missing = Math.max(0, width - length);
  const before = align === ">" ? missing : align === "^" ? Math.floor(missing / 2) : 0;
  return fill.repeat(before) + text + fill.repeat(missing - before);
}

function formatNumber(rendering: Rendering, value: NumberValue, spec: Spec): string {
  const { kind, alternate, precision } = spec;
  // True and false are written by name where no other part asks for a number.
  const isFloat = value instanceof Float || "eEfFgG%".includes(kind || "~");
  let negative: boolean;
  let digits: string;
  if (isFloat) {
    if (kind !== "" && !"eEfFgG%n".includes(kind)) {
      throw valueError(`a float has no format "${kind}"`);
    }
    const number = floatOf(value);
    negative = number < 0 || Object.is(number, -0);
    digits = floatDigits(number, { kind: kind === "n" ? "g" : kind, precision, alternate });
  } else {
    const integer = BigInt(integerOf(value));
    if (kind !== "" && !"bcdoxXn".includes(kind)) {
      throw valueError(`an integer has no format "${kind}"`);
    }
    if (precision !== undefined) throw valueError("an integer takes no precision in a format");
    negative = integer < 0n;
    if (kind === "c") return formatCharacter(integer, spec);
    digits = integerDigits(integer, { kind: kind === "" || kind === "n" ? "d" : kind, alternate });
  }
  const sign = negative ? "-" : spec.sign === "-" ? "" : spec.sign;
  return assembled(rendering, sign, digits, spec);
}

function formatCharacter(code: bigint, { sign, grouping, align, fill, width }: Spec): string {
  if (sign !== "" || grouping !== "") throw valueError("a character takes no sign or separator");
  if (code < 0n || code > 0x10ffffn) throw valueError(`${code} is no character`);
  const character = String.fromCodePoint(Number(code));
  return aligned(character, 1, align === "=" ? "<" : align ?? "<", fill, width);
}

/** Sign, prefix and digits with their separators, in the width that is wanted. */
function assembled(rendering: Rendering, sign: string, digits: string, spec: Spec): string {
  const { grouping, kind, fill, width } = spec;
  const align = spec.align ?? ">";
  const prefix = /^0[xXob]/.exec(digits)?.[0] ?? "";
  const bare = digits.slice(prefix.length);
  let [front] = /^\d*/.exec(bare)!;
  let behind = bare.slice(front.length);
  if (prefix !== "" || kind === "x" || kind === "X") {
    front = bare;
    behind = "";
  }
  if (grouping !== "") {
    if (grouping === "," && "boxX".includes(kind || "~")) {
      throw valueError(`"," does not go with "${kind}"`);
    }
    if (kind === "n") throw valueError(`"${grouping}" does not go with "n"`);
    const size = "boxX".includes(kind || "~") ? 4 : 3;
    const least = fill === "0" && align === "="
      ? width - sign.length - prefix.length - behind.length
      : 0;
    let text = grouped(front, grouping, size);
    while (front !== "" && text.length < least) {
      front = "0" + front;
      text = grouped(front, grouping, size);
      rendering.budget.step();
    }
    front = text;
  }
  const body = prefix + front + behind;
  if (align !== "=") return aligned(sign + body, sign.length + body.length, align, fill, width);
  const missing = Math.max(0, width - sign.length - body.length);
  return sign + prefix + fill.repeat(missing) + front + behind;
}
