import type { MetadataArray, MetadataEntry } from "./metadata.ts";
import { StringArray } from "./string_array.ts";
import { ARRAY_TYPES, type ElementType, valueBytes } from "./values.ts";

type Scalar = number | bigint | boolean | string;

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
  if (!fits(type, value)) {
    throw new RangeError(`got ${typeof value} ${value}, wanted a value of type ${type}`);
  }
}

function fits(type: ElementType, value: Scalar): boolean {
  if (type === "string") return typeof value === "string";
  if (type === "bool") return typeof value === "boolean";
  if (type === "float32" || type === "float64") return typeof value === "number";
  if (typeof value !== "bigint" && !Number.isInteger(value)) return false;
  const bits = 8 * valueBytes(type);
  const whole = BigInt(value);
  return (type.startsWith("u") ? BigInt.asUintN(bits, whole) : BigInt.asIntN(bits, whole)) ===
    whole;
}
