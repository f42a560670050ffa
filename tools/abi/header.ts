/**
 * What cuda/include/m40.h says.
 *
 * @module
 */
import type { Role } from "./roles.ts";

/** A scalar as `engine/device/struct.ts` names them, or another struct of the header. */
export type Element = "u32" | "i32" | "f32" | "u64" | "text" | { readonly struct: string };

/** A field of a struct. */
export interface Field {
  readonly name: string;
  readonly element: Element;
  /** Elements of an array, bytes of a text; absent: it is no array. */
  readonly count?: number;
  /** Of fields of operations: what it is, if not a number. */
  readonly role?: Role;
}

/** A struct. The members of m40_op's union are one field, `payload`. */
export interface Struct {
  readonly name: string;
  readonly fields: readonly Field[];
}

/** Numbers of one type, by what stands behind the prefix that their names have in common. */
export interface Enumeration {
  readonly name: string;
  readonly members: ReadonlyMap<string, number>;
  /** What stands behind members. */
  readonly comments: ReadonlyMap<string, string>;
}

/** A parameter of a function. */
export interface Parameter {
  readonly name: string;
  /** Without its const and stars. */
  readonly type: string;
  readonly isConst: boolean;
  /** Stars. */
  readonly depth: number;
  /** Of memory: the number of the parameter that says how many elements there are; absent: there is one. */
  readonly count?: number;
}

/** A function, and what its `//@` says. */
export interface Declaration {
  readonly name: string;
  readonly result: string;
  readonly parameters: readonly Parameter[];
  /** What it is about, where a channel passes it on. */
  readonly about?: string;
  readonly lane: "calls" | "steps" | "state";
  readonly waits: "never" | "always" | "maybe";
}

/** All of it, in its order. */
export interface Header {
  readonly constants: ReadonlyMap<string, number>;
  readonly enumerations: readonly Enumeration[];
  readonly structs: readonly Struct[];
  /** Structs that only libraries know, which callers have pointers to. */
  readonly handles: readonly string[];
  readonly functions: readonly Declaration[];
}

/** A tensor type: so many weights in so many bytes. */
export interface TypeBlock {
  readonly name: string;
  readonly id: number;
  readonly weights: number;
  readonly bytes: number;
}

/** The tensor types, with their blocks. */
export function tensorTypesOf({ enumerations }: Header): TypeBlock[] {
  const types = enumerations.find(({ name }) => name === "m40_tensor_type");
  return [...types?.members ?? []].map(([key, id]) => {
    const name = key.toUpperCase();
    const block = /^(\d+) in (\d+)$/.exec(types!.comments.get(key)!);
    if (!block) {
      throw new HeaderError(
        `m40.h does not say how large M40_TYPE_${name} is: wanted \`WEIGHTS in BYTES\``,
      );
    }
    return { name, id, weights: Number(block[1]), bytes: Number(block[2]) };
  });
}

/** What cannot be understood. */
export class HeaderError extends Error {
  override readonly name = "HeaderError";
}

/** How the structs of operations' records begin. */
export const OPERATION_PREFIX = "m40_op_";

/** The operations by kind, and their records. */
export function operationsOf(
  { structs, enumerations }: Header,
): { name: string; struct: Struct }[] {
  const kinds = enumerations.find(({ name }) => name === "m40_op_kind")?.members ?? new Map();
  const byKind = [...kinds].sort(([, a], [, b]) => a - b).map(([name]) => {
    const struct = structs.find((one) => one.name === OPERATION_PREFIX + name);
    if (struct === undefined) {
      throw new HeaderError(`m40.h has no m40_op_${name}: wanted one for its kind`);
    }
    return { name, struct };
  });
  const records = structs.filter((one) => one.name.startsWith(OPERATION_PREFIX));
  if (records.length !== byKind.length) {
    throw new HeaderError("m40.h has an m40_op_* without a kind in m40_op_kind");
  }
  return byKind;
}
