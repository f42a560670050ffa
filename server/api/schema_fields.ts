import type { Schema } from "./document.ts";

/** A field of an object, for people. */
export interface SchemaField {
  readonly name: string;
  /** What it may be, in a few words. */
  readonly type: string;
  readonly required: boolean;
  /** Sentences; may be empty. */
  readonly description: string;
  /** The fields that it has itself, or those of its elements. */
  readonly fields: readonly SchemaField[];
}

/** Says behind a field's type whether the field must be there. */
export type Presence = (required: boolean) => string;

/** In requests most fields may be left out. */
export const inRequest: Presence = (required) => required ? ", required" : "";

/** In answers most fields are there. */
export const inAnswer: Presence = (required) => required ? "" : ", may be absent";

/** Schemas by their names. */
type Schemas = Readonly<Record<string, Schema>>;

/** The fields of an object's schema, those of its parts among them. */
export function schemaFields(schema: Schema, schemas: Schemas): SchemaField[] {
  const { properties = {}, required = [] } = resolve(schema, schemas);
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: typeInWords(property, schemas) +
      (required.includes(name) && isNullable(property) ? " or null" : ""),
    required: required.includes(name),
    description: property.description ?? resolve(property, schemas).description ?? "",
    fields: schemaFields(objectIn(property, schemas), schemas),
  }));
}

/** Whether a field may be null that is not simply null. */
function isNullable({ type, anyOf }: Schema): boolean {
  return anyOf?.some((one) => one.type === "null") ??
    (Array.isArray(type) && type.includes("null"));
}

/** What a schema asks for, in a few words, but for null, which counts as absent. */
export function typeInWords(schema: Schema, schemas: Schemas): string {
  const { type, anyOf, items, minimum, exclusiveMinimum, maximum, ...rest } = resolve(
    schema,
    schemas,
  );
  if (anyOf !== undefined) {
    const others = anyOf.filter((one) => one.type !== "null");
    return [...new Set(others.map((one) => typeInWords(one, schemas)))].join(", or ");
  }
  if (rest.const !== undefined) return JSON.stringify(rest.const);
  if (rest.enum !== undefined) return rest.enum.map((one) => JSON.stringify(one)).join(" or ");
  const names = typeof type === "string" ? [type] : type ?? [];
  const name = names.filter((one) => one !== "null" || names.length === 1).join(" or ") ||
    "anything";
  if (name === "array") {
    return items === undefined ? "array" : `array of: ${typeInWords(items, schemas)}`;
  }
  const least = minimum === undefined
    ? exclusiveMinimum === undefined ? "" : ` above ${exclusiveMinimum}`
    : ` from ${minimum}`;
  // Bounds that are there because numbers end say nothing.
  const most = maximum === undefined || maximum >= 2 ** 31 - 1 ? "" : ` to ${maximum}`;
  return name + least + most;
}

/** The object that a schema is, or that its elements are. */
function objectIn(schema: Schema, schemas: Schemas): Schema {
  const resolved = resolve(schema, schemas);
  if (resolved.items !== undefined) return objectIn(resolved.items, schemas);
  const inside = resolved.anyOf?.map((one) => objectIn(one, schemas));
  return inside?.find(({ properties }) => properties !== undefined) ?? resolved;
}

function resolve(schema: Schema, schemas: Schemas): Schema {
  if (schema.$ref === undefined) return schema;
  return schemas[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)];
}
