import type { Budget } from "./limits.ts";
import { isMultiple, type ListedNumber } from "./number_values.ts";
import type { NumberShape } from "./shapes.ts";

/** The values that a shape lists and allows. */
export function allowedValues(
  { values = [], multiples }: NumberShape,
  budget: Budget,
): readonly ListedNumber[] {
  budget.look(values.length, "");
  return values.filter(({ decimal }) =>
    multiples.every(({ of, place, negated }) => {
      budget.spend(1, place);
      return isMultiple(decimal, of) !== negated;
    })
  );
}
