import { TemplateLimitError } from "./budget.ts";
import { overflowError, TemplateError, typeError, valueError } from "./errors.ts";
import { divideToEven, roundFloat } from "./float_text.ts";
import { Float, isInteger, typeName, type Value } from "./values.ts";

/** A number, true and false among them. */
export type NumberValue = number | bigint | boolean | Float;

/** Bits of a whole number; what has more is refused. */
const MOST_BITS = 2 ** 17;
/** Digits of a whole number that is written or read, as Python has it. */
const MOST_DIGITS = 4300;

export const isNumber = (value: Value | undefined): value is NumberValue =>
  isInteger(value) || typeof value === "boolean" || value instanceof Float;

/** A whole number out of one of any size. */
export function whole(value: bigint): number | bigint {
  return value >= -0x1fffffffffffffn && value <= 0x1fffffffffffffn ? Number(value) : value;
}

/** A whole number, true and false as 1 and 0. */
export function integerOf(value: NumberValue): number | bigint {
  return typeof value === "boolean" ? Number(value) : value as number | bigint;
}

export function floatOf(value: NumberValue): number {
  if (value instanceof Float) return value.value;
  const float = Number(value);
  if (!Number.isFinite(float)) throw overflowError("a whole number is too large for a float");
  return float;
}

export function truncated(value: number): number | bigint {
  if (Number.isNaN(value)) throw valueError("NaN is no whole number");
  if (!Number.isFinite(value)) throw overflowError("infinity is no whole number");
  const cut = Math.trunc(value) + 0;
  return Number.isSafeInteger(cut) ? cut : BigInt(cut);
}

export function integerText(value: number | bigint): string {
  if (typeof value === "number") return String(value);
  if (bitsOf(value) > MOST_DIGITS * 3.33) {
    throw valueError(`a whole number has more than ${MOST_DIGITS} digits`);
  }
  return value.toString();
}

function bitsOf(value: bigint): number {
  return value.toString(16).length * 4;
}

function bounded(value: bigint): number | bigint {
  if (value > 1n << 64n || value < -(1n << 64n)) checkBits(bitsOf(value));
  return whole(value);
}

function checkBits(bits: number): void {
  if (bits > MOST_BITS) {
    throw new TemplateLimitError(`made a number of more than ${MOST_BITS} bits`);
  }
}

/**
 * An operation of arithmetic.
 *
 * @throws {TemplateError} Where Python would.
 */
export function calculate(operator: string, a: NumberValue, b: NumberValue): Value {
  const ofFloats = a instanceof Float || b instanceof Float;
  const [x, y] = ofFloats ? [floatOf(a), floatOf(b)] : [integerOf(a), integerOf(b)];
  if (Number(y) === 0 && ["/", "//", "%"].includes(operator)) {
    throw new TemplateError("other", "division by zero");
  }
  if (ofFloats) return new Float(FLOAT_OPERATIONS[operator](x as number, y as number));
  return calculateIntegers(operator, x, y);
}

const FLOAT_OPERATIONS: Readonly<Record<string, (x: number, y: number) => number>> = {
  "+": (x, y) => x + y,
  "-": (x, y) => x - y,
  "*": (x, y) => x * y,
  "/": (x, y) => x / y,
  "//": (x, y) => divideFloats(x, y)[0],
  "%": (x, y) => divideFloats(x, y)[1],
  "**": power,
};

/** The floored quotient and what is left, which has the divisor's sign, as Python finds them. */
function divideFloats(x: number, y: number): [number, number] {
  let left = x % y;
  let quotient = (x - left) / y;
  if (left !== 0) {
    if ((y < 0) !== (left < 0)) {
      left += y;
      quotient -= 1;
    }
  } else left = y < 0 ? -0 : 0;
  if (quotient === 0) return [x / y < 0 || Object.is(x / y, -0) ? -0 : 0, left];
  const floor = Math.floor(quotient);
  return [quotient - floor > 0.5 ? floor + 1 : floor, left];
}

function power(x: number, y: number): number {
  if (x === 0 && y < 0) throw new TemplateError("other", "0 cannot be raised to a negative power");
  if (x < 0 && Number.isFinite(x) && Number.isFinite(y) && !Number.isInteger(y)) {
    throw new TemplateError("other", "complex numbers are not supported here");
  }
  // Python knows 1 to any power, and -1 to infinity, as 1.
  if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  const result = x ** y;
  if (!Number.isFinite(result) && Number.isFinite(x) && Number.isFinite(y)) {
    throw overflowError(`${x} ** ${y} is too large`);
  }
  return result;
}

function calculateIntegers(operator: string, x: number | bigint, y: number | bigint): Value {
  const small = typeof x === "number" && typeof y === "number";
  if (operator === "/") return new Float(small ? x / y : quotient(BigInt(x), BigInt(y)));
  if (operator === "**") return integerPower(x, y);
  if (small && "+-*".includes(operator)) {
    const quick = FLOAT_OPERATIONS[operator](x, y);
    if (Number.isSafeInteger(quick)) return quick + 0;
  }
  const [a, b] = [BigInt(x), BigInt(y)];
  switch (operator) {
    case "+":
      return bounded(a + b);
    case "-":
      return bounded(a - b);
    case "*":
      return bounded(a * b);
    case "//":
      return whole(floored(a, b));
  }
  return whole(a - b * floored(a, b));
}

function floored(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b !== 0n && (a < 0n) !== (b < 0n) ? quotient - 1n : quotient;
}

/** The float that is nearest to a quotient. */
function quotient(a: bigint, b: bigint): number {
  const [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  // 66 bits and one for the rest are enough to round once.
  const shift = 66 - (x.toString(2).length - y.toString(2).length);
  const [n, d] = shift > 0 ? [x << BigInt(shift), y] : [x, y << BigInt(-shift)];
  const found = n / d | (n % d === 0n ? 0n : 1n);
  const size = Number(found) * 2 ** -shift;
  if (!Number.isFinite(size)) throw overflowError("a quotient is too large for a float");
  return (a < 0n) === (b < 0n) ? size : -size;
}

function integerPower(x: number | bigint, y: number | bigint): Value {
  if (y < 0) return new Float(power(floatOf(x), floatOf(y)));
  const base = BigInt(x);
  if (base >= -1n && base <= 1n) {
    return whole(base ** (BigInt(y) % 2n === 0n && y != 0 ? 2n : BigInt(y) === 0n ? 0n : 1n));
  }
  const bits = (bitsOf(base < 0n ? -base : base) - 3) * Number(y);
  checkBits(bits);
  return bounded(base ** BigInt(y));
}

/** Below 0, 0 or above 0, as numbers are ordered; NaN where they are not. */
export function compareNumbers(a: NumberValue, b: NumberValue): number {
  const [x, y] = [a, b].map((one) => one instanceof Float ? one.value : integerOf(one));
  return x < y ? -1 : x > y ? 1 : x == y ? 0 : NaN;
}

/** `-a` or `+a`. */
export function signed(value: Value, negative: boolean): Value {
  if (value instanceof Float) return negative ? new Float(-value.value) : value;
  if (!isNumber(value)) {
    throw typeError(`${typeName(value)} has no ${negative ? "negative" : "positive"}`);
  }
  const integer = integerOf(value);
  return negative ? (typeof integer === "bigint" ? whole(-integer) : 0 - integer) : integer;
}

/** Half to even, as Python's `round`; whole numbers stay whole. */
export function round(value: NumberValue, digits: number): Value {
  if (value instanceof Float) return new Float(roundFloat(value.value, digits));
  const integer = integerOf(value);
  if (digits >= 0) return integer;
  if (-digits > MOST_DIGITS) return 0;
  const unit = 10n ** BigInt(-digits);
  const big = BigInt(integer);
  const rounded = divideToEven(big < 0n ? -big : big, unit) * unit;
  return whole(big < 0n ? -rounded : rounded);
}

const DIGITS = /^([+-]?)((?:0[xob])?)(_?[\p{Nd}a-z]+(?:_[\p{Nd}a-z]+)*)$/iu;
const PREFIXES: Readonly<Record<number, string>> = { 2: "0b", 8: "0o", 16: "0x" };

/** A text as Python's `int` reads it; undefined where it is no whole number. */
export function parseInteger(text: string, base = 10): number | bigint | undefined {
  if (base !== 0 && (base < 2 || base > 36)) throw valueError("int wants a base of 0 or 2 to 36");
  const match = DIGITS.exec(text);
  if (match === null) return undefined;
  let [, sign, prefix, rest] = match;
  prefix = prefix.toLowerCase();
  let actual = base;
  const prefixed = [2, 8, 16].find((one) => PREFIXES[one] === prefix);
  if (prefixed !== undefined && (base === 0 || base === prefixed)) actual = prefixed;
  else {
    if (rest.startsWith("_") && prefix === "") return undefined;
    rest = prefix + rest;
    if (base === 0) {
      if (/^0/.test(rest) && !/^[0_]+$/.test(rest)) return undefined;
      actual = 10;
    }
  }
  const digits = asciiDigits(rest).replaceAll("_", "").toLowerCase();
  for (const digit of digits) if (parseInt(digit, 36) >= actual) return undefined;
  if (digits.length > MOST_DIGITS && ![2, 4, 8, 16, 32].includes(actual)) {
    throw valueError(`a text has more than ${MOST_DIGITS} digits`);
  }
  checkBits(digits.length * Math.log2(actual));
  let size: bigint;
  if (PREFIXES[actual] !== undefined) size = BigInt(PREFIXES[actual] + digits);
  else if (actual === 10) size = BigInt(digits);
  else {
    size = 0n;
    for (const digit of digits) size = size * BigInt(actual) + BigInt(parseInt(digit, 36));
  }
  return whole(sign === "-" ? -size : size);
}

const FLOAT =
  /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i;

/** A text as Python's `float` reads it; undefined where it is no number. */
export function parseFloatText(text: string): number | undefined {
  const special = /^([+-]?)(?:(inf(?:inity)?)|nan)$/i.exec(text);
  if (special !== null) {
    if (special[2] === undefined) return NaN;
    return special[1] === "-" ? -Infinity : Infinity;
  }
  const ascii = asciiDigits(text);
  return FLOAT.test(ascii) ? Number(ascii.replaceAll("_", "")) : undefined;
}

/** Digits of any script as 0 to 9; they come in tens, and every ten begins where no digit stands before it. */
function asciiDigits(text: string): string {
  return text.replace(/(?![0-9])\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)!;
    let first = code;
    while (code - first < 9 && /\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
    return String(code - first);
  });
}
