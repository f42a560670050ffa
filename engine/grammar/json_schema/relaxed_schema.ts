import { numberOf } from "../../json/mod.ts";
import { tokensOf } from "./document.ts";
import { lighter, LIGHTER_STEPS } from "./lighter_schema.ts";
import { type Budget, MAX_NESTING, SchemaRefusal, wrong } from "./limits.ts";
import { copyOf, type Schema, schemasIn } from "./schema_copy.ts";

/** Keywords that are left out of one schema one by one; from then on each is left out wherever it stands. */
const MOST_ONE_BY_ONE = 32;
/** Places where a keyword is left out with the same value, one by one; then it is left out wherever it has that. */
const MOST_ALIKE = 4;
/** Characters of a schema that is read again for a unit of work. */
const CHARACTERS_A_UNIT = 256;
/** Lengths, which together with what is said of a text may take too many states. */
const LENGTHS = ["maxLength", "minLength"];

/** What is left out of schemas. */
export interface Relaxing {
  /** Whether that is also what is wrong: a keyword with an impossible value. Default true. */
  readonly wrong?: boolean;
  /** Whether what costs too much is done with a lighter schema. Default true. */
  readonly lighter?: boolean;
}

/**
 * Does something with a schema, and where a keyword of it cannot be followed, with the schema without it; where it
 * costs too much, with a lighter one (see {@link lighter}). A schema with many keywords that cannot be followed loses
 * some that could be, too: those of the same name, those of the same value first. So the work is done some
 * {@link MOST_ONE_BY_ONE} times at most, and once more for each keyword that there is.
 *
 * @param budget What all attempts together may cost.
 * @param work What is done, with the budget of the attempt.
 * @throws {M40Error} "invalid_request" for a schema that is too complex, or wrong in other ways than by a keyword.
 */
export function relaxing<T>(
  schema: unknown,
  budget: Budget,
  work: (schema: unknown, budget: Budget) => T,
  options: Relaxing = {},
): T {
  let relaxed: Relaxed | undefined;
  for (let current = schema;;) {
    try {
      return budget.attempt((part) => work(current, part));
    } catch (error) {
      if (!(error instanceof SchemaRefusal)) throw error;
      const { reason } = error;
      if (reason === "wrong" && options.wrong === false) throw error;
      if (reason === "costly" && options.lighter === false) throw error;
      relaxed ??= new Relaxed(schema);
      if (!relaxed.leaveOut(error, budget.isWasted)) throw error;
      current = relaxed.schema;
      const length = JSON.stringify(current).length;
      budget.spend(Math.ceil(length / CHARACTERS_A_UNIT), error.place);
    }
  }
}

/** A schema from which more and more is left out. */
class Relaxed {
  schema: unknown;
  private leftOut = 0;
  private steps = 0;
  /** How often a keyword of a value was left out. */
  private readonly alike = new Map<string, number>();

  constructor(schema: unknown) {
    if (isDeeper(schema, 2 * MAX_NESTING)) {
      throw wrong("", `it is nested more than ${2 * MAX_NESTING} deep`);
    }
    this.schema = copyOf(schema);
  }

  /**
   * Leaves out what an error is about; the answer is whether that is a part that can be left out.
   *
   * @param isLast Whether there is no more than one attempt left.
   */
  leaveOut(error: SchemaRefusal, isLast: boolean): boolean {
    if (error.reason === "costly") {
      if (this.steps === LIGHTER_STEPS) return false;
      if (isLast) this.steps = LIGHTER_STEPS - 1;
      this.schema = lighter(this.schema, this.steps++);
      return true;
    }
    const found = find(this.schema, error.place);
    if (found === undefined) return false;
    const { holder, name } = found;
    if (Array.isArray(holder)) {
      // A schema of a list that is none. What is meant by null is plain.
      holder[Number(name)] = holder[Number(name)] === null ? { type: "null" } : true;
      return true;
    }
    const keyword = error.reason === "states" ? longKeyword(holder, name) : name;
    if (keyword === "minProperties" && (numberOf(holder.minProperties) ?? 0) > 1) {
      holder.minProperties = 1;
      return true;
    }
    return this.leaveOutKeyword(holder, keyword);
  }

  private leaveOutKeyword(holder: Schema, name: string): boolean {
    const oneByOne = this.leftOut++ < MOST_ONE_BY_ONE;
    const key = keyOf(holder, name);
    const before = this.alike.get(key) ?? 0;
    this.alike.set(key, before + 1);
    delete holder[name];
    if (oneByOne && before < MOST_ALIKE) return true;
    const schemas = [...schemasIn(this.schema)];
    // What is no keyword is the name of a property, which says nothing of others.
    if (!schemas.includes(holder)) return oneByOne;
    for (const one of schemas) {
      const also = Object.hasOwn(one, name) && (!oneByOne || keyOf(one, name) === key);
      if (also) delete one[name];
    }
    return true;
  }
}

/** Which of what is said of a text takes too many states: its length, where that is said. */
function longKeyword(holder: Schema, name: string): string {
  return LENGTHS.find((one) => Object.hasOwn(holder, one)) ?? name;
}

/** A keyword and its value. */
function keyOf(schema: Schema, keyword: string): string {
  return JSON.stringify([keyword, schema[keyword]]);
}

/** Where what a JSON pointer leads to is; undefined where it leads to nothing, or to all. */
function find(
  schema: unknown,
  pointer: string,
): { holder: Schema | unknown[]; name: string } | undefined {
  const tokens = tokensOf(pointer);
  const name = tokens.pop();
  let at = schema;
  for (const token of tokens) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, token)) return undefined;
    at = (at as Schema)[token];
  }
  if (name === undefined || typeof at !== "object" || at === null) return undefined;
  return Object.hasOwn(at, name) ? { holder: at as Schema | unknown[], name } : undefined;
}

/** Whether a value has more levels: looked at without a call a level. */
function isDeeper(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null ? Object.values(one) : []
    );
  }
  return false;
}
