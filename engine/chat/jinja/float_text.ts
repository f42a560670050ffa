/**
 * Floats in decimal digits, exactly as C's library and Python write them: half to even, whatever the digits.
 *
 * @module
 */

/** A positive float as a fraction of whole numbers. */
function fraction(value: number): [numerator: bigint, denominator: bigint] {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const exponent = (bits.getUint16(0) >> 4) & 0x7ff;
  const low = bits.getBigUint64(0) & 0xfffffffffffffn;
  const mantissa = exponent === 0 ? low : low | (1n << 52n);
  const power = Math.max(exponent, 1) - 1075;
  return power >= 0 ? [mantissa << BigInt(power), 1n] : [mantissa, 1n << BigInt(-power)];
}

/** A quotient, rounded half to even; both are positive. */
export function divideToEven(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twice = 2n * (numerator % denominator);
  const up = twice > denominator || (twice === denominator && quotient % 2n === 1n);
  return up ? quotient + 1n : quotient;
}

/** The size of a finite float times a power of ten, rounded half to even. */
function scaled(value: number, power: number): bigint {
  const [numerator, denominator] = fraction(Math.abs(value));
  const ten = 10n ** BigInt(Math.abs(power));
  return power >= 0
    ? divideToEven(numerator * ten, denominator)
    : divideToEven(numerator, denominator * ten);
}

/** The size of a finite float with that many digits behind the point; without a sign. */
export function fixed(value: number, digits: number): string {
  const all = scaled(value, digits).toString().padStart(digits + 1, "0");
  return digits === 0 ? all : `${all.slice(0, -digits)}.${all.slice(-digits)}`;
}

/** A finite float's size as digits and an exponent of ten: d.ddd times 10 to the exponent. */
export function scientific(value: number, digits: number): [digits: string, exponent: number] {
  const size = Math.abs(value);
  if (size === 0) return ["0".repeat(digits + 1), 0];
  let exponent = Number(/e([-+]\d+)$/.exec(size.toExponential())![1]);
  let found = scaled(size, digits - exponent).toString();
  if (found.length > digits + 1) found = scaled(size, digits - ++exponent).toString();
  return [found, exponent];
}

/** An exponent with its sign and at least two digits. */
export function exponentText(exponent: number): string {
  return (exponent < 0 ? "-" : "+") + String(Math.abs(exponent)).padStart(2, "0");
}

/** A float rounded half to even to that many digits behind the point, as Python's `round`. */
export function roundFloat(value: number, digits: number): number {
  if (!Number.isFinite(value) || digits > 323) return value;
  if (digits < -308) return 0 * value;
  const rounded = Number(`${scaled(value, digits)}e${-digits}`);
  return value < 0 || Object.is(value, -0) ? -rounded : rounded;
}

/** A float as Python's `repr` writes it: the fewest digits that give it back, an exponent from 1e16 on. */
export function floatText(value: number, json = false): string {
  if (!Number.isFinite(value)) {
    const name = Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return json ? { nan: "NaN", inf: "Infinity", "-inf": "-Infinity" }[name]! : name;
  }
  if (Object.is(value, -0)) return "-0.0";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}
