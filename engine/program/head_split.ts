import { NONE } from "../device/mod.ts";
import { buffersOf } from "./buffer_fields.ts";
import { cacheLayerOf } from "./kept.ts";
import type { Operation } from "./operation.ts";
import type { Program } from "./program.ts";
import { valuesOf } from "./weight_rows.ts";
import { writesAll } from "./writes_all.ts";

/** Operations of those kinds. */
export type Product = Operation & { readonly kind: "matmul" | "expert_matmul" };
type RopeStore = Operation & { readonly kind: "rope_store" };
type Attention = Operation & { readonly kind: "attention" };

/** The products of q, k and v, and what their heads go through, each by itself. */
export interface HeadOperations {
  readonly product: Operation & { readonly kind: "matmul" };
  readonly rope: RopeStore;
  readonly attention: Attention;
}

/** Rows of a product's weights, and the columns that they are to stand at. */
export interface ProductPart {
  /** The weight's number among the product's. */
  readonly i: number;
  readonly first: number;
  readonly rows: number;
  readonly column: number;
}

/**
 * The operations from number `at` on, if they are the product of q, k and v and all that is done to their heads up to
 * the attention's output. Where no other operation uses them, a card can compute some of the KV heads and what belongs
 * to them.
 */
export function headOperationsAt(program: Program, at: number): HeadOperations | undefined {
  const [product, rope, attention] = program.operations.slice(at, at + 3);
  if (
    product?.kind !== "matmul" || rope?.kind !== "rope_store" || attention?.kind !== "attention"
  ) return undefined;
  const { output, residual } = product;
  const { layer, n_heads, head_dim, k_column, v_column } = rope;
  const isChain = residual === NONE && rope.q === output && rope.kv === output &&
    attention.q === output && attention.output !== output && attention.layer === layer;
  if (!isChain || v_column === NONE || k_column < n_heads * head_dim) return undefined;
  const ofLayer = program.operations.filter((one) => cacheLayerOf(one) === layer);
  if (ofLayer.length !== 2 || program.cacheLayers[layer].valueDim === 0) return undefined;
  const { sinks } = attention;
  if (sinks !== NONE && valuesOf(program.weights[sinks], 0, 1) === undefined) return undefined;
  const columns = program.buffers[attention.output].columns;
  if (!writesAll(attention, columns) || isReadFrom(program, at + 3, output)) return undefined;
  return { product, rope, attention };
}

/** Where a card's q, k and v come from and where they stand; undefined where that is more than a product can name. */
export function headParts(
  { product, rope }: HeadOperations,
  begin: number,
  end: number,
): { parts: ProductPart[]; kColumn: number; vColumn: number; columns: number } | undefined {
  const { n_heads, n_kv_heads, head_dim, value_dim, k_column, v_column } = rope;
  const group = n_heads / n_kv_heads;
  const heads = end - begin;
  const kColumn = heads * group * head_dim;
  const vColumn = kColumn + heads * head_dim;
  const spans = [
    { from: begin * group * head_dim, columns: heads * group * head_dim, to: 0 },
    { from: k_column + begin * head_dim, columns: heads * head_dim, to: kColumn },
    { from: v_column + begin * value_dim, columns: heads * value_dim, to: vColumn },
  ];
  const parts: ProductPart[] = [];
  for (const { from, columns, to } of spans) {
    const i = product.output_column.findIndex((column, weight) =>
      weight < product.n_weights && from >= column &&
      from + columns <= column + product.rows[weight]
    );
    // Rows of two weights, or of none, as V that are K.
    if (i < 0) return undefined;
    parts.push({ i, first: from - product.output_column[i], rows: columns, column: to });
  }
  return { parts, kColumn, vColumn, columns: vColumn + heads * value_dim };
}

/** Whether what stands in a buffer is read from an operation on, before it is replaced. */
export function isReadFrom(program: Program, from: number, buffer: number): boolean {
  for (const operation of program.operations.slice(from)) {
    const uses = buffersOf(operation).filter((one) => one.buffer === buffer);
    if (uses.some(({ access }) => access !== "writes")) return true;
    if (uses.length > 0) return !writesAll(operation, program.buffers[buffer].columns);
  }
  return false;
}
