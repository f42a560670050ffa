import { countKeywords, leastOf, mostOf } from "./counts.ts";
import { refusal, wrong } from "./limits.ts";
import { type At, type Group, noOpposite, pointerOf } from "./reading.ts";
import {
  type Alternatives,
  ANY_ARRAY,
  type ArrayPart,
  type ArrayShape,
  limited,
  NONE,
  not,
  only,
} from "./shapes.ts";

function array(at: At, keyword: string, shape: Partial<ArrayShape>): ArrayShape {
  return { ...ANY_ARRAY, ...shape, place: pointerOf(at, keyword) };
}

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
    if (!rest) return only({ arrays });
    if (prefix.length === 0) {
      const contains = [{ item: not(rest), least: 1, place: pointerOf(at, "items") }];
      return only({ arrays: [array(at, "items", { contains })] });
    }
    if (rest.place.schema === false) {
      return only({ arrays: [...arrays, array(at, "items", { least: prefix.length + 1 })] });
    }
    throw refusal(
      pointerOf(at, "items"),
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
    place: pointerOf(at, "contains"),
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
    return only({ arrays });
  },
};

const uniqueItems: Group = {
  keywords: ["uniqueItems"],
  holds(at) {
    if (at.schema.uniqueItems !== true) return limited({});
    const unique = pointerOf(at, "uniqueItems");
    return limited({ arrays: [array(at, "uniqueItems", { unique })] });
  },
  fails(at): Alternatives {
    if (at.schema.uniqueItems !== true) return NONE;
    throw noOpposite(at, "uniqueItems");
  },
};

/**
 * `prefixItems`, `items` (a list of schemas in older drafts, with `additionalItems`), `contains`, `minItems`,
 * `maxItems` and `uniqueItems`.
 */
export const ARRAY_GROUPS: readonly Group[] = [
  items,
  contains,
  ...countKeywords("Items", (at, keyword, limits) => ({ arrays: [array(at, keyword, limits)] })),
  uniqueItems,
];
