/**
 * `allOf`, `anyOf`, `oneOf`, `not`, `if` with `then` and `else`, `$ref` and `$dynamicRef`.
 *
 * @module
 */
import { M40Error } from "../../errors.ts";
import { refusal } from "./limits.ts";
import type { At, Group } from "./reading.ts";
import { ALL, type Alternatives, intersection, type Literal, NONE, union } from "./shapes.ts";
import { isVacant } from "./vacant.ts";

const not = (literal: Literal): Literal => ({ ...literal, negated: !literal.negated });

function branches(at: At, keyword: string): Literal[] {
  const list = at.schema[keyword];
  if (Array.isArray(list)) return list.map((_, i) => at.reader.literal(at.place, keyword, i));
  throw refusal(`${at.place.pointer}/${keyword}`, "it must be a list of schemas");
}

function anyOfAll(at: At, literals: readonly Literal[], keyword: string): Alternatives {
  const place = `${at.place.pointer}/${keyword}`;
  return union(literals.map((literal) => at.reader.read(literal)), place);
}

const allOf: Group = {
  keywords: ["allOf"],
  holds: (at) => at.reader.readAll(branches(at, "allOf")),
  fails: (at) => anyOfAll(at, branches(at, "allOf").map(not), "allOf"),
};

/** Branches up to which all their combinations count as evaluated together. */
const MOST_COMBINED = 4;

const anyOf: Group = {
  keywords: ["anyOf"],
  holds(at) {
    const literals = branches(at, "anyOf");
    if (!at.reader.looksAtEvaluated || literals.length > MOST_COMBINED) {
      return anyOfAll(at, literals, "anyOf");
    }
    const sets = Array.from(
      { length: 2 ** literals.length - 1 },
      (_, set) => at.reader.readAll(literals.filter((_, i) => (set + 1) >> i & 1)),
    );
    return union(sets, `${at.place.pointer}/anyOf`);
  },
  fails: (at) => at.reader.readAll(branches(at, "anyOf").map(not)),
};

/** Each branch without the others, of which those that have nothing in common with it need no word. */
function exactlyOne(at: At): Alternatives {
  const { reader, place } = at;
  const pointer = `${place.pointer}/oneOf`;
  const literals = branches(at, "oneOf");
  const alone = literals.map((literal, i) => {
    const said = reader.read(literal);
    return literals.reduce((all, other, j) => {
      if (i === j) return all;
      const common = intersection(said, reader.read(other), reader.budget, pointer);
      if (isVacant(common, reader)) return all;
      try {
        return intersection(all, reader.read(not(other)), reader.budget, pointer);
      } catch (error) {
        if (!(error instanceof M40Error)) throw error;
        throw refusal(
          pointer,
          `a value may follow branches ${Math.min(i, j)} and ${Math.max(i, j)} at once, and the ` +
            `grammar of one without the other cannot be made (${error.message}); tell them apart ` +
            'by a required property with different "const", or use "anyOf"',
        );
      }
    }, said);
  });
  return union(alone, pointer);
}

const oneOf: Group = {
  keywords: ["oneOf"],
  holds: exactlyOne,
  fails(at) {
    const { reader, place } = at;
    const pointer = `${place.pointer}/oneOf`;
    const literals = branches(at, "oneOf");
    const pairs = literals.flatMap((a, i) =>
      literals.slice(i + 1).map((b) =>
        intersection(reader.read(a), reader.read(b), reader.budget, pointer)
      )
    );
    return union([reader.readAll(literals.map(not)), ...pairs], pointer);
  },
};

const negation: Group = {
  keywords: ["not"],
  holds: (at) => at.reader.read(not(at.reader.literal(at.place, "not"))),
  fails: (at) => at.reader.read(at.reader.literal(at.place, "not")),
};

const condition: Group = {
  keywords: ["if"],
  holds: (at) => conditional(at, false),
  fails: (at) => conditional(at, true),
};

function conditional(at: At, negated: boolean): Alternatives {
  const { reader, place, schema } = at;
  const met = reader.literal(place, "if");
  const consequence = (keyword: "then" | "else") =>
    Object.hasOwn(schema, keyword)
      ? reader.read({ ...reader.literal(place, keyword), negated })
      : negated
      ? NONE
      : ALL;
  const [then, otherwise] = [consequence("then"), consequence("else")];
  if (then === ALL && otherwise === ALL && !reader.looksAtEvaluated) return ALL;
  const pointer = `${place.pointer}/if`;
  const when = (literal: Literal, follows: Alternatives) =>
    follows === NONE ? NONE : intersection(reader.read(literal), follows, reader.budget, pointer);
  return union([when(met, then), when(not(met), otherwise)], pointer);
}

function reference(keyword: "$ref" | "$dynamicRef"): Group {
  const read = (at: At, negated: boolean) =>
    at.reader.read({ place: at.reader.document.follow(at.place, keyword), negated });
  return {
    keywords: [keyword],
    holds: (at) => read(at, false),
    fails: (at) => read(at, true),
  };
}

export const LOGIC_GROUPS: readonly Group[] = [
  reference("$ref"),
  reference("$dynamicRef"),
  allOf,
  anyOf,
  oneOf,
  negation,
  condition,
];
