import { M40Error } from "../errors.ts";
import { StringArray } from "./string_array.ts";
import type { ValueType } from "./types.ts";

/** An array of numbers out of the metadata, in the width that the file has. */
export type NumericArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigUint64Array
  | BigInt64Array;

/** An array of arrays. No key that m40 reads has one, but files may. */
export class NestedArray {
  /** @param items The arrays, each as an entry of its own. */
  constructor(readonly items: readonly MetadataEntry[]) {}

  get length(): number {
    return this.items.length;
  }
}

/** An array out of the metadata: numbers in a typed array, strings still undecoded, booleans, or arrays. */
export type MetadataArray = NumericArray | StringArray | boolean[] | NestedArray;

/** A metadata value; 64-bit integers beyond 2^53 are bigint, all other numbers are number. */
export type MetadataValue = number | bigint | boolean | string | MetadataArray;

/** A metadata value with its type in the file. */
export interface MetadataEntry {
  readonly type: ValueType;
  /** The type of the elements where `type` is `array`. */
  readonly element?: ValueType;
  readonly value: MetadataValue;
}

/**
 * The key-value pairs of a GGUF file, with typed access.
 *
 * A key that is missing (and has no fallback) or holds another type throws
 * `M40Error("invalid_model")`, with the key, what was got and what was wanted.
 */
export class Metadata {
  readonly #entries: ReadonlyMap<string, MetadataEntry>;
  /** The keys that were asked for. */
  readonly #read = new Set<string>();
  readonly #path: string;

  /**
   * @param entries The pairs in the order of the file.
   * @param path The file they come from, for errors.
   */
  constructor(entries: Iterable<readonly [string, MetadataEntry]>, path = "") {
    this.#entries = new Map(entries);
    this.#path = path;
  }

  /** The number of keys. */
  get size(): number {
    return this.#entries.size;
  }

  has(key: string): boolean {
    this.#read.add(key);
    return this.#entries.has(key);
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  /** Keys and values with their types, in the order of the file. */
  entries(): Iterable<[string, MetadataEntry]> {
    return this.#entries.entries();
  }

  /** A value with its type. Looking at it so does not count as reading the key, see {@link unread}. */
  entry(key: string): MetadataEntry | undefined {
    return this.#entries.get(key);
  }

  /** The keys that were never read by name, in the order of the file. */
  *unread(): Iterable<string> {
    for (const key of this.#entries.keys()) if (!this.#read.has(key)) yield key;
  }

  /** The value of a key, whatever its type. */
  get(key: string): MetadataValue | undefined {
    this.#read.add(key);
    return this.#entries.get(key)?.value;
  }

  /** The type of a key's value in words: `uint32`, `array of 3 string`; undefined where there is no such key. */
  type(key: string): string | undefined {
    const entry = this.#entries.get(key);
    return entry && describeType(entry);
  }

  string(key: string, fallback?: string): string {
    const value = this.#value(key, "a string", fallback);
    if (typeof value !== "string") throw this.#wrong(key, "a string");
    return value;
  }

  /** A finite number of any width. */
  number(key: string, fallback?: number): number {
    const value = this.#value(key, "a number", fallback);
    if (typeof value !== "number") throw this.#wrong(key, "a number");
    if (!Number.isFinite(value)) throw this.#wrong(key, "a finite number");
    return value;
  }

  /** A whole number from `min` (default 0) to `max` (default 2^53 - 1): a count, a size, a token id. */
  integer(
    key: string,
    fallback?: number,
    { min = 0, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {},
  ): number {
    const value = this.#value(key, "a whole number", fallback);
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < min || value > max) {
      throw this.#wrong(key, `a whole number from ${min} to ${max}`);
    }
    return value;
  }

  boolean(key: string, fallback?: boolean): boolean {
    const value = this.#value(key, "a boolean", fallback);
    if (typeof value !== "boolean") throw this.#wrong(key, "a boolean");
    return value;
  }

  /** An array of strings, decoded again at each call; bytes that are not UTF-8 become U+FFFD. */
  strings(key: string): string[] {
    return this.stringArray(key).toArray();
  }

  /** An array of strings, undecoded: for strings that are needed as bytes. */
  stringArray(key: string): StringArray {
    const value = this.#value(key, "an array of strings");
    if (!(value instanceof StringArray)) throw this.#wrong(key, "an array of strings");
    return value;
  }

  /**
   * An array of numbers in the width that the file has; 64-bit integers as a plain array of numbers.
   * It is shared with the metadata: do not write to it.
   */
  numbers(key: string): Exclude<NumericArray, BigUint64Array | BigInt64Array> | number[] {
    const value = this.#value(key, "an array of numbers");
    if (value instanceof BigUint64Array || value instanceof BigInt64Array) {
      const numbers = Array.from(value, Number);
      if (!numbers.every(Number.isSafeInteger)) {
        throw this.#wrong(key, "an array of numbers, none beyond 2^53,");
      }
      return numbers;
    }
    if (!ArrayBuffer.isView(value)) throw this.#wrong(key, "an array of numbers");
    return value;
  }

  /** An array of booleans. It is shared with the metadata: do not write to it. */
  booleans(key: string): boolean[] {
    const value = this.#value(key, "an array of booleans");
    if (!Array.isArray(value)) throw this.#wrong(key, "an array of booleans");
    return value;
  }

  #value<T = never>(key: string, wanted: string, fallback?: T): MetadataValue | T {
    this.#read.add(key);
    const entry = this.#entries.get(key);
    if (entry) return entry.value;
    if (fallback !== undefined) return fallback;
    throw new M40Error(
      "invalid_model",
      `${this.#from()}the metadata has no ${quoteKey(key)}: wanted ${wanted}`,
    );
  }

  #wrong(key: string, wanted: string): M40Error {
    const entry = this.#entries.get(key);
    const got = entry ? describeValue(entry) : "nothing";
    return new M40Error(
      "invalid_model",
      `${this.#from()}metadata ${quoteKey(key)}: got ${got}, wanted ${wanted}`,
    );
  }

  #from(): string {
    return this.#path === "" ? "" : `${this.#path}: `;
  }
}

/** A key or name in quotes, cut to a length that a message can carry. */
export function quoteKey(key: string): string {
  return JSON.stringify(key.length > 80 ? key.slice(0, 77) + "..." : key);
}

function describeType({ type, element, value }: MetadataEntry): string {
  return type === "array" ? `array of ${(value as MetadataArray).length} ${element}` : type;
}

function describeValue(entry: MetadataEntry): string {
  const type = describeType(entry);
  if (entry.type === "array") return type;
  if (typeof entry.value === "string") return `${type} ${quoteKey(entry.value)}`;
  return `${type} ${entry.value}`;
}
