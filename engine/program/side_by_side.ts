import { M40Error } from "../errors.ts";
import type { Buffer, MatmulWeight } from "./operands.ts";

/** Where each weight's rows go in the output, one after the other from a column on, to its last one. */
export function sideBySide(
  weights: readonly MatmulWeight[],
  output: Buffer,
  from = 0,
): { rows: number[]; outputColumns: number[] } {
  const rows = weights.map((weight) => weight.rows);
  const outputColumns: number[] = [];
  let column = from;
  for (const n of rows) {
    outputColumns.push(column);
    column += n;
  }
  if (column !== output.columns) {
    throw new M40Error(
      "internal",
      `weights of ${rows.join(" + ")} rows for an output of ${output.columns} columns`,
    );
  }
  return { rows, outputColumns };
}
