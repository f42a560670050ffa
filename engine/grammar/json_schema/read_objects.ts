import { isJsonObject } from "../../json/mod.ts";
import { countKeywords } from "./counts.ts";
import { NOTHING } from "./document.ts";
import { MAX_ALTERNATIVES, refusal, shown, wrong } from "./limits.ts";
import {
  type At,
  costsOf,
  type Group,
  noOpposite,
  pointerOf,
  type SchemaReader,
} from "./reading.ts";
import {
  ALL,
  type Alternatives,
  ANY_OBJECT,
  intersection,
  limited,
  type Literal,
  not,
  type ObjectPart,
  type ObjectShape,
  only,
  union,
} from "./shapes.ts";

/** A schema that nothing follows. */
export const NOTHING_FOLLOWS: Literal = { place: NOTHING, negated: false };

function object(at: At, keyword: string, shape: Partial<ObjectShape>): ObjectShape {
  return { ...ANY_OBJECT, ...shape, place: pointerOf(at, keyword) };
}

const objects = (...objects: ObjectShape[]): Alternatives => only({ objects });
const others = (...objects: ObjectShape[]): Alternatives => limited({ objects });

/** A part that says something of one property alone. */
const about = (key: string, literal: Literal): ObjectPart => ({
  properties: new Map([[key, literal]]),
  patterns: [],
  evaluates: false,
});

function named(at: At, keyword: string): [string, unknown][] {
  const value = at.schema[keyword] ?? {};
  if (isJsonObject(value)) {
    const entries = Object.entries(value);
    at.reader.budget.look(entries.length, at.place.pointer);
    return entries;
  }
  throw wrong(pointerOf(at, keyword), "it must be an object");
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
        (isJsonObject(value) && Object.keys(value).length === 0);
      if (nothing) continue;
      throw noOpposite(at, keyword);
    }
    refuseMany(part.properties.size, pointerOf(at, "properties"));
    const wrong = [...part.properties].map(([key, literal]) =>
      object(at, "properties", {
        parts: [about(key, not(literal!))],
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
    throw noOpposite(at, "propertyNames");
  },
};

const requiredOf = (at: At) => keysOf(at.schema.required, pointerOf(at, "required"), at.reader);
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
  refuseMany(different.length, pointerOf(at, keyword));
  return objects(...different.map((key) => lacking(at, key, keyword)));
}

const required: Group = {
  keywords: ["required"],
  holds: (at) => others(object(at, "required", { required: [...new Set(requiredOf(at))] })),
  fails: (at) => lackingAny(at, requiredOf(at), "required"),
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

/** Properties that an object must be like something with, where it has them. */
function dependent(
  keyword: string,
  of: (at: At, keyword: string, key: string, value: unknown) => Dependency,
): Group {
  const having = (at: At, key: string) => objects(object(at, keyword, { required: [key] }));
  const dependencies = (at: At) =>
    named(at, keyword).map(([key, value]) => of(at, keyword, key, value));
  return {
    keywords: [keyword],
    holds(at) {
      const costs = costsOf(at, keyword);
      return dependencies(at).reduce((all, one) => {
        const with_ = intersection(having(at, one.key), one.needs(false), costs);
        const either = union([others(lacking(at, one.key, keyword)), with_], costs);
        return intersection(all, either, costs);
      }, ALL);
    },
    fails(at) {
      const costs = costsOf(at, keyword);
      const wrong = dependencies(at).map((one) =>
        intersection(having(at, one.key), one.needs(true), costs)
      );
      return union(wrong, costs);
    },
  };
}

/**
 * `properties`, `patternProperties`, `additionalProperties`, `propertyNames`, `required`, `minProperties`,
 * `maxProperties`, `dependentRequired`, `dependentSchemas` and `dependencies`, which those two were once.
 */
export const OBJECT_GROUPS: readonly Group[] = [
  properties,
  propertyNames,
  required,
  ...countKeywords("Properties", (at, keyword, limits) => ({
    objects: [object(at, keyword, { ...limits, leastPlace: pointerOf(at, keyword) })],
  })),
  dependent("dependentRequired", needsKeys),
  dependent("dependentSchemas", needsSchema),
  dependent(
    "dependencies",
    (at, keyword, key, value) =>
      Array.isArray(value) ? needsKeys(at, keyword, key, value) : needsSchema(at, keyword, key),
  ),
];
