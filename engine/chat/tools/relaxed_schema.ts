import { isJsonObject } from "../../json/json_number.ts";
import { mapMembers } from "../../json/ordered_object.ts";
import { type Budget, SchemaRefusal } from "../../grammar/json_schema/limits.ts";

/** Keywords that are left out of one schema one by one; from then on each is left out wherever it stands. */
const MOST_ONE_BY_ONE = 32;
/** Places where a keyword is left out with the same value, one by one; then it is left out wherever it has that. */
const MOST_ALIKE = 4;
/** Characters of a schema that is read again for a unit of work. */
const CHARACTERS_A_UNIT = 256;

/** Keywords whose value has schemas by names. */
const BY_NAME: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "dependentSchemas", "dependencies", "$defs"],
  "definitions",
]);
/** Keywords whose value is no schema, though it may look like one. */
const PLAIN: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "example"]);

type Schema = Record<string, unknown>;

/**
 * Does something with a schema, and where a keyword of it cannot be followed, with the schema without it. A schema
 * with many such keywords loses some that could be followed too: those of the same name, those of the same value
 * first. So the work is done some {@link MOST_ONE_BY_ONE} times at most, and once more for each keyword that there is.
 *
 * @param budget What doing it again costs, beside what the work itself spends.
 * @throws {M40Error} "invalid_request" for a schema that is too complex, or wrong in other ways than by a keyword.
 */
export function relaxing<T>(schema: unknown, budget: Budget, work: (schema: unknown) => T): T {
  let current = schema;
  /** How often a keyword of a value was left out. */
  const alike = new Map<string, number>();
  for (let leftOut = 0;; leftOut++) {
    try {
      return work(current);
    } catch (error) {
      if (!(error instanceof SchemaRefusal) || error.tooMuch) throw error;
      if (find(current, error.place) === undefined) throw error;
      const relaxed = leftOut === 0 ? copyOf(current) : current;
      const { holder, name } = find(relaxed, error.place)!;
      const oneByOne = leftOut < MOST_ONE_BY_ONE;
      const key = keyOf(holder, name);
      const before = alike.get(key) ?? 0;
      alike.set(key, before + 1);
      delete holder[name];
      if (!oneByOne || before >= MOST_ALIKE) {
        const schemas = [...schemasIn(relaxed)];
        // What is no keyword is the name of a property, which says nothing of others.
        if (schemas.includes(holder)) {
          for (const one of schemas) {
            const also = Object.hasOwn(one, name) && (!oneByOne || keyOf(one, name) === key);
            if (also) delete one[name];
          }
        } else if (!oneByOne) throw error;
      }
      current = relaxed;
      budget.spend(Math.ceil(JSON.stringify(current).length / CHARACTERS_A_UNIT), error.place);
    }
  }
}

/** A copy of a schema, with its numbers and the order of its keys. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  return isJsonObject(value) ? mapMembers(value, copyOf) : value;
}

/** A keyword and its value. */
function keyOf(schema: Schema, keyword: string): string {
  return JSON.stringify([keyword, schema[keyword]]);
}

/** Where what a JSON pointer leads to is; undefined where it leads to no member of an object. */
function find(schema: unknown, pointer: string): { holder: Schema; name: string } | undefined {
  const tokens = pointer.split("/").slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
  const name = tokens.pop();
  let at = schema;
  for (const token of tokens) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, token)) return undefined;
    at = (at as Schema)[token];
  }
  if (name === undefined || typeof at !== "object" || at === null || Array.isArray(at)) {
    return undefined;
  }
  return Object.hasOwn(at, name) ? { holder: at as Schema, name } : undefined;
}

/** A schema and all in it. */
function* schemasIn(schema: unknown): Generator<Schema> {
  const open = [schema];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one !== "object" || one === null) continue;
    if (!Array.isArray(one)) yield one as Schema;
    for (const [name, value] of Object.entries(one)) {
      if (PLAIN.has(name)) continue;
      const named = BY_NAME.has(name) && typeof value === "object" && value !== null;
      for (const inner of named ? Object.values(value) : [value]) open.push(inner);
    }
  }
}
