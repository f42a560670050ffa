import type { SchemaReader } from "./reading.ts";
import { NOTHING_FOLLOWS } from "./read_objects.ts";
import type { ArrayShape, Literal, ObjectShape } from "./shapes.ts";

/** What an object's shape wants of the value of a property with a given name. */
export function schemasOf(shape: ObjectShape, key: string, reader: SchemaReader): Literal[] {
  if (shape.names.length > 0) {
    const names = reader.readAll(shape.names).strings;
    if (!names.some((one) => reader.strings.admits(one, key))) return [NOTHING_FOLLOWS];
  }
  return schemasWhere(
    shape,
    key,
    (pattern, place) => reader.strings.matches(pattern, key, place),
    reader,
  );
}

/** The same for a name that only its patterns match, or nothing does. */
export function schemasWhere(
  shape: ObjectShape,
  key: string | undefined,
  matches: (pattern: string, place: string) => boolean,
  { budget }: SchemaReader,
): Literal[] {
  return shape.parts.flatMap((part) => {
    budget.look(1 + part.patterns.length, shape.place);
    const patterns = part.patterns.filter((one) => matches(one.pattern, one.place));
    const known = key !== undefined && part.properties.has(key);
    const wanted = known ? [part.properties.get(key)] : [];
    wanted.push(...patterns.map((one) => one.literal));
    if (!known && patterns.length === 0) wanted.push(part.additional);
    return wanted.filter((literal) => literal !== undefined);
  });
}

/** What an array's shape wants of an item. */
export function itemSchemas(
  shape: ArrayShape,
  index: number,
  { budget }: SchemaReader,
): Literal[] {
  budget.look(shape.parts.length, shape.place);
  return shape.parts.flatMap((part) => {
    const literal = index < part.prefix.length ? part.prefix[index] : part.rest;
    return literal ? [literal] : [];
  });
}

/** From where on all items are alike. */
export function prefixOf(shape: ArrayShape): number {
  return shape.parts.reduce((longest, part) => Math.max(longest, part.prefix.length), 0);
}
