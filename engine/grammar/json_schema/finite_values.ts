import type { Expression } from "../grammar.ts";
import { text } from "../expressions.ts";
import type { Budget } from "./limits.ts";
import { isMultiple, type ListedNumber, oneOfEach } from "./number_values.ts";
import type { SchemaReader } from "./reading.ts";
import type { Alternatives, NumberShape } from "./shapes.ts";

/** The texts of all values, which all differ; undefined where they are not listed. */
export function valuesOf(all: Alternatives, reader: SchemaReader): Expression[] | undefined {
  if (all.arrays.length > 0 || all.objects.length > 0) return undefined;
  const texts = [...(all.null ? [null] : []), ...all.booleans].map((one) => JSON.stringify(one));
  const numbers: ListedNumber[] = [];
  for (const shape of all.numbers) {
    if (!shape.values) return undefined;
    for (const value of allowedValues(shape, reader.budget)) numbers.push(value);
  }
  for (const { text } of oneOfEach(numbers)) texts.push(text);
  for (const shape of all.strings) {
    const listed = reader.strings.listed(shape);
    if (!listed) return undefined;
    reader.budget.look(listed.length, shape.place);
    for (const value of listed) texts.push(JSON.stringify(value));
  }
  return [...new Set(texts)].map(text);
}

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
