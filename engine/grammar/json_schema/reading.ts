import type { Document, Fields, Place } from "./document.ts";
import type { M40Error } from "../../errors.ts";
import { type Budget, type Costs, refusal } from "./limits.ts";
import type { ListedNumbers } from "./number_values.ts";
import type { Alternatives, Literal } from "./shapes.ts";
import type { StringSets } from "./string_sets.ts";

/** Reads schemas, each once. */
export interface SchemaReader {
  readonly budget: Budget;
  readonly document: Document;
  readonly strings: StringSets;
  readonly numbers: ListedNumbers;
  /** Whether any keyword looks at what others have evaluated. */
  readonly looksAtEvaluated: boolean;
  /** The schema inside another one. */
  literal(place: Place, ...tokens: (string | number)[]): Literal;
  /** What a schema says, or its opposite. */
  read(literal: Literal): Alternatives;
  /** What all of several schemas say. */
  readAll(literals: readonly Literal[]): Alternatives;
}

/** A schema that is being read. */
export interface At {
  readonly place: Place;
  readonly schema: Fields;
  readonly reader: SchemaReader;
}

/** Keywords that say something together: what they say, and what a value is like that they refuse. */
export interface Group {
  readonly keywords: readonly string[];
  holds(at: At): Alternatives;
  fails(at: At): Alternatives;
}

/** Keywords that look at what the others have evaluated: added to what those say. */
export interface LateGroup {
  readonly keyword: string;
  add(at: At, before: Alternatives): Alternatives;
}

/** Distinguishes literals. */
export const keyOf = ({ place, negated }: Literal): number => 2 * place.key + Number(negated);

/** Where a keyword is. */
export const pointerOf = ({ place }: At, keyword: string): string => `${place.pointer}/${keyword}`;

export const costsOf = (at: At, keyword: string): Costs =>
  at.reader.budget.at(pointerOf(at, keyword));

/** A keyword whose opposite is read as it is. */
export function eitherWay(
  keyword: string,
  read: (at: At, negated: boolean) => Alternatives,
): Group {
  return {
    keywords: [keyword],
    holds: (at) => read(at, false),
    fails: (at) => read(at, true),
  };
}

/** The error that a keyword has no opposite. */
export function noOpposite(at: At, keyword: string, name = "it"): M40Error {
  return refusal(
    pointerOf(at, keyword),
    `the opposite of ${name} is wanted here (by not, oneOf or if), which no grammar is made of`,
  );
}
