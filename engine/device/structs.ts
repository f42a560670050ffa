/**
 * The structs and numbers of cuda/include/m40.h. A test compares their layouts with those that the library reports.
 *
 * @module
 */
import type { FieldType, Struct, StructValue } from "./struct.ts";

export * from "./structs.generated.ts";

/** The values of a struct. */
export type StructOf<S> = S extends Struct<infer F extends Record<string, FieldType>>
  ? StructValue<F>
  : never;
