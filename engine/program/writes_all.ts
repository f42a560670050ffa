import type { Operation } from "./operation.ts";

/**
 * Whether an operation writes all columns of each buffer that it writes to.
 *
 * @param columns Of the buffer.
 */
export function writesAll(operation: Operation, columns: number): boolean {
  return writtenColumns(operation) === columns;
}

/** Columns that an operation writes from the first one on, without a gap; 0 where there is one. */
function writtenColumns(operation: Operation): number {
  switch (operation.kind) {
    case "embed":
    case "activation":
    case "add":
    case "select":
    case "softcap":
      return operation.columns;
    case "expert_sum":
      return operation.output_column === 0 ? operation.columns : 0;
    case "exchange":
      return operation.bounds[operation.n_cards];
    case "norm":
      return operation.output_column === 0 ? operation.n_groups * operation.columns : 0;
    case "matmul":
    case "expert_matmul":
      return sideBySide(operation);
    case "rope_store":
      return operation.n_heads * operation.head_dim;
    case "attention":
    case "delta_rule":
      return operation.n_heads * operation.value_dim;
    case "selective_scan":
      return operation.n_heads * operation.head_dim;
    case "route":
      return operation.n_used + operation.n_shared;
    case "head_matmul": {
      const { n_heads, rows, copied, output_stride } = operation;
      return rows + copied === output_stride ? n_heads * output_stride : 0;
    }
    case "conv":
      return operation.output_column === 0 ? operation.columns : 0;
    case "copy": {
      const { n_groups, columns, output_column, output_stride } = operation;
      const hasGaps = output_column !== 0 || (n_groups > 1 && output_stride !== columns);
      return hasGaps ? 0 : n_groups * columns;
    }
    case "sample":
      return 0;
  }
}

/** The columns of a product's weights, where each begins where one before it ends, in any order. */
function sideBySide(
  { n_weights, output_column, rows }: {
    readonly n_weights: number;
    readonly output_column: readonly number[];
    readonly rows: readonly number[];
  },
): number {
  const starts = Array.from({ length: n_weights }, (_, i) => i)
    .sort((a, b) => output_column[a] - output_column[b]);
  let end = 0;
  for (const i of starts) {
    if (output_column[i] !== end) return 0;
    end += rows[i];
  }
  return end;
}
