/**
 * `properties`, `patternProperties`, `additionalProperties`, `propertyNames`, `required`, `minProperties`,
 * `maxProperties`, `dependentRequired`, `dependentSchemas` and `dependencies`, which those two were once.
 *
 * @module
 */
import { countOf, leastOf, mostOf } from "./counts.ts";
import { isObject } from "./document.ts";
import { MAX_ALTERNATIVES, refusal } from "./limits.ts";
import type { At, Group } from "./reading.ts";
import {
  ALL,
  type Alternatives,
  ANY_OBJECT,
  intersection,
  limited,
  type Literal,
  NONE,
  type ObjectPart,
  type ObjectShape,
  union,
} from "./shapes.ts";

/** A schema that nothing follows. */
export const NOTHING_FOLLOWS: Literal = {
  place: { pointer: "", schema: false, key: "false" },
  negated: false,
};

function object(at: At, keyword: string, shape: Partial<ObjectShape>): ObjectShape {
  return { ...ANY_OBJECT, ...shape, place: `${at.place.pointer}/${keyword}` };
}

const objects = (...objects: ObjectShape[]): Alternatives => ({ ...NONE, objects });
const others = (...objects: ObjectShape[]): Alternatives => limited({ objects });

/** A part that says something of one property alone. */
const about = (key: string, literal: Literal): ObjectPart => ({
  properties: new Map([[key, literal]]),
  patterns: [],
  evaluates: false,
});

function named(at: At, keyword: string): [string, unknown][] {
  const value = at.schema[keyword] ?? {};
  if (isObject(value)) return Object.entries(value);
  throw refusal(`${at.place.pointer}/${keyword}`, "it must be an object");
}

function keysOf(value: unknown, place: string): string[] {
  if (Array.isArray(value) && value.every((key) => typeof key === "string")) return value;
  throw refusal(place, `it must be a list of strings, not ${JSON.stringify(value)}`);
}

function partOf(at: At): ObjectPart {
  const { place, reader } = at;
  return {
    properties: new Map(
      named(at, "properties").map(([key]) => [key, reader.literal(place, "properties", key)]),
    ),
    patterns: named(at, "patternProperties").map(([pattern]) => ({
      pattern,
      place: `${place.pointer}/patternProperties`,
      literal: reader.literal(place, "patternProperties", pattern),
    })),
    additional: Object.hasOwn(at.schema, "additionalProperties")
      ? reader.literal(place, "additionalProperties")
      : undefined,
    evaluates: true,
  };
}

const properties: Group = {
  keywords: ["properties", "patternProperties", "additionalProperties"],
  holds: (at) => others(object(at, "properties", { parts: [partOf(at)] })),
  fails(at) {
    const part = partOf(at);
    for (const keyword of ["patternProperties", "additionalProperties"]) {
      const value = at.schema[keyword];
      const nothing = value === undefined || value === true ||
        (isObject(value) && Object.keys(value).length === 0);
      if (nothing) continue;
      throw refusal(
        `${at.place.pointer}/${keyword}`,
        "the opposite of it is wanted here (by not, oneOf or if), which no grammar is made of",
      );
    }
    const wrong = [...part.properties].map(([key, literal]) =>
      object(at, "properties", {
        parts: [about(key, { ...literal!, negated: true })],
        required: [key],
      })
    );
    if (wrong.length > MAX_ALTERNATIVES) {
      throw refusal(`${at.place.pointer}/properties`, "too many to make the opposite of");
    }
    return objects(...wrong);
  },
};

const propertyNames: Group = {
  keywords: ["propertyNames"],
  holds: (at) =>
    others(
      object(at, "propertyNames", { names: [at.reader.literal(at.place, "propertyNames")] }),
    ),
  fails(at) {
    throw refusal(
      `${at.place.pointer}/propertyNames`,
      "the opposite of it is wanted here (by not, oneOf or if), which no grammar is made of",
    );
  },
};

const requiredOf = (at: At) => keysOf(at.schema.required, `${at.place.pointer}/required`);
const lacking = (at: At, key: string, keyword: string) =>
  object(at, keyword, { parts: [about(key, NOTHING_FOLLOWS)] });

const required: Group = {
  keywords: ["required"],
  holds: (at) => others(object(at, "required", { required: [...new Set(requiredOf(at))] })),
  fails: (at) => objects(...requiredOf(at).map((key) => lacking(at, key, "required"))),
};

const minProperties: Group = {
  keywords: ["minProperties"],
  holds: (at) => others(object(at, "minProperties", { least: leastOf(at, "minProperties") })),
  fails(at) {
    if (countOf(at, "minProperties") === 0) return NONE;
    return objects(object(at, "minProperties", { most: mostOf(at, "minProperties") - 1 }));
  },
};

const maxProperties: Group = {
  keywords: ["maxProperties"],
  holds: (at) => others(object(at, "maxProperties", { most: mostOf(at, "maxProperties") })),
  fails: (at) => objects(object(at, "maxProperties", { least: leastOf(at, "maxProperties") + 1 })),
};

interface Dependency {
  readonly key: string;
  readonly keyword: string;
  /** What the object must be like where it has the key. */
  readonly needs: (negated: boolean) => Alternatives;
}

function needsKeys(at: At, keyword: string, key: string, value: unknown): Dependency {
  const needed = keysOf(value, `${at.place.pointer}/${keyword}/${key}`);
  return {
    key,
    keyword,
    needs: (negated) =>
      negated
        ? objects(...needed.map((one) => lacking(at, one, keyword)))
        : objects(object(at, keyword, { required: needed })),
  };
}

function needsSchema(at: At, keyword: string, key: string): Dependency {
  const literal = at.reader.literal(at.place, keyword, key);
  return { key, keyword, needs: (negated) => at.reader.read({ ...literal, negated }) };
}

function dependent(keyword: string, of: (at: At, key: string, value: unknown) => Dependency) {
  const having = (at: At, key: string) => objects(object(at, keyword, { required: [key] }));
  const group: Group = {
    keywords: [keyword],
    holds(at) {
      const place = `${at.place.pointer}/${keyword}`;
      return named(at, keyword).map(([key, value]) => of(at, key, value)).reduce((all, one) => {
        const { budget } = at.reader;
        const with_ = intersection(having(at, one.key), one.needs(false), budget, place);
        const either = union([others(lacking(at, one.key, keyword)), with_], place);
        return intersection(all, either, budget, place);
      }, ALL);
    },
    fails(at) {
      const place = `${at.place.pointer}/${keyword}`;
      return union(
        named(at, keyword).map(([key, value]) => {
          const wrong = of(at, key, value).needs(true);
          return intersection(having(at, key), wrong, at.reader.budget, place);
        }),
        place,
      );
    },
  };
  return group;
}

export const OBJECT_GROUPS: readonly Group[] = [
  properties,
  propertyNames,
  required,
  minProperties,
  maxProperties,
  dependent(
    "dependentRequired",
    (at, key, value) => needsKeys(at, "dependentRequired", key, value),
  ),
  dependent("dependentSchemas", (at, key) => needsSchema(at, "dependentSchemas", key)),
  dependent(
    "dependencies",
    (at, key, value) =>
      Array.isArray(value)
        ? needsKeys(at, "dependencies", key, value)
        : needsSchema(at, "dependencies", key),
  ),
];
