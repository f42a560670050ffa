import type { GgufTensor } from "../gguf/mod.ts";
import type { Weight } from "./weight_table.ts";

/** Bytes of a value of the types whose values stand one by one. */
const VALUE_BYTES: Readonly<Record<string, number>> = { F32: 4, F16: 2, BF16: 2 };

/** Rows [first, first + rows) of a weight, of each of its experts. */
export function rowsOf({ tensor, desc }: Weight, first: number, rows: number): Weight {
  return {
    // What it takes of the file; where it stands there is the library's affair.
    tensor: { ...tensor, bytes: tensor.bytes * rows / desc.rows } as GgufTensor,
    desc: { ...desc, rows, part: { firstRow: first, wholeRows: desc.rows } },
  };
}

/** Values [first, first + columns) of a vector; undefined where its type has blocks, which may not be cut. */
export function valuesOf(
  { tensor, desc }: Weight,
  first: number,
  columns: number,
): Weight | undefined {
  const bytes = VALUE_BYTES[tensor.type.name];
  if (bytes === undefined) return undefined;
  return {
    tensor: {
      ...tensor,
      offset: tensor.offset + first * bytes,
      bytes: columns * bytes,
    } as GgufTensor,
    desc: { ...desc, columns },
  };
}
