import { JsonNumber } from "../../json/mod.ts";

/** `units` divided by ten to the power of `places`, which is from 0 on. */
export interface Decimal {
  readonly units: bigint;
  readonly places: number;
}

/** Digits before the point, and behind it, that a schema's numbers may have. */
export const MOST_DIGITS = 500;

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * The decimal that a value of JSON is, with no more places than it needs; undefined where it is no number, or has so
 * many digits that nothing is done with it.
 */
export function decimalOf(value: unknown): Decimal | undefined {
  if (typeof value !== "number" && !(value instanceof JsonNumber)) return undefined;
  const text = String(value);
  if (text.length > MOST_DIGITS) return undefined;
  const parts = NUMBER.exec(text);
  if (parts === null) return undefined;
  const [, sign, whole, fraction = "", exponent = "0"] = parts;
  const digits = (whole + fraction).replace(/^0+/, "");
  if (digits === "") return ZERO;
  const bare = digits.replace(/(?<!0)0+$/, "");
  const places = fraction.length - Number(exponent) - (digits.length - bare.length);
  if (places > MOST_DIGITS || bare.length - places > MOST_DIGITS) return undefined;
  const units = BigInt(sign + bare);
  return places >= 0 ? { units, places } : { units: units * 10n ** BigInt(-places), places: 0 };
}

export const ZERO: Decimal = { units: 0n, places: 0 };

/** The same value with that many digits behind the point, which must be no fewer. */
export const withPlaces = ({ units, places }: Decimal, wanted: number): bigint =>
  units * 10n ** BigInt(wanted - places);

/** Below 0 where `a` is less, above 0 where `b` is. */
export function compare(a: Decimal, b: Decimal): number {
  let [x, y] = [a.units, b.units];
  if (a.places !== b.places) {
    const places = Math.max(a.places, b.places);
    [x, y] = [withPlaces(a, places), withPlaces(b, places)];
  }
  return x < y ? -1 : x > y ? 1 : 0;
}

/** The whole number that is next from a decimal on, up or down. */
export function wholeFrom({ units, places }: Decimal, up: boolean): bigint {
  const scale = 10n ** BigInt(places);
  const cut = units / scale;
  if (cut * scale === units) return cut;
  if (up) return units > 0n ? cut + 1n : cut;
  return units < 0n ? cut - 1n : cut;
}

export function isMultiple(value: Decimal, of: Decimal): boolean {
  const places = Math.max(value.places, of.places);
  return withPlaces(value, places) % withPlaces(of, places) === 0n;
}

/** A number that a schema lists. */
export interface ListedNumber {
  /** Of numbers of one value, such as 1 and 1.0, this is one object. */
  readonly decimal: Decimal;
  /** As the schema has it. */
  readonly text: string;
}

/** The numbers that a schema lists. */
export class ListedNumbers {
  private readonly decimals = new Map<string, Decimal>();

  /** A number of the schema; undefined where it has too many digits. */
  of(value: number | JsonNumber): ListedNumber | undefined {
    const decimal = decimalOf(value);
    if (decimal === undefined) return undefined;
    const key = `${decimal.units}/${decimal.places}`;
    return {
      decimal: this.decimals.getOrInsertComputed(key, () => decimal),
      text: JSON.stringify(value),
    };
  }
}

/** Of numbers of one value the first. */
export function oneOfEach(numbers: readonly ListedNumber[]): ListedNumber[] {
  const byValue = new Map<Decimal, ListedNumber>();
  for (const number of numbers) byValue.getOrInsert(number.decimal, number);
  return [...byValue.values()];
}
