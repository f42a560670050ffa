import type { Place } from "./document.ts";
import { type Costs, MAX_ALTERNATIVES, refusal } from "./limits.ts";
import { decimalsOf, setOf } from "./list_sets.ts";
import { type Bound, isBeyond, tighter } from "./number_bounds.ts";
import { compare, type Decimal, type ListedNumber } from "./number_values.ts";

/** A schema that a value must follow, or must not. */
export interface Literal {
  readonly place: Place;
  readonly negated: boolean;
}

export interface NumberShape {
  readonly kind: "any" | "integer" | "fraction";
  readonly least?: Bound;
  readonly most?: Bound;
  readonly multiples: readonly { of: Decimal; place: string; negated: boolean }[];
  readonly values?: readonly ListedNumber[];
  readonly not: readonly ListedNumber[];
}

/** A pattern or a format. */
export interface StringRule {
  readonly kind: "pattern" | "format";
  readonly name: string;
  readonly place: string;
  readonly negated: boolean;
}

export interface StringShape {
  readonly least: number;
  readonly most?: number;
  readonly rules: readonly StringRule[];
  readonly values?: readonly string[];
  readonly not: readonly string[];
  readonly place: string;
}

/** What one schema says of items; `evaluates`: `unevaluatedItems` leaves alone what it names. */
export interface ArrayPart {
  readonly prefix: readonly Literal[];
  readonly rest?: Literal;
  readonly evaluates: boolean;
}

export interface Contains {
  readonly item: Literal;
  readonly least: number;
  readonly most?: number;
  readonly place: string;
}

export interface ArrayShape {
  readonly parts: readonly ArrayPart[];
  readonly contains: readonly Contains[];
  readonly least: number;
  readonly most?: number;
  /** The position of `uniqueItems`. */
  readonly unique?: string;
  readonly place: string;
}

/** What one schema says of properties. */
export interface ObjectPart {
  readonly properties: ReadonlyMap<string, Literal | undefined>;
  readonly patterns: readonly { pattern: string; place: string; literal?: Literal }[];
  readonly additional?: Literal;
  readonly evaluates: boolean;
}

export interface ObjectShape {
  readonly parts: readonly ObjectPart[];
  readonly names: readonly Literal[];
  readonly required: readonly string[];
  readonly least: number;
  /** The keyword that says so. */
  readonly leastPlace?: string;
  readonly most?: number;
  readonly place: string;
}

/**
 * What is left of a schema when all of its keywords are applied: for each type of JSON, alternatives that say
 * everything that a value of it must be like.
 */
export interface Alternatives {
  readonly null: boolean;
  /** Which of false and true. */
  readonly booleans: readonly boolean[];
  readonly numbers: readonly NumberShape[];
  readonly strings: readonly StringShape[];
  readonly arrays: readonly ArrayShape[];
  readonly objects: readonly ObjectShape[];
}

export const ANY_NUMBER: NumberShape = {
  kind: "any",
  multiples: [],
  not: [],
};
export const ANY_STRING: StringShape = { least: 0, rules: [], not: [], place: "" };
export const ANY_ARRAY: ArrayShape = { parts: [], contains: [], least: 0, place: "" };
export const ANY_OBJECT: ObjectShape = { parts: [], names: [], required: [], least: 0, place: "" };

export const NONE: Alternatives = {
  null: false,
  booleans: [],
  numbers: [],
  strings: [],
  arrays: [],
  objects: [],
};
export const ALL: Alternatives = {
  null: true,
  booleans: [false, true],
  numbers: [ANY_NUMBER],
  strings: [ANY_STRING],
  arrays: [ANY_ARRAY],
  objects: [ANY_OBJECT],
};

/** Any value but that those of the types named are as said. */
export const limited = (types: Partial<Alternatives>): Alternatives => ({ ...ALL, ...types });
/** Only values of the types named. */
export const only = (types: Partial<Alternatives>): Alternatives => ({ ...NONE, ...types });

export const not = (literal: Literal): Literal => ({ ...literal, negated: !literal.negated });

const least = (a?: number, b?: number) =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

/** Makes one shape of two, and pays for the values, keys and parts that it goes through. */
type Meet<T> = (a: T, b: T, costs: Costs) => T | undefined;

/** What is in both lists, where there are two; `of`: what of it counts. */
function shared<T, U>(
  a: readonly T[] | undefined,
  b: readonly T[] | undefined,
  costs: Costs,
  setOf: (list: readonly T[], costs: Costs) => ReadonlySet<U>,
  of: (one: T) => U,
): readonly T[] | undefined {
  if (!a || !b || a === b) return a ?? b;
  costs.look(a.length);
  const known = setOf(b, costs);
  return a.filter((one) => known.has(of(one)));
}

/** Both lists; what was read once may be in both. */
function joined<T>(
  a: readonly T[],
  b: readonly T[],
  costs: Costs,
): readonly T[] {
  if (a === b || b.length === 0) return a;
  if (a.length === 0) return b;
  costs.look(a.length + b.length);
  return [...new Set([...a, ...b])];
}

const meetNumbers: Meet<NumberShape> = (a, b, costs) => {
  if (a.kind !== b.kind && a.kind !== "any" && b.kind !== "any") return undefined;
  const shape = {
    kind: a.kind === "any" ? b.kind : a.kind,
    least: tighter(a.least, b.least, true),
    most: tighter(a.most, b.most, false),
    multiples: joined(a.multiples, b.multiples, costs),
    not: joined(a.not, b.not, costs),
    values: shared(a.values, b.values, costs, decimalsOf, ({ decimal }) => decimal),
  };
  if (areApart(shape)) return undefined;
  if (!shape.values || isFiltered(shape, a) || isFiltered(shape, b)) return shape;
  costs.look(shape.values.length);
  const refused = decimalsOf(shape.not, costs);
  const values = shape.values.filter((value) =>
    !refused.has(value.decimal) && admits(shape, value)
  );
  return values.length > 0 ? { ...shape, values } : undefined;
};

/** Whether a shape's values are those of one that it is made of, which says as much of them. */
function isFiltered<T extends NumberShape | StringShape>(shape: T, from: T): boolean {
  return shape.values === from.values && shape.least === from.least && shape.most === from.most &&
    shape.not.length === from.not.length &&
    (!("kind" in shape && "kind" in from) || shape.kind === from.kind);
}

/** Whether no number is within both bounds. */
function areApart({ least, most }: Pick<NumberShape, "least" | "most">): boolean {
  if (least === undefined || most === undefined) return false;
  const order = compare(least.at, most.at);
  return order > 0 || order === 0 && (least.excluded || most.excluded);
}

/** Whether a value of a list is within the bounds, and of the kind. */
function admits(shape: NumberShape, { decimal }: ListedNumber): boolean {
  if (!isBeyond(shape.least, decimal, true) || !isBeyond(shape.most, decimal, false)) return false;
  return shape.kind === "any" || (decimal.places === 0) === (shape.kind === "integer");
}

const meetStrings: Meet<StringShape> = (a, b, costs) => {
  const shape = {
    least: Math.max(a.least, b.least),
    most: least(a.most, b.most),
    rules: joined(a.rules, b.rules, costs),
    not: joined(a.not, b.not, costs),
    values: shared(a.values, b.values, costs, setOf, (value) => value),
    place: a.place,
  };
  if (shape.most !== undefined && shape.least > shape.most) return undefined;
  if (!shape.values || isFiltered(shape, a) || isFiltered(shape, b)) return shape;
  costs.look(shape.values.length);
  const refused = setOf(shape.not, costs);
  const values = shape.values.filter((value) =>
    !refused.has(value) && isWithin(value, shape, costs)
  );
  return values.length > 0 ? { ...shape, not: [], values } : undefined;
};

/** Whether a string is as long as a shape says. Its characters are counted where its code units are not enough. */
export function isWithin(
  value: string,
  { least, most = Infinity }: StringShape,
  costs: Costs,
): boolean {
  // A character is one code unit or two.
  if (value.length < least || value.length > 2 * most) return false;
  if (value.length >= 2 * least && value.length <= most) return true;
  costs.lookAtText(value.length);
  const length = [...value].length;
  return length >= least && length <= most;
}

const meetArrays: Meet<ArrayShape> = (a, b, costs) => {
  const shape = {
    parts: joined(a.parts, b.parts, costs),
    contains: joined(a.contains, b.contains, costs),
    least: Math.max(a.least, b.least),
    most: least(a.most, b.most),
    unique: a.unique ?? b.unique,
    place: a.place,
  };
  return shape.most !== undefined && shape.least > shape.most ? undefined : shape;
};

const meetObjects: Meet<ObjectShape> = (a, b, costs) => {
  const shape = {
    parts: joined(a.parts, b.parts, costs),
    names: joined(a.names, b.names, costs),
    required: joined(a.required, b.required, costs),
    least: Math.max(a.least, b.least),
    leastPlace: a.least >= b.least ? a.leastPlace : b.leastPlace,
    most: least(a.most, b.most),
    place: a.place,
  };
  const wanted = Math.max(shape.least, shape.required.length);
  return shape.most !== undefined && wanted > shape.most ? undefined : shape;
};

/** What it costs to look at a shape, but for what its lists have in them. */
const sizeOf = (shape: object) => "parts" in shape ? (shape.parts as unknown[]).length : 0;

function meetAll<T extends object>(
  a: readonly T[],
  b: readonly T[],
  any: T,
  meet: Meet<T>,
  costs: Costs,
): readonly T[] {
  const found = new Set<T>();
  for (const left of a) {
    for (const right of b) {
      costs.spend(1 + sizeOf(left) + sizeOf(right));
      const one = left === right || right === any ? left : left === any ? right : undefined;
      const both = one ?? meet(left, right, costs);
      if (both) found.add(both);
    }
    if (found.size > MAX_ALTERNATIVES) throw tooMany(costs);
  }
  return [...found];
}

const tooMany = ({ place }: Costs) =>
  refusal(
    place,
    `its branches come to more than ${MAX_ALTERNATIVES} alternatives; combine fewer of them`,
  );

/** The values that are in both. */
export function intersection(
  a: Alternatives,
  b: Alternatives,
  costs: Costs,
): Alternatives {
  costs.look(1);
  if (a === ALL) return b;
  if (b === ALL) return a;
  return {
    null: a.null && b.null,
    booleans: a.booleans.filter((value) => b.booleans.includes(value)),
    numbers: meetAll(a.numbers, b.numbers, ANY_NUMBER, meetNumbers, costs),
    strings: meetAll(a.strings, b.strings, ANY_STRING, meetStrings, costs),
    arrays: meetAll(a.arrays, b.arrays, ANY_ARRAY, meetArrays, costs),
    objects: meetAll(a.objects, b.objects, ANY_OBJECT, meetObjects, costs),
  };
}

/** The values that are in any; of none, no value. */
export function union(
  all: readonly Alternatives[],
  costs: Costs,
): Alternatives {
  const join = <T>(lists: (readonly T[])[], any: T): readonly T[] => {
    costs.look(lists.reduce((count, list) => count + list.length, 0));
    const found = new Set(lists.flat());
    if (found.size > MAX_ALTERNATIVES) throw tooMany(costs);
    return found.has(any) ? [any] : [...found];
  };
  return {
    null: all.some((one) => one.null),
    booleans: [false, true].filter((value) => all.some((one) => one.booleans.includes(value))),
    numbers: join(all.map((one) => one.numbers), ANY_NUMBER),
    strings: join(all.map((one) => one.strings), ANY_STRING),
    arrays: join(all.map((one) => one.arrays), ANY_ARRAY),
    objects: join(all.map((one) => one.objects), ANY_OBJECT),
  };
}

/** The same values, of which nothing counts as evaluated: what `not` looks at does not. */
export function unseen(all: Alternatives, costs: Costs): Alternatives {
  const hide = <T extends { evaluates: boolean }>(parts: readonly T[]) => {
    costs.look(parts.length);
    return parts.map((part) => ({ ...part, evaluates: false }));
  };
  return {
    ...all,
    arrays: all.arrays.map((one) => one.parts.length ? { ...one, parts: hide(one.parts) } : one),
    objects: all.objects.map((one) => one.parts.length ? { ...one, parts: hide(one.parts) } : one),
  };
}
