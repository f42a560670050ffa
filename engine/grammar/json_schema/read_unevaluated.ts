import { ANYTHING } from "./document.ts";
import type { ArrayShape, Literal, ObjectShape } from "./shapes.ts";
import type { At, LateGroup } from "./reading.ts";

function leftItems(
  shape: ArrayShape,
  rest: Literal,
  { place: { pointer }, reader }: At,
): ArrayShape {
  const seen = shape.parts.filter((part) => part.evaluates);
  if (seen.some((part) => part.rest)) return shape;
  const longest = Math.max(0, ...seen.map((part) => part.prefix.length));
  reader.budget.look(shape.parts.length + longest, pointer);
  const prefix = Array.from({ length: longest }, () => ANYTHING_FOLLOWS);
  return { ...shape, parts: [...shape.parts, { prefix, rest, evaluates: true }], place: pointer };
}

function leftProperties(
  shape: ObjectShape,
  additional: Literal,
  { place: { pointer }, reader }: At,
): ObjectShape {
  const seen = shape.parts.filter((part) => part.evaluates);
  if (seen.some((part) => part.additional)) return shape;
  const named = seen.reduce((all, part) => all + part.properties.size + part.patterns.length, 0);
  reader.budget.look(shape.parts.length + named, pointer);
  const properties = new Map<string, undefined>();
  for (const part of seen) {
    for (const key of part.properties.keys()) properties.set(key, undefined);
  }
  const patterns = seen.flatMap((part) =>
    part.patterns.map(({ pattern, place }) => ({ pattern, place }))
  );
  const part = { properties, patterns, additional, evaluates: true };
  return { ...shape, parts: [...shape.parts, part], place: pointer };
}

/** A schema that everything follows. */
const ANYTHING_FOLLOWS: Literal = { place: ANYTHING, negated: false };

/**
 * `unevaluatedItems` and `unevaluatedProperties`: what is left by the schemas that an alternative is made of. A value
 * that follows other branches as well has more evaluated, and so less to follow.
 */
export const UNEVALUATED: readonly LateGroup[] = [{
  keyword: "unevaluatedItems",
  add(at, before) {
    const rest = at.reader.literal(at.place, this.keyword);
    return { ...before, arrays: before.arrays.map((one) => leftItems(one, rest, at)) };
  },
}, {
  keyword: "unevaluatedProperties",
  add(at, before) {
    const rest = at.reader.literal(at.place, this.keyword);
    return { ...before, objects: before.objects.map((one) => leftProperties(one, rest, at)) };
  },
}];
