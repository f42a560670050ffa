import { M40Error } from "../../errors.ts";
import { refusal, wrong } from "./limits.ts";
import { type At, costsOf, eitherWay, type Group, pointerOf } from "./reading.ts";
import { ALL, type Alternatives, intersection, type Literal, NONE, not, union } from "./shapes.ts";
import { isVacant } from "./vacant.ts";

function branches(at: At, keyword: string): Literal[] {
  const list = at.schema[keyword];
  if (Array.isArray(list)) return list.map((_, i) => at.reader.literal(at.place, keyword, i));
  throw wrong(pointerOf(at, keyword), "it must be a list of schemas");
}

function anyOfAll(at: At, literals: readonly Literal[], keyword: string): Alternatives {
  return union(literals.map((literal) => at.reader.read(literal)), costsOf(at, keyword));
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
    return union(sets, costsOf(at, "anyOf"));
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
  const costs = costsOf(at, "oneOf");
  const said = at.reader.read(literals[i]);
  for (let j = i + 1; j < literals.length; j++) {
    costs.look(PAIR_WORK);
    yield [j, intersection(said, at.reader.read(literals[j]), costs)];
  }
}

/** Each branch without the others, of which those that have nothing in common with it need no word. */
function exactlyOne(at: At): Alternatives {
  const { reader } = at;
  const costs = costsOf(at, "oneOf");
  const literals = branches(at, "oneOf");
  /** By a branch, those before it that have something in common with it. */
  const before = literals.map((): number[] => []);
  const alone = literals.map((literal, i) => {
    const without = (all: Alternatives, j: number): Alternatives => {
      try {
        return intersection(all, reader.read(not(literals[j])), costs);
      } catch (error) {
        if (!(error instanceof M40Error)) throw error;
        throw refusal(
          costs.place,
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
  return union(alone, costs);
}

const oneOf: Group = {
  keywords: ["oneOf"],
  holds: exactlyOne,
  fails(at) {
    const literals = branches(at, "oneOf");
    const pairs = literals.flatMap((_, i) =>
      Array.from(commonBehind(at, literals, i), ([, common]) => common)
    );
    return union([at.reader.readAll(literals.map(not)), ...pairs], costsOf(at, "oneOf"));
  },
};

const negation = eitherWay("not", (at, negated) => {
  const literal = at.reader.literal(at.place, "not");
  return at.reader.read(negated ? literal : not(literal));
});

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
  const costs = costsOf(at, "if");
  const when = (literal: Literal, follows: Alternatives) =>
    follows === NONE ? NONE : intersection(reader.read(literal), follows, costs);
  return union([when(met, then), when(not(met), otherwise)], costs);
}

const reference = (keyword: "$ref" | "$dynamicRef") =>
  eitherWay(
    keyword,
    (at, negated) =>
      at.reader.read({ place: at.reader.document.follow(at.place, keyword), negated }),
  );

/** `allOf`, `anyOf`, `oneOf`, `not`, `if` with `then` and `else`, `$ref` and `$dynamicRef`. */
export const LOGIC_GROUPS: readonly Group[] = [
  reference("$ref"),
  reference("$dynamicRef"),
  allOf,
  anyOf,
  oneOf,
  negation,
  eitherWay("if", conditional),
];
