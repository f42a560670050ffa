/**
 * The parameters of a tool one by one, for formats that write each by itself instead of an object of JSON.
 *
 * @module
 */
import { M40Error } from "../../errors.ts";
import type { Expression } from "../../grammar/mod.ts";
import { isJsonObject, orderedObject } from "../../json/mod.ts";
import type { Tool } from "../conversation.ts";
import type { ToolGrammarWriter } from "./tool_format.ts";

type Schema = Readonly<Record<string, unknown>>;

/** A parameter of a tool. */
export interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly value: ValueSchema;
}

/** A schema within the one of a tool's parameters. */
export interface ValueSchema {
  readonly schema: unknown;
  /** The document that `$ref`s are in. */
  readonly root: unknown;
}

/** Keywords at the top of a tool's parameters that say something about several of them, or cannot be followed. */
const JOINT_KEYWORDS = (
  "allOf anyOf oneOf not if dependentSchemas dependentRequired dependencies patternProperties " +
  "propertyNames enum const $ref $dynamicRef $recursiveRef"
).split(" ");

/** Keywords that leave a text as free as it is without them; these notations have no null. */
const FREE_KEYWORDS = new Set(
  "type title description default examples example deprecated nullable readOnly writeOnly $comment"
    .split(" "),
);

const MOST_REFERENCES = 16;

/**
 * The parameters of a tool, in their order. Parameters that the schema allows without naming them are left out, and what
 * it says about several of them together is left to the model.
 *
 * @throws {M40Error} "invalid_request" for a schema of something else than an object, and where the tool is strict for
 * one that says something about several of them together.
 */
export function parametersOf({ name, parameters, strict = false }: Tool): Parameter[] {
  const refuse = (what: string) =>
    new M40Error(
      "invalid_request",
      `tools: the parameters of "${name}" have ${what} at their top; this model writes parameters one by one, ` +
        "so wanted an object with properties and required",
      "tools",
    );
  if (parameters === undefined || parameters === null || parameters === true) return [];
  const root: ValueSchema = { schema: parameters, root: parameters };
  const schema = resolved(root);
  if (!isSchema(schema)) throw refuse(`a schema that is no object (${typeof schema})`);
  const joint = JOINT_KEYWORDS.find((keyword) => schema[keyword] !== undefined);
  if (joint !== undefined && (strict || joint === "$ref")) throw refuse(`"${joint}"`);
  if (schema.type !== undefined && ![schema.type].flat().includes("object")) {
    throw refuse(`the type ${JSON.stringify(schema.type)}`);
  }
  const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : []);
  const described = isSchema(schema.properties) ? schema.properties : {};
  const properties = orderedObject([
    ...Object.entries(described),
    // What is required without being described may be anything.
    ...[...required].filter((key) => !Object.hasOwn(described, key))
      .map((key): [string, unknown] => [key, {}]),
  ]);
  const { minProperties = 0, maxProperties = Infinity } = schema;
  const names = Object.keys(properties).filter((key) => properties[key] !== false);
  if (strict && Number(minProperties) > required.size) throw refuse('"minProperties"');
  if (strict && Number(maxProperties) < names.length) throw refuse('"maxProperties"');
  return names.map((key) => ({
    name: key,
    required: required.has(key),
    value: { schema: properties[key], root: parameters },
  }));
}

/** Whether a value can only be a text, by the type that its schema names or the values that it lists. */
export function isText(value: ValueSchema): boolean {
  const schema = resolved(value);
  if (!isSchema(schema)) return false;
  if (schema.type !== undefined) return [schema.type].flat().every((type) => type === "string");
  const listed = "const" in schema ? [schema.const] : schema.enum;
  return Array.isArray(listed) && listed.length > 0 &&
    listed.every((one) => typeof one === "string");
}

/**
 * The grammar of a value that is a text, as it is: no quotes, no escapes.
 *
 * @param end What comes behind it.
 */
export function textGrammar(
  { name, strict = false }: Tool,
  value: ValueSchema,
  end: string,
  writer: ToolGrammarWriter,
): Expression {
  const schema = resolved(value);
  const isFree = isSchema(schema) && Object.keys(schema).every((key) => FREE_KEYWORDS.has(key));
  if (isFree) return writer.until(end);
  try {
    return writer.text(standalone(value), end, `tools: the parameters of ${name}`);
  } catch (error) {
    // What cannot be seen to is left to the model, as elsewhere in parameters.
    if (strict || !(error instanceof M40Error)) throw error;
    return writer.until(end);
  }
}

/** A schema by itself: with what its `$ref`s name. */
export function standalone({ schema, root }: ValueSchema): unknown {
  if (!isSchema(schema) || !JSON.stringify(schema).includes('"$ref"')) return schema;
  const place = placeOf(schema, root);
  if (place === undefined) return schema;
  // The document keeps an address of its own, from which its references go on.
  const document = { $id: "urn:m40:parameters", ...(root as Schema) };
  return { $ref: `${document.$id}#${place}`, $defs: { parameters: document } };
}

/** A schema without `$ref`s at its top, as far as they are within the document. */
export function resolved({ schema, root }: ValueSchema): unknown {
  let at = schema;
  for (let i = 0; i < MOST_REFERENCES && isSchema(at) && typeof at.$ref === "string"; i++) {
    const others = Object.keys(at).filter((key) => key !== "$ref" && !FREE_KEYWORDS.has(key));
    const isDocument = at === root;
    if (!at.$ref.startsWith("#") || others.length > (isDocument ? Infinity : 0)) return at;
    const next = lookUp(root, at.$ref.slice(1));
    if (next === undefined) return at;
    at = next;
  }
  return at;
}

/** Whether a schema is one with keywords. */
export function isSchema(schema: unknown): schema is Schema {
  return isJsonObject(schema);
}

/** What a pointer of JSON leads to. */
function lookUp(root: unknown, pointer: string): unknown {
  let at = root;
  for (const part of pointer.split("/").slice(1)) {
    let key: string;
    try {
      key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    } catch {
      return undefined;
    }
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

/** Where in a document a schema of it is, as a pointer. */
function placeOf(schema: unknown, root: unknown, depth = 0): string | undefined {
  if (schema === root) return "";
  if (depth > 64 || typeof root !== "object" || root === null) return undefined;
  for (const [key, item] of Object.entries(root)) {
    const place = placeOf(schema, item, depth + 1);
    if (place === undefined) continue;
    return `/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}${place}`;
  }
}
