/**
 * `prefixItems`, `items` (a list of schemas in older drafts, with `additionalItems`), `contains`,
 * `minItems`, `maxItems` and `uniqueItems`.
 *
 * @module
 */
import { countOf, leastOf, mostOf } from "./counts.ts";
import { refusal, wrong } from "./limits.ts";
import type { At, Group } from "./reading.ts";
import {
  type Alternatives,
  ANY_ARRAY,
  type ArrayPart,
  type ArrayShape,
  limited,
  type Literal,
  NONE,
} from "./shapes.ts";

function array(at: At, keyword: string, shape: Partial<ArrayShape>): ArrayShape {
  return { ...ANY_ARRAY, ...shape, place: `${at.place.pointer}/${keyword}` };
}

const not = (literal: Literal): Literal => ({ ...literal, negated: !literal.negated });

function partOf(at: At): ArrayPart {
  const { schema, place, reader } = at;
  const list = Array.isArray(schema.items) ? "items" : "prefixItems";
  const prefix = schema[list] ?? [];
  if (!Array.isArray(prefix)) throw wrong(`${place.pointer}/${list}`, "it must be a list");
  const rest = list === "items" ? "additionalItems" : "items";
  return {
    prefix: prefix.map((_, i) => reader.literal(place, list, i)),
    rest: Object.hasOwn(schema, rest) ? reader.literal(place, rest) : undefined,
    evaluates: true,
  };
}

const items: Group = {
  keywords: ["prefixItems", "items"],
  holds: (at) => limited({ arrays: [array(at, "items", { parts: [partOf(at)] })] }),
  fails(at): Alternatives {
    const { prefix, rest } = partOf(at);
    const part = { evaluates: false };
    const arrays = prefix.map((literal, i) =>
      array(at, "prefixItems", {
        parts: [{ ...part, prefix: [...prefix.slice(0, i), not(literal)] }],
        least: i + 1,
      })
    );
    if (!rest) return { ...NONE, arrays };
    if (prefix.length === 0) {
      const contains = [{ item: not(rest), least: 1, place: `${at.place.pointer}/items` }];
      return { ...NONE, arrays: [array(at, "items", { contains })] };
    }
    if (rest.place.schema === false) {
      return { ...NONE, arrays: [...arrays, array(at, "items", { least: prefix.length + 1 })] };
    }
    throw refusal(
      `${at.place.pointer}/items`,
      `the opposite of it behind ${prefix.length} items is wanted here (by not, oneOf or if), ` +
        "which no grammar is made of",
    );
  },
};

function containsOf(at: At) {
  const { schema, place, reader } = at;
  return {
    item: reader.literal(place, "contains"),
    least: Object.hasOwn(schema, "minContains") ? leastOf(at, "minContains") : 1,
    most: Object.hasOwn(schema, "maxContains") ? mostOf(at, "maxContains") : undefined,
    place: `${place.pointer}/contains`,
  };
}

const contains: Group = {
  keywords: ["contains"],
  holds(at) {
    const wanted = containsOf(at);
    return limited({ arrays: [array(at, "contains", { contains: [wanted] })] });
  },
  fails(at): Alternatives {
    const { item, least, most, place } = containsOf(at);
    const arrays = [];
    if (least > 0) {
      const few = { item, least: 0, most: least - 1, place };
      arrays.push(array(at, "contains", { contains: [few] }));
    }
    if (most !== undefined) {
      const many = { item, least: most + 1, place };
      arrays.push(array(at, "contains", { contains: [many] }));
    }
    return { ...NONE, arrays };
  },
};

const minItems: Group = {
  keywords: ["minItems"],
  holds: (at) => limited({ arrays: [array(at, "minItems", { least: leastOf(at, "minItems") })] }),
  fails(at): Alternatives {
    if (countOf(at, "minItems") === 0) return NONE;
    return { ...NONE, arrays: [array(at, "minItems", { most: mostOf(at, "minItems") - 1 })] };
  },
};

const maxItems: Group = {
  keywords: ["maxItems"],
  holds: (at) => limited({ arrays: [array(at, "maxItems", { most: mostOf(at, "maxItems") })] }),
  fails: (at) => ({
    ...NONE,
    arrays: [array(at, "maxItems", { least: leastOf(at, "maxItems") + 1 })],
  }),
};

const uniqueItems: Group = {
  keywords: ["uniqueItems"],
  holds(at) {
    if (at.schema.uniqueItems !== true) return limited({});
    return limited({
      arrays: [array(at, "uniqueItems", { unique: `${at.place.pointer}/uniqueItems` })],
    });
  },
  fails(at): Alternatives {
    if (at.schema.uniqueItems !== true) return NONE;
    throw refusal(
      `${at.place.pointer}/uniqueItems`,
      "the opposite of it is wanted here (by not, oneOf or if), which no grammar is made of",
    );
  },
};

export const ARRAY_GROUPS: readonly Group[] = [
  items,
  contains,
  minItems,
  maxItems,
  uniqueItems,
];
