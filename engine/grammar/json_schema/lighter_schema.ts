import { isJsonObject, numberOf } from "../../json/mod.ts";
import { copyOf, schemasIn } from "./schema_copy.ts";

/** Maxima up to this are no large ones. */
const SMALL_MAXIMUM = 64;
const MAXIMA = ["maxLength", "maxItems", "maxProperties"];
const COSTLY = [
  ...MAXIMA,
  ...("minLength minItems minProperties pattern format multipleOf contains minContains maxContains " +
    "uniqueItems propertyNames not if then else dependentSchemas dependentRequired dependencies " +
    "unevaluatedItems unevaluatedProperties").split(" "),
];

/**
 * Schemas that cost too much, relaxed in steps: first without large maxima, which most models keep to by themselves.
 * Then without what is counted or looked for in texts, at last with only the type at the top.
 */
const STEPS: readonly ((schema: unknown) => unknown)[] = [
  (schema) => without(schema, MAXIMA, (value) => (numberOf(value) ?? 0) > SMALL_MAXIMUM),
  (schema) => without(schema, COSTLY, () => true),
  (schema) => {
    const type = isJsonObject(schema) ? schema.type : undefined;
    return typeof type === "string" ? { type } : {};
  },
];

/** How often a schema can be made lighter. */
export const LIGHTER_STEPS = STEPS.length;

/**
 * A schema with less in it.
 *
 * @param step How often that was done before, less than {@link LIGHTER_STEPS}.
 */
export function lighter(schema: unknown, step: number): unknown {
  return STEPS[step](schema);
}

function without(
  schema: unknown,
  keywords: readonly string[],
  drops: (value: unknown) => boolean,
): unknown {
  const copy = copyOf(schema);
  for (const one of schemasIn(copy)) {
    for (const keyword of keywords) {
      if (Object.hasOwn(one, keyword) && drops(one[keyword])) delete one[keyword];
    }
  }
  return copy;
}

/** Keywords that make grammars large, with how large they make them. */
export function heaviest(schema: unknown): string | undefined {
  let most = 0;
  let found: string | undefined;
  for (const one of schemasIn(schema)) {
    for (const keyword of COSTLY) {
      if (!Object.hasOwn(one, keyword)) continue;
      const weight = 1 + Math.max(0, numberOf(one[keyword]) ?? 0);
      if (weight <= most) continue;
      most = weight;
      found = `"${keyword}": ${String(JSON.stringify(one[keyword])).slice(0, 60)}`;
    }
  }
  return found;
}
