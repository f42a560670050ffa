/**
 * `unevaluatedItems` and `unevaluatedProperties`: what is left by the schemas that an alternative is made
 * of. A value that follows other branches as well has more evaluated, and so less to follow.
 *
 * @module
 */
import type { Alternatives, ArrayShape, Literal, ObjectShape } from "./shapes.ts";
import type { At, LateGroup } from "./reading.ts";

function leftItems(shape: ArrayShape, rest: Literal, place: string): ArrayShape {
  const seen = shape.parts.filter((part) => part.evaluates);
  if (seen.some((part) => part.rest)) return shape;
  const longest = Math.max(0, ...seen.map((part) => part.prefix.length));
  const prefix = Array.from({ length: longest }, () => ANYTHING);
  return { ...shape, parts: [...shape.parts, { prefix, rest, evaluates: true }], place };
}

function leftProperties(shape: ObjectShape, additional: Literal, place: string): ObjectShape {
  const seen = shape.parts.filter((part) => part.evaluates);
  if (seen.some((part) => part.additional)) return shape;
  const properties = new Map(
    seen.flatMap((part) => [...part.properties.keys()].map((key) => [key, undefined] as const)),
  );
  const patterns = seen.flatMap((part) =>
    part.patterns.map(({ pattern, place }) => ({ pattern, place }))
  );
  const part = { properties, patterns, additional, evaluates: true };
  return { ...shape, parts: [...shape.parts, part], place };
}

/** A schema that everything follows. */
const ANYTHING: Literal = { place: { pointer: "", schema: true, key: "true" }, negated: false };

function late(
  keyword: string,
  add: (at: At, before: Alternatives, literal: Literal) => Alternatives,
): LateGroup {
  return { keyword, add: (at, before) => add(at, before, at.reader.literal(at.place, keyword)) };
}

export const UNEVALUATED: readonly LateGroup[] = [
  late("unevaluatedItems", (at, before, literal) => ({
    ...before,
    arrays: before.arrays.map((one) => leftItems(one, literal, at.place.pointer)),
  })),
  late("unevaluatedProperties", (at, before, literal) => ({
    ...before,
    objects: before.objects.map((one) => leftProperties(one, literal, at.place.pointer)),
  })),
];
