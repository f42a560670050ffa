import { M40Error } from "../../engine/errors.ts";
import type { Option, Options, OptionValues } from "../arguments/mod.ts";
import { nearest } from "../../engine/nearest.ts";
import { lineOf } from "./key_lines.ts";

/** Reads the tables of a configuration file, and says on which line what is wrong. */
export class ConfigReader {
  /**
   * @param path The file, for messages.
   * @param source What is in it.
   */
  constructor(private readonly path: string, private readonly source: string) {}

  /**
   * The values of a table whose keys are command line options; absent keys are left out.
   *
   * @param at The names of the table.
   * @param more Other keys that the table may have, which other code reads.
   * @throws {M40Error} "invalid_request" for keys that are not known and values that are not wanted.
   */
  options<O extends Options>(
    table: Readonly<Record<string, unknown>>,
    options: O,
    at: readonly string[],
    more: readonly string[] = [],
  ): Partial<OptionValues<O>> {
    const values: Record<string, unknown> = {};
    this.checkKeys(table, [...Object.keys(options), ...more], at);
    for (const [key, value] of Object.entries(table)) {
      if (Object.hasOwn(options, key)) {
        values[key] = this.value(value, options[key], [...at, key]);
      }
    }
    return values as Partial<OptionValues<O>>;
  }

  /** A table in a table; an empty one where there is none. */
  table(
    tables: Readonly<Record<string, unknown>>,
    key: string,
    at: readonly string[] = [],
  ): Readonly<Record<string, unknown>> {
    const value = Object.hasOwn(tables, key) ? tables[key] : {};
    const isTable = typeof value === "object" && value !== null && !Array.isArray(value) &&
      !(value instanceof Date);
    if (!isTable) throw this.error([...at, key], `got ${shown(value)}, wanted a table`);
    return value as Record<string, unknown>;
  }

  /** @throws {M40Error} for a key that is none of these, with the nearest. */
  checkKeys(
    table: Readonly<Record<string, unknown>>,
    known: readonly string[],
    at: readonly string[] = [],
  ): void {
    for (const key of Object.keys(table)) {
      if (known.includes(key)) continue;
      // Requests spell them with underscores.
      const near = nearest(key.replaceAll("_", "-"), known);
      throw this.error(
        [...at, key],
        `there is no such key${near === undefined ? "" : `; did you mean ${near}?`} Known: ${
          known.join(", ")
        }`,
      );
    }
  }

  /** A text that is not empty. */
  text(value: unknown, at: readonly string[]): string {
    if (typeof value === "string" && value !== "") return value;
    throw this.error(at, `got ${shown(value)}, wanted a text that is not empty`);
  }

  /** What is wrong with what is said at these names. */
  error(at: readonly string[], problem: string): M40Error {
    const line = lineOf(this.source, at);
    const where = line === undefined ? this.path : `${this.path}:${line}`;
    const name = at.map((key) => /^[\w-]+$/.test(key) ? key : JSON.stringify(key)).join(".");
    return new M40Error("invalid_request", `${where}: ${name}: ${problem}.`);
  }

  /** @throws {M40Error} for a whole number that may have lost digits when it was read. */
  exact(number: number, at: readonly string[]): void {
    if (Number.isSafeInteger(number) || !Number.isInteger(number)) return;
    throw this.error(
      at,
      "got a whole number beyond 2^53, whose last digits would be lost; wanted it in quotes",
    );
  }

  private value(value: unknown, option: Option<unknown>, at: readonly string[]): unknown {
    const { type, repeatable } = option;
    if (type === undefined) {
      if (typeof value === "boolean") return value;
      throw this.error(at, `got ${shown(value)}, wanted true or false`);
    }
    const parse = (one: unknown) => {
      const parsed = typeof one === "string" || typeof one === "number"
        ? type.parse(String(one))
        : undefined;
      // A number in quotes is a text, and a text without quotes none.
      const mistaken = typeof one === "number"
        ? typeof parsed === "string"
        : typeof parsed === "number" && Number.isFinite(Number(one));
      if (typeof one === "number" && typeof parsed === "bigint") this.exact(one, at);
      if (parsed !== undefined && !mistaken) return parsed;
      throw this.error(at, `got ${shown(one)}, wanted ${type.wanted}`);
    };
    if (!repeatable) return parse(value);
    return (Array.isArray(value) ? value : [value]).map(parse);
  }
}

/** A value for a message, however long it is. */
function shown(value: unknown): string {
  if (value instanceof Date) return "a date";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "a table";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 80 ? text.slice(0, 77) + "..." : text;
}
