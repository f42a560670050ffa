import { valueError } from "./errors.ts";
import { exponentText, fixed, floatText, scientific } from "./float_text.ts";

/** Digits behind the point that a format may ask for. */
const MOST_DIGITS = 5000;

export interface NumberFormat {
  /** One of d b o x X c e E f F g G % n, or empty for a float in the fewest digits that identify it. */
  readonly kind: string;
  readonly precision?: number;
  /** `#`: prefixes of whole numbers, and a point in any case. */
  readonly alternate: boolean;
}

/** The size of a whole number in digits of its base; without a sign. */
export function integerDigits(value: bigint, { kind, alternate }: NumberFormat): string {
  const size = value < 0n ? -value : value;
  const base = { b: 2, o: 8, x: 16, X: 16 }[kind] ?? 10;
  const digits = size.toString(base);
  const prefix = alternate && base !== 10 ? "0" + kind : "";
  return prefix + (kind === "X" ? digits.toUpperCase() : digits);
}

/** The size of a float; without a sign. */
export function floatDigits(value: number, { kind, precision, alternate }: NumberFormat): string {
  const lower = kind.toLowerCase();
  if ((precision ?? 0) > MOST_DIGITS) throw valueError(`a format asks for ${precision} digits`);
  const cased = (text: string) => kind !== lower ? text.toUpperCase() : text;
  if (!Number.isFinite(value)) {
    return cased(Number.isNaN(value) ? "nan" : "inf") + (kind === "%" ? "%" : "");
  }
  const point = (text: string) => alternate && !text.includes(".") ? text + "." : text;
  switch (lower) {
    case "f":
      return point(fixed(value, precision ?? 6));
    case "%":
      return point(fixed(value * 100, precision ?? 6)) + "%";
    case "e": {
      const [digits, exponent] = scientific(value, precision ?? 6);
      return cased(point(withPoint(digits, 1)) + "e" + exponentText(exponent));
    }
    case "":
      if (precision === undefined) return floatText(Math.abs(value));
      return general(value, precision || 1, false, true);
  }
  return cased(general(value, (precision ?? 6) || 1, alternate, false));
}

function withPoint(digits: string, at: number): string {
  return digits.length > at ? `${digits.slice(0, at)}.${digits.slice(at)}` : digits;
}

function withoutZeros(text: string): string {
  let end = text.length;
  while (text[end - 1] === "0") end--;
  return text.slice(0, text[end - 1] === "." ? end - 1 : end);
}

/** C's `%g`: that many digits, an exponent where the number is small or large. */
function general(value: number, digits: number, alternate: boolean, asRepr: boolean): string {
  const [found, exponent] = scientific(value, digits - 1);
  const trim = (text: string) => alternate || !text.includes(".") ? text : withoutZeros(text);
  const point = (text: string) => alternate && !text.includes(".") ? text + "." : text;
  // Python's own form without a type has a digit behind the point, or an exponent one digit sooner.
  if (exponent < -4 || exponent >= (asRepr ? digits - 1 || 1 : digits)) {
    return point(trim(withPoint(found, 1))) + "e" + exponentText(exponent);
  }
  const text = exponent < 0
    ? "0." + "0".repeat(-exponent - 1) + found
    : withPoint(found.padEnd(exponent + 1, "0"), exponent + 1);
  const trimmed = point(trim(text));
  return asRepr && !trimmed.includes(".") ? trimmed + ".0" : trimmed;
}

/** Digits with a separator every three or four of them. */
export function grouped(digits: string, separator: string, size: number): string {
  let text = "";
  for (let i = 0; i < digits.length; i++) {
    if (i > 0 && (digits.length - i) % size === 0) text += separator;
    text += digits[i];
  }
  return text;
}
