import type { MetadataArray, MetadataEntry } from "./metadata.ts";
import { StringArray } from "./string_array.ts";
import type { ValueType } from "./types.ts";
import { ARRAY_TYPES } from "./values.ts";

type ElementType = Exclude<ValueType, "array">;
type Scalar = number | bigint | boolean | string;

/** The smallest and largest value of each type of integer. */
const INTEGER_RANGES: Partial<Record<ValueType, [bigint, bigint]>> = {
  uint8: [0n, 0xffn],
  int8: [-0x80n, 0x7fn],
  uint16: [0n, 0xffffn],
  int16: [-0x8000n, 0x7fffn],
  uint32: [0n, 0xffffffffn],
  int32: [-0x80000000n, 0x7fffffffn],
  uint64: [0n, 2n ** 64n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/**
 * A metadata value to write.
 *
 * @throws {RangeError} where the value is not one of that type.
 */
export function entry(type: ElementType, value: Scalar): MetadataEntry {
  checkScalar(type, value);
  return { type, value };
}

/**
 * An array of metadata values to write; strings may be given as bytes.
 *
 * @throws {RangeError} where a value is not one of that type.
 */
export function arrayEntry(
  element: ElementType,
  values: Iterable<Scalar> | Iterable<Scalar | Uint8Array>,
): MetadataEntry {
  const list = [...values];
  for (const value of list) {
    if (!(element === "string" && value instanceof Uint8Array)) {
      checkScalar(element, value as Scalar);
    }
  }
  return { type: "array", element, value: packArray(element, list) };
}

function packArray(element: ElementType, list: (Scalar | Uint8Array)[]): MetadataArray {
  if (element === "string") return StringArray.from(list as (string | Uint8Array)[]);
  if (element === "bool") return list as boolean[];
  const wide = element === "uint64" || element === "int64";
  const ArrayType = ARRAY_TYPES[element] as unknown as {
    from(values: (number | bigint)[]): MetadataArray;
  };
  return ArrayType.from(wide ? (list as number[]).map(BigInt) : list as number[]);
}

function checkScalar(type: ElementType, value: Scalar): void {
  const range = INTEGER_RANGES[type];
  const fits = type === "string"
    ? typeof value === "string"
    : type === "bool"
    ? typeof value === "boolean"
    : range === undefined
    ? typeof value === "number"
    : (typeof value === "bigint" || Number.isInteger(value)) &&
      BigInt(value) >= range[0] && BigInt(value) <= range[1];
  if (!fits) throw new RangeError(`got ${typeof value} ${value}, wanted a value of type ${type}`);
}
