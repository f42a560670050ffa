import { M40Error } from "../../errors.ts";
import { isJsonObject } from "../../json/mod.ts";
import { shortened } from "../errors.ts";

/** Values in one `enum`, or in all that follow from one place. */
export const MAX_VALUES = 20_000;
/** Alternatives that one position of a schema may come to, by products of `anyOf`, `allOf` and the like. */
export const MAX_ALTERNATIVES = 256;
/** States of an automaton of strings or digits. */
export const MAX_STATES = 4096;
/** The longest counted repetition. A larger `maxLength` or `maxItems` is held to it, a larger minimum refused. */
export const MAX_COUNT = 2048;
/** Schemas inside each other, and arrays and objects of a value. */
export const MAX_NESTING = 256;
/** In-place applicators (`allOf`, `$ref`, `not`, ...) inside each other. */
export const MAX_DEPTH = 200;
/** Rules of a grammar. */
const MAX_RULES = 12_000;
/** Characters of a place that an error shows: its end. */
const MOST_SHOWN = 200;
/** Units of work: schemas expanded, shapes intersected, states made. */
const MAX_WORK = 400_000;
/** Values, keys, ranges and the like that are gone through for the cost of a unit. */
const LOOKS_OF_UNIT = 8;
/** Characters that are gone through for the cost of a look. */
const CHARACTERS_OF_LOOK = 16;

/** The error that a schema cannot be followed. */
export class SchemaRefusal extends M40Error {
  /**
   * @param place A JSON pointer to the keyword.
   * @param reason "wrong": it is no schema; "unsupported": no grammar can express it; "states": the conditions on a
   * text take too many states together; "costly": all of it takes too much.
   */
  constructor(
    readonly place: string,
    message: string,
    readonly reason: "wrong" | "unsupported" | "states" | "costly",
  ) {
    const shown = place.length > MOST_SHOWN ? "..." + place.slice(-MOST_SHOWN) : place;
    super("invalid_request", `JSON Schema at "#${shown}": ${shortened(message)}`);
  }
}

/**
 * A value for an error: what is long is not written out, as errors of schemas that are only tried cost time as well.
 */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isJsonObject(value)) return "an object";
  if (typeof value === "string") return JSON.stringify(value.slice(0, MOST_SHOWN));
  return String(value).slice(0, MOST_SHOWN);
}

/** The error that a schema cannot be followed: `place` is a JSON pointer to the keyword. */
export const refusal = (place: string, message: string): M40Error =>
  new SchemaRefusal(place, message, "unsupported");

/** The error that a schema is none: `place` is a JSON pointer to the keyword. */
export const wrong = (place: string, message: string): M40Error =>
  new SchemaRefusal(place, message, "wrong");

/** The error that a schema costs too much. */
export const tooMuch = (place: string, message: string): M40Error =>
  new SchemaRefusal(place, message, "costly");

/** Work of attempts that cost too much, together: the last quarter of it is given out in ever smaller parts. */
const MAX_WASTE = 1.25 * MAX_WORK;
/** Work that every attempt may cost: what says nothing but a type costs less. */
const LEAST_WORK = 200;
const LEAST_RULES = 20;

/** Counts what is done about one place of a schema. */
export class Costs {
  /** @param place A JSON pointer, for errors. */
  constructor(private readonly budget: Budget, readonly place: string) {}

  spend(units: number): void {
    this.budget.spend(units, this.place);
  }

  look(count: number): void {
    this.budget.look(count, this.place);
  }

  lookAtText(length: number): void {
    this.budget.lookAtText(length, this.place);
  }
}

/** Counts what a schema costs, so that a hostile one ends in an error soon. */
export class Budget {
  private work = 0;
  private rules = 0;
  private wasted = 0;

  constructor(private readonly maxWork = MAX_WORK, private readonly maxRules = MAX_RULES) {}

  /**
   * Does something that counts only where it does not cost too much: so that something cheaper can be done instead.
   * What it costs to find that out is bounded, for all attempts together.
   *
   * @param attempt What is done, with what is left.
   */
  attempt<T>(attempt: (budget: Budget) => T): T {
    const waste = MAX_WASTE - this.wasted;
    const most = waste > MAX_WASTE - MAX_WORK ? Infinity : waste / 4;
    const left = Math.min(this.maxWork - this.work, most);
    const part = new Budget(Math.max(left, LEAST_WORK), this.maxRules - this.rules + LEAST_RULES);
    let isCostly = false;
    try {
      return attempt(part);
    } catch (error) {
      isCostly = error instanceof SchemaRefusal && error.reason === "costly";
      throw error;
    } finally {
      if (isCostly) this.wasted += part.work;
      else {
        this.work += part.work;
        this.rules += part.rules;
      }
    }
  }

  /** Whether so much failed that hardly anything is left to try. */
  get isWasted(): boolean {
    return this.wasted > MAX_WORK || this.work > this.maxWork - LEAST_WORK;
  }

  spend(units: number, place: string): void {
    this.work += units;
    if (this.work > this.maxWork) {
      throw tooMuch(place, "the schema is too complex to be made into a grammar; make it simpler");
    }
  }

  /** For values, keys or the like that are gone through: less than a unit each. */
  look(count: number, place: string): void {
    this.spend(count / LOOKS_OF_UNIT, place);
  }

  /** For texts that are copied or looked up. */
  lookAtText(length: number, place: string): void {
    this.look(length / CHARACTERS_OF_LOOK, place);
  }

  /** What is done about one place of a schema. */
  at(place: string): Costs {
    return new Costs(this, place);
  }

  rule(place: string): void {
    if (++this.rules > this.maxRules) {
      throw tooMuch(
        place,
        `the schema needs more than ${MAX_RULES} grammar rules; make it simpler`,
      );
    }
  }
}
