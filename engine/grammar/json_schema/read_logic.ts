/**
 * `allOf`, `anyOf`, `oneOf`, `not`, `if` with `then` and `else`, `$ref` and `$dynamicRef`.
 *
 * @module
 */
import { M40Error } from "../../errors.ts";
import { refusal, wrong } from "./limits.ts";
import type { At, Group } from "./reading.ts";
import { ALL, type Alternatives, intersection, type Literal, NONE, union } from "./shapes.ts";
import { isVacant } from "./vacant.ts";

const not = (literal: Literal): Literal => ({ ...literal, negated: !literal.negated });

function branches(at: At, keyword: string): Literal[] {
  const list = at.schema[keyword];
  if (Array.isArray(list)) return list.map((_, i) => at.reader.literal(at.place, keyword, i));
  throw wrong(`${at.place.pointer}/${keyword}`, "it must be a list of schemas");
}

function anyOfAll(at: At, literals: readonly Literal[], keyword: string): Alternatives {
  const place = `${at.place.pointer}/${keyword}`;
  return union(literals.map((literal) => at.reader.read(literal)), at.reader.budget, place);
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
    return union(sets, at.reader.budget, `${at.place.pointer}/anyOf`);
  },
  fails: (at) => at.reader.readAll(branches(at, "anyOf").map(not)),
};

/** What it costs to make a pair of branches, in looks at one value. */
const PAIR_WORK = 6;

/** What a branch of `oneOf` has in common with each of those behind it. */
function* commonBehind(
  at: At,
  literals: readonly Literal[],
  i: number,
): Generator<[number, Alternatives]> {
  const { budget } = at.reader;
  const pointer = `${at.place.pointer}/oneOf`;
  const said = at.reader.read(literals[i]);
  for (let j = i + 1; j < literals.length; j++) {
    budget.look(PAIR_WORK, pointer);
    yield [j, intersection(said, at.reader.read(literals[j]), budget, pointer)];
  }
}

/** Each branch without the others, of which those that have nothing in common with it need no word. */
function exactlyOne(at: At): Alternatives {
  const { reader, place } = at;
  const pointer = `${place.pointer}/oneOf`;
  const literals = branches(at, "oneOf");
  /** By a branch, those before it that have something in common with it. */
  const before = literals.map((): number[] => []);
  const alone = literals.map((literal, i) => {
    const without = (all: Alternatives, j: number): Alternatives => {
      try {
        return intersection(all, reader.read(not(literals[j])), reader.budget, pointer);
      } catch (error) {
        if (!(error instanceof M40Error)) throw error;
        throw refusal(
          pointer,
          `a value may follow branches ${Math.min(i, j)} and ${Math.max(i, j)} at once, and the ` +
            `grammar of one without the other cannot be made (${error.message}); tell them apart ` +
            'by a required property with different "const", or use "anyOf"',
        );
      }
    };
    let said = before[i].reduce(without, reader.read(literal));
    for (const [j, common] of commonBehind(at, literals, i)) {
      if (isVacant(common, reader)) continue;
      before[j].push(i);
      said = without(said, j);
    }
    return said;
  });
  return union(alone, reader.budget, pointer);
}

const oneOf: Group = {
  keywords: ["oneOf"],
  holds: exactlyOne,
  fails(at) {
    const { reader, place } = at;
    const pointer = `${place.pointer}/oneOf`;
    const literals = branches(at, "oneOf");
    const pairs = literals.flatMap((_, i) =>
      Array.from(commonBehind(at, literals, i), ([, common]) => common)
    );
    return union([reader.readAll(literals.map(not)), ...pairs], reader.budget, pointer);
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
  return union([when(met, then), when(not(met), otherwise)], reader.budget, pointer);
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
