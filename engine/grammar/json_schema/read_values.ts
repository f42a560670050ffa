import { isJsonObject, JsonNumber, mapMembers } from "../../json/mod.ts";
import {
  type Costs,
  MAX_ALTERNATIVES,
  MAX_NESTING,
  MAX_VALUES,
  refusal,
  shown,
  wrong,
} from "./limits.ts";
import { type ListedNumber, MOST_DIGITS, oneOfEach } from "./number_values.ts";
import { type At, costsOf, eitherWay, type Group } from "./reading.ts";
import {
  ALL,
  type Alternatives,
  ANY_NUMBER,
  ANY_STRING,
  intersection,
  limited,
  only,
  union,
  unseen,
} from "./shapes.ts";

const TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"];

function typesOf({ schema, place, reader }: At): string[] {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  reader.budget.look(types.length, place.pointer);
  for (const type of types) {
    if (!TYPES.includes(type)) {
      throw wrong(
        `${place.pointer}/type`,
        `${shown(type)} is no type; there are ${TYPES.join(", ")}`,
      );
    }
  }
  // OpenAPI 3.0's way to say so.
  return schema.nullable === true ? [...types, "null"] : types;
}

/** Numbers of these types; with both of none, none. */
function numbers(integers: boolean, fractions: boolean) {
  if (integers && fractions) return [ANY_NUMBER];
  if (!integers && !fractions) return [];
  return [{ ...ANY_NUMBER, kind: integers ? "integer" as const : "fraction" as const }];
}

const type = eitherWay("type", (at, negated) => {
  const types = typesOf(at);
  const has = (type: string) => types.includes(type) !== negated;
  const integers = (types.includes("integer") || types.includes("number")) !== negated;
  return {
    null: has("null"),
    booleans: has("boolean") ? ALL.booleans : [],
    numbers: numbers(integers, has("number")),
    strings: has("string") ? ALL.strings : [],
    arrays: has("array") ? ALL.arrays : [],
    objects: has("object") ? ALL.objects : [],
  };
});

/** Refuses values that are nested too deep, and pays for all that is in them. */
function checkNesting(values: readonly object[], costs: Costs): void {
  for (let depth = 1, level = values; level.length > 0; depth++) {
    if (depth > MAX_NESTING) {
      throw refusal(costs.place, `its arrays and objects are nested more than ${MAX_NESTING} deep`);
    }
    level = level.flatMap((value): object[] => {
      const inside = Object.values(value);
      costs.look(inside.length);
      return inside.filter((one) => typeof one === "object" && one !== null) as object[];
    });
  }
}

/** A schema of just this array or object. */
function schemaOf(value: object): unknown {
  if (Array.isArray(value)) {
    return {
      type: "array",
      prefixItems: value.map((item) => ({ const: item })),
      minItems: value.length,
      maxItems: value.length,
    };
  }
  const keys = Object.keys(value);
  return {
    type: "object",
    properties: mapMembers(value, (item) => ({ const: item })),
    required: keys,
    maxProperties: keys.length,
  };
}

/** What it costs to read a value of a list, as to look at one: with writing it, a unit. */
const VALUE_WORK = 6;

function listed(values: readonly unknown[], at: At, keyword: string, negated: boolean) {
  const costs = costsOf(at, keyword);
  const pointer = costs.place;
  if (values.length > MAX_VALUES) {
    throw refusal(pointer, `it has ${values.length} values; at most ${MAX_VALUES} are allowed`);
  }
  costs.look(VALUE_WORK * values.length);
  const compounds = values.filter((value) => Array.isArray(value) || isJsonObject(value));
  if (compounds.length > MAX_ALTERNATIVES) {
    throw refusal(
      pointer,
      `it has ${compounds.length} arrays and objects; at most ${MAX_ALTERNATIVES} are allowed`,
    );
  }
  // What is inside of a value was looked at with it.
  if (!at.place.ofValue) checkNesting(compounds as object[], costs);
  const compound = compounds.map((value, i): Alternatives => {
    const schema = schemaOf(value as object);
    const place = at.reader.document.ofValue({ ...at.place, pointer }, `${keyword}=${i}`, schema);
    // It is a value that is meant, not its schema: no keyword evaluates its items or properties.
    return unseen(at.reader.read({ place, negated }), costs);
  });
  const strings = values.filter((value) => typeof value === "string");
  const numbers = values.flatMap((value) => numberOf(value, at, pointer) ?? []);
  if (negated) {
    const others = limited({
      null: !values.includes(null),
      booleans: ALL.booleans.filter((value) => !values.includes(value)),
      numbers: [{ ...ANY_NUMBER, not: numbers }],
      strings: [{ ...ANY_STRING, not: strings, place: pointer }],
    });
    return compound.reduce((all, one) => intersection(all, one, costs), others);
  }
  const plain = only({
    null: values.includes(null),
    booleans: ALL.booleans.filter((value) => values.includes(value)),
    numbers: numbers.length > 0 ? [{ ...ANY_NUMBER, values: oneOfEach(numbers) }] : [],
    strings: strings.length > 0
      ? [{ ...ANY_STRING, values: [...new Set(strings)], place: pointer }]
      : [],
  });
  return union([...compound, plain], costs);
}

/** A number of a list; undefined for another value. */
function numberOf(value: unknown, { reader }: At, pointer: string): ListedNumber | undefined {
  if (typeof value !== "number" && !(value instanceof JsonNumber)) return undefined;
  const number = reader.numbers.of(value);
  if (number !== undefined) return number;
  throw refusal(
    pointer,
    `numbers of more than ${MOST_DIGITS} digits, such as ${shown(value)}, are not listed`,
  );
}

function enumOf({ schema, place }: At): readonly unknown[] {
  if (!Array.isArray(schema.enum)) throw wrong(`${place.pointer}/enum`, "it must be a list");
  return schema.enum;
}

/** `type`, `enum` and `const`. */
export const VALUE_GROUPS: readonly Group[] = [
  type,
  eitherWay("enum", (at, negated) => listed(enumOf(at), at, "enum", negated)),
  eitherWay("const", (at, negated) => listed([at.schema.const], at, "const", negated)),
];
