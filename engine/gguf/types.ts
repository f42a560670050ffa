import { SUPPORTED } from "./tensor_types.generated.ts";

/** Name, weights in a block, bytes in a block; the number of the type is the key. */
type TypeSizes = Readonly<
  Record<number, readonly [name: string, blockSize: number, typeSize: number]>
>;

/** A GGML tensor type: how the weights of a tensor lie in memory. */
export interface TensorType {
  /** The type's number in a GGUF file. */
  readonly id: number;
  /** GGUF's own name, such as `Q4_K`. */
  readonly name: string;
  /** Weights in a block; a row is a whole number of blocks. */
  readonly blockSize: number;
  /** Bytes in a block. */
  readonly typeSize: number;
  /** Whether m40 can compute with it. */
  readonly supported: boolean;
}

/** Types of activations and of whole numbers, which no weight has, and those that there are no kernels for. */
const UNSUPPORTED: TypeSizes = {
  9: ["Q8_1", 32, 36],
  15: ["Q8_K", 256, 292],
  24: ["I8", 1, 1],
  25: ["I16", 1, 2],
  26: ["I32", 1, 4],
  27: ["I64", 1, 8],
  28: ["F64", 1, 8],
  41: ["Q1_0", 128, 18],
  42: ["Q2_0", 64, 18],
};

/** Numbers that files carried once and that GGML has withdrawn; known here only to be refused by name. */
const REMOVED: Record<number, string> = {
  4: "Q4_2",
  5: "Q4_3",
  31: "Q4_0_4_4",
  32: "Q4_0_4_8",
  33: "Q4_0_8_8",
  36: "IQ4_NL_4_4",
  37: "IQ4_NL_4_8",
  38: "IQ4_NL_8_8",
};

/** Every tensor type that a GGUF file may carry, by its number. */
export const GGML_TYPES: Readonly<Record<number, TensorType>> = Object.fromEntries(
  Object.entries({ ...SUPPORTED, ...UNSUPPORTED }).map(([id, [name, blockSize, typeSize]]) => [
    id,
    Object.freeze({
      id: Number(id),
      name,
      blockSize,
      typeSize,
      supported: id in SUPPORTED,
    }),
  ]),
);

/** The names of the types that m40 can compute with, in the order of their numbers. */
export const SUPPORTED_TYPE_NAMES: readonly string[] = Object.values(GGML_TYPES)
  .filter((type) => type.supported)
  .map((type) => type.name);

const BY_NAME = new Map(Object.values(GGML_TYPES).map((type) => [type.name, type]));

/** The type of that name (`Q4_K`; upper case), or undefined where there is none. */
export function tensorTypeByName(name: string): TensorType | undefined {
  return BY_NAME.get(name);
}

/** What to call a type's number in an error: `IQ2_XS`, `Q4_2 (withdrawn)` or `number 77`. */
export function tensorTypeLabel(id: number): string {
  if (GGML_TYPES[id]) return GGML_TYPES[id].name;
  return REMOVED[id] ? `${REMOVED[id]} (number ${id}, withdrawn from GGML)` : `number ${id}`;
}

/** A type of a number that no GGML of today has: files of forks carry such. How its weights lie is not known. */
export function unknownTensorType(id: number): TensorType {
  return { id, name: `type ${id}`, blockSize: 1, typeSize: 0, supported: false };
}

/** Why a tensor of a type cannot be computed with. */
export function unsupportedTensor(what: string, id: number): string {
  return `${what} is of type ${tensorTypeLabel(id)}, which m40 does not support. ` +
    "Take another quantisation, such as Q4_K_M or Q8_0";
}

/**
 * The bytes that a tensor of this type and number of weights takes.
 * The number of weights must be a whole number of blocks.
 */
export function tensorBytes(type: TensorType, weights: number): number {
  return (weights / type.blockSize) * type.typeSize;
}

/** The types of metadata values, by the names that the GGUF specification gives them; the index is the number in the file. */
export const VALUE_TYPES = [
  "uint8",
  "int8",
  "uint16",
  "int16",
  "uint32",
  "int32",
  "float32",
  "bool",
  "string",
  "array",
  "uint64",
  "int64",
  "float64",
] as const;

/** The name of a metadata value's type. */
export type ValueType = (typeof VALUE_TYPES)[number];
