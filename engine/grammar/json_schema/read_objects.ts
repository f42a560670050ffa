/**
 * `properties`, `patternProperties`, `additionalProperties`, `propertyNames`, `required`, `minProperties`,
 * `maxProperties`, `dependentRequired`, `dependentSchemas` and `dependencies`, which those two were once.
 *
 * @module
 */
import { countOf, leastOf, mostOf } from "./counts.ts";
import { isObject, NOTHING } from "./document.ts";
import { MAX_ALTERNATIVES, refusal, shown, wrong } from "./limits.ts";
import type { At, Group, SchemaReader } from "./reading.ts";
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
export const NOTHING_FOLLOWS: Literal = { place: NOTHING, negated: false };

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
  if (isObject(value)) {
    const entries = Object.entries(value);
    at.reader.budget.look(entries.length, at.place.pointer);
    return entries;
  }
  throw wrong(`${at.place.pointer}/${keyword}`, "it must be an object");
}

function keysOf(value: unknown, place: string, { budget }: SchemaReader): string[] {
  if (!Array.isArray(value)) {
    throw wrong(place, `it must be a list of strings, not ${shown(value)}`);
  }
  budget.look(value.length, place);
  const other = value.findIndex((key) => typeof key !== "string");
  if (other < 0) return value;
  throw wrong(place, `it must be a list of strings, but ${shown(value[other])} is in it`);
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
    refuseMany(part.properties.size, `${at.place.pointer}/properties`);
    const wrong = [...part.properties].map(([key, literal]) =>
      object(at, "properties", {
        parts: [about(key, { ...literal!, negated: true })],
        required: [key],
      })
    );
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

const requiredOf = (at: At) =>
  keysOf(at.schema.required, `${at.place.pointer}/required`, at.reader);
const lacking = (at: At, key: string, keyword: string) =>
  object(at, keyword, { parts: [about(key, NOTHING_FOLLOWS)] });

/** What is said of so many keys has an alternative for each of them as its opposite. */
function refuseMany(count: number, place: string): void {
  if (count <= MAX_ALTERNATIVES) return;
  throw refusal(
    place,
    `the opposite of it is wanted here (by not, oneOf or if), which is made for at most ` +
      `${MAX_ALTERNATIVES} properties, not for ${count}`,
  );
}

/** Objects without one of several keys, each of which they must have. */
function lackingAny(at: At, keys: readonly string[], keyword: string): Alternatives {
  const different = [...new Set(keys)];
  refuseMany(different.length, `${at.place.pointer}/${keyword}`);
  return objects(...different.map((key) => lacking(at, key, keyword)));
}

const required: Group = {
  keywords: ["required"],
  holds: (at) => others(object(at, "required", { required: [...new Set(requiredOf(at))] })),
  fails: (at) => lackingAny(at, requiredOf(at), "required"),
};

const minProperties: Group = {
  keywords: ["minProperties"],
  holds(at) {
    const leastPlace = `${at.place.pointer}/minProperties`;
    return others(
      object(at, "minProperties", { least: leastOf(at, "minProperties"), leastPlace }),
    );
  },
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
  const needed = keysOf(value, `${at.place.pointer}/${keyword}/${key}`, at.reader);
  return {
    key,
    keyword,
    needs: (negated) =>
      negated
        ? lackingAny(at, needed, keyword)
        : objects(object(at, keyword, { required: [...new Set(needed)] })),
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
        const either = union([others(lacking(at, one.key, keyword)), with_], budget, place);
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
        at.reader.budget,
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
