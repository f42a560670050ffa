/**
 * Numbers as exact decimals.
 *
 * @module
 */
import type { Budget } from "./limits.ts";
import type { NumberShape } from "./shapes.ts";

/** `units` divided by ten to the power of `places`. */
export interface Decimal {
  readonly units: bigint;
  readonly places: number;
}

/** The decimal that a number is written as. */
export function decimalOf(value: number): Decimal {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/
    .exec(String(value))!;
  const units = BigInt(sign + whole + fraction);
  const places = fraction.length - Number(exponent);
  return places >= 0 ? { units, places } : { units: units * 10n ** BigInt(-places), places: 0 };
}

/** The same value with so many places, which must be no fewer. */
export const withPlaces = ({ units, places }: Decimal, wanted: number): bigint =>
  units * 10n ** BigInt(wanted - places);

export function isMultiple(value: number, of: number): boolean {
  const [a, b] = [decimalOf(value), decimalOf(of)];
  const places = Math.max(a.places, b.places);
  return withPlaces(a, places) % withPlaces(b, places) === 0n;
}

/** The values that a shape lists and allows. */
export function allowedValues(
  { values = [], multiples }: NumberShape,
  budget: Budget,
): readonly number[] {
  budget.look(values.length, "");
  return values.filter((value) =>
    multiples.every(({ of, place, negated }) => {
      budget.spend(1, place);
      return isMultiple(value, of) !== negated;
    })
  );
}
