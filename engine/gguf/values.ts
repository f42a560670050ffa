import {
  type MetadataArray,
  type MetadataEntry,
  type MetadataValue,
  NestedArray,
  type NumericArray,
  quoteKey,
} from "./metadata.ts";
import type { HeaderCursor } from "./source.ts";
import { StringArray } from "./string_array.ts";
import { VALUE_TYPES, type ValueType } from "./types.ts";

export type ElementType = Exclude<ValueType, "array">;
type NumericType = Exclude<ElementType, "string" | "bool">;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The typed array for each numeric type; a GGUF file and every host of m40 are little-endian. */
export const ARRAY_TYPES = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  uint64: BigUint64Array,
  int64: BigInt64Array,
  float64: Float64Array,
} as const satisfies Record<NumericType, new (buffer: ArrayBuffer) => NumericArray>;

/** The bytes of a value of a type that has a fixed size. */
export function valueBytes(type: NumericType | "bool"): number {
  return type === "bool" ? 1 : ARRAY_TYPES[type].BYTES_PER_ELEMENT;
}

/** How deep arrays of arrays are read. */
const MOST_DEPTH = 4;
/** Arrays in an array at most: each takes much more memory than its bytes in the file. */
const MOST_NESTED = 2 ** 16;
/** The shortest that an array can be, in bytes: the type of its elements, and how many they are. */
const MIN_ARRAY_BYTES = 4 + 8;

/** Reads the type and value of a metadata key. */
export function readEntry(cursor: HeaderCursor, key: string): MetadataEntry {
  const what = `metadata ${quoteKey(key)}`;
  const type = readType(cursor, what);
  if (type !== "array") return { type, value: readScalar(cursor, type, what) };
  return readArrayEntry(cursor, what, { depth: 1, nestedLeft: MOST_NESTED });
}

/** Reads an array from the type of its elements on. */
function readArrayEntry(
  cursor: HeaderCursor,
  what: string,
  limits: { depth: number; nestedLeft: number },
): MetadataEntry {
  const element = readType(cursor, `the elements of ${what}`);
  const count = cursor.size(`the length of ${what}`);
  const minBytes = element === "string"
    ? 8
    : element === "array"
    ? MIN_ARRAY_BYTES
    : valueBytes(element);
  if (count > cursor.remaining / minBytes) {
    throw cursor.fail(
      `${what} is said to be an array of ${count} ${element}, but only ${cursor.remaining} bytes ` +
        "are left of the file: it is truncated or damaged",
    );
  }
  if (element !== "array") {
    return { type: "array", element, value: readArray(cursor, element, count, what) };
  }
  limits.nestedLeft -= count;
  if (limits.depth >= MOST_DEPTH || limits.nestedLeft < 0) {
    throw cursor.fail(
      `${what} is an array of arrays deeper than ${MOST_DEPTH} or of more than ${MOST_NESTED}, ` +
        "which m40 does not read",
    );
  }
  limits.depth++;
  const items = Array.from({ length: count }, () => readArrayEntry(cursor, what, limits));
  limits.depth--;
  return { type: "array", element, value: new NestedArray(items) };
}

function readType(cursor: HeaderCursor, what: string): ValueType {
  const id = cursor.uint32(`the type of ${what}`);
  const type = VALUE_TYPES[id];
  if (type === undefined) {
    throw cursor.fail(
      `${what} has the unknown value type ${id}; known are ` +
        VALUE_TYPES.map((name, id) => `${id} (${name})`).join(", "),
    );
  }
  return type;
}

function readScalar(cursor: HeaderCursor, type: ElementType, what: string): MetadataValue {
  if (type === "string") {
    return decoder.decode(cursor.take(readLength(cursor, what), what));
  }
  const bytes = cursor.take(valueBytes(type), what);
  if (type === "bool") return readBoolean(bytes[0], cursor, what);
  const value = new ARRAY_TYPES[type](bytes.slice().buffer)[0];
  if (typeof value === "number") return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function readLength(cursor: HeaderCursor, what: string): number {
  const length = cursor.size(`the length of the string ${what}`);
  if (length > cursor.remaining) {
    throw cursor.fail(
      `${what} is said to be a string of ${length} bytes, but only ${cursor.remaining} are left ` +
        "of the file: it is truncated or damaged",
    );
  }
  return length;
}

function readBoolean(byte: number, cursor: HeaderCursor, what: string): boolean {
  if (byte > 1) throw cursor.fail(`${what} is a bool of value ${byte}, wanted 0 or 1`);
  return byte === 1;
}

function readArray(
  cursor: HeaderCursor,
  element: ElementType,
  count: number,
  what: string,
): MetadataArray {
  if (element === "string") return readStrings(cursor, count, what);
  const bytes = cursor.take(count * valueBytes(element), what);
  if (element === "bool") return Array.from(bytes, (byte) => readBoolean(byte, cursor, what));
  return new ARRAY_TYPES[element](bytes.slice().buffer);
}

/** Reads strings into one block of bytes, which grows with what has been read, not with what was promised. */
function readStrings(cursor: HeaderCursor, count: number, what: string): StringArray {
  let data = new Uint8Array(Math.min(count * 8, 64 * 1024));
  let ends = new Uint32Array(Math.min(count, 16 * 1024));
  let end = 0;
  for (let i = 0; i < count; i++) {
    const length = readLength(cursor, what);
    const bytes = cursor.take(length, what);
    if (end + length > data.length) data = grown(data, Math.max(end + length, data.length * 2));
    if (i === ends.length) ends = grown(ends, Math.min(count, ends.length * 2));
    // Most strings are a few bytes long, where a loop beats a call.
    if (length < 32) { for (let j = 0; j < length; j++) data[end + j] = bytes[j]; }
    else data.set(bytes, end);
    ends[i] = end += length;
  }
  return new StringArray(data.slice(0, end), ends.slice(0, count));
}

function grown<T extends Uint8Array | Uint32Array>(array: T, length: number): T {
  const larger = new (array.constructor as new (length: number) => T)(length);
  larger.set(array);
  return larger;
}
