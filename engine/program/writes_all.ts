import type { Operation } from "./operation.ts";
import { WRITTEN_COLUMNS } from "./operations.generated.ts";

/**
 * Whether an operation writes all columns of each buffer that it writes to.
 *
 * @param columns Of the buffer.
 */
export function writesAll(operation: Operation, columns: number): boolean {
  const written = WRITTEN_COLUMNS[operation.kind] as (operation: Operation) => number;
  return written(operation) === columns;
}
