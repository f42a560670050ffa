import { type BufferDesc, MAX_CARDS, NONE } from "../device/mod.ts";
import {
  type HeadOperations,
  headOperationsAt,
  headParts,
  isReadFrom,
  type Product,
  type ProductPart,
} from "./head_split.ts";
import type { Operation } from "./operation.ts";
import type { CacheLayer, Program } from "./program.ts";
import { splitProgram } from "./split.ts";
import { rowsOf, valuesOf } from "./weight_rows.ts";
import type { Weight } from "./weight_table.ts";

/** How a program is split over cards. */
export interface RowSplit {
  /** What each card gets of the rows of a product, compared with the others. */
  readonly shares: readonly number[];
  /** Bytes of weights that a product has at least, to be worth the way between the cards; default 512 KiB. */
  readonly leastBytes?: number;
  /** Rows go to a card in multiples of this; default 128, which kernels do at a time. */
  readonly unit?: number;
}

type Activation = Operation & { readonly kind: "activation" };
type Sum = Operation & { readonly kind: "expert_sum" };

/** The program of each card, and how often they exchange something in a step. */
export interface SplitRows {
  readonly programs: readonly Program[];
  /** Of each operation of these, the whole program's that it is a part of. */
  readonly origins: readonly number[];
  readonly exchanges: number;
  /** Bytes of the weights whose rows are shared out. */
  readonly splitBytes: number;
}

const LEAST_BYTES = 512 * 2 ** 10;
const UNIT = 128;

/**
 * Splits a program over cards: each computes some rows of every large product, and the cards exchange what they have
 * computed. Where attention follows its products at once, a card does some heads from these to the attention's output,
 * and keeps their part of the KV cache. All else each of them does by itself, on the same numbers, and keeps all of it.
 *
 * Each row of a product is added up on one card, from all of its input, so the bits are those of the whole program.
 * What is done to a product's values one by one, an activation or the sum of a token's experts, is done before the
 * exchange.
 */
export function splitRows(program: Program, split: RowSplit): SplitRows {
  const plans = productsOf(program, split);
  const cards = split.shares.map((_, card) => new CardProgram(program, plans, card));
  const bytes = plans.flatMap(({ product }) => product.weight.slice(0, product.n_weights))
    .map((weight) => program.weights[weight].tensor.bytes);
  return {
    programs: cards.map((card) => card.program()),
    origins: cards[0].origins,
    exchanges: plans.length,
    splitBytes: bytes.reduce((sum, one) => sum + one, 0),
  };
}

/** A product that is split, with what is done before the exchange. */
interface SplitProduct {
  readonly at: number;
  readonly product: Product;
  /** The gated activation of its two weights' values, side by side. */
  readonly activation?: Activation;
  readonly sum?: Sum;
  /** All that is done to heads of attention. */
  readonly heads?: HeadOperations;
  /** Of the columns that are exchanged, or of the KV heads: each card has those from one to the next. */
  readonly bounds: readonly number[];
}

/** Which products are split, and where. */
function productsOf(program: Program, split: RowSplit): SplitProduct[] {
  const found: SplitProduct[] = [];
  for (const [at, product] of program.operations.entries()) {
    if (product.kind !== "matmul" && product.kind !== "expert_matmul") continue;
    const plan = planProduct(program, at, product, split);
    if (plan !== undefined) found.push(plan);
  }
  return found;
}

function planProduct(
  program: Program,
  at: number,
  product: Product,
  { shares, leastBytes = LEAST_BYTES, unit = UNIT }: RowSplit,
): SplitProduct | undefined {
  const { n_weights, weight, rows } = product;
  const weights = weight.slice(0, n_weights).map((one) => program.weights[one]);
  const bytes = weights.reduce((sum, { tensor }) => sum + tensor.bytes, 0);
  if (bytes < leastBytes || !canBeCut(program, product)) return undefined;
  const next = program.operations[at + 1];
  const heads = headOperationsAt(program, at);
  if (heads !== undefined) {
    const bounds = boundsOf(shares, heads.rope.n_kv_heads, 1, () => 1);
    const isWhole = bounds?.slice(1).every((end, card) => headParts(heads, bounds[card], end));
    if (bounds !== undefined && isWhole) return { at, product, heads, bounds };
  }
  const isFree = (output: number) =>
    output === product.output || !isReadFrom(program, at + 2, product.output);
  if (isActivationOf(product, next) && isFree(next.output)) {
    const bounds = boundsOf(shares, rows[0], unit, () => 1);
    return bounds && { at, product, activation: next, bounds };
  }
  if (isSumOf(product, next) && isFree(next.output)) {
    const bounds = boundsOf(shares, rows[0], unit, () => 1);
    return bounds && { at, product, sum: next, bounds };
  }
  // What is exchanged are columns without a gap, from the first one on.
  const spans = spansOf(product);
  if (spans === undefined) return undefined;
  const rowBytes = weights.map(({ tensor }, i) => tensor.bytes / rows[i]);
  const total = rows.slice(0, n_weights).reduce((sum, n) => sum + n, 0);
  const bounds = boundsOf(
    shares,
    total,
    unit,
    (column) => rowBytes[spans.find(({ begin, end }) => column >= begin && column < end)!.weight],
  );
  return bounds && { at, product, bounds };
}

/** Whether rows can be taken out of all that a product has a row of. */
function canBeCut(program: Program, product: Product): boolean {
  const biases = product.bias.slice(0, product.n_weights).filter((one) => one !== NONE);
  // A bias of experts is one vector of all of them.
  if (product.kind === "expert_matmul") return biases.length === 0;
  return biases.every((one) => valuesOf(program.weights[one], 0, 1) !== undefined);
}

/** Where the weights' columns stand, in their order; undefined where there is a gap. */
function spansOf(
  { n_weights, rows, output_column }: Product,
): { weight: number; begin: number; end: number }[] | undefined {
  const spans = Array.from({ length: n_weights }, (_, weight) => ({
    weight,
    begin: output_column[weight],
    end: output_column[weight] + rows[weight],
  })).sort((a, b) => a.begin - b.begin);
  let end = 0;
  for (const span of spans) {
    if (span.begin !== end) return undefined;
    end = span.end;
  }
  return spans;
}

/** Bounds by the cards' shares, each a multiple of the unit but the last; undefined where a card would have none. */
function boundsOf(
  shares: readonly number[],
  columns: number,
  unit: number,
  cost: (column: number) => number,
): number[] | undefined {
  const total = shares.reduce((sum, one) => sum + one, 0);
  const units = Math.ceil(columns / unit);
  const costs = Array.from({ length: units }, (_, i) => cost(i * unit));
  const all = costs.reduce((sum, one) => sum + one, 0);
  const bounds = [0];
  let wanted = 0;
  let i = 0;
  let taken = 0;
  for (const share of shares.slice(0, -1)) {
    wanted += share / total * all;
    while (i < units && taken + costs[i] / 2 <= wanted) taken += costs[i++];
    bounds.push(Math.min(i * unit, columns));
  }
  bounds.push(columns);
  return bounds.every((bound, card) => card === 0 || bound > bounds[card - 1]) ? bounds : undefined;
}

function isActivationOf(product: Product, next: Operation | undefined): next is Activation {
  return next?.kind === "activation" && product.n_weights === 2 && next.gated !== 0 &&
    (product.kind !== "matmul" || product.residual === NONE) &&
    next.input === product.output && next.up === product.output &&
    next.columns === product.rows[0] && next.columns === product.rows[1] &&
    product.output_column[0] === 0 && next.up_column === product.output_column[1];
}

function isSumOf(product: Product, next: Operation | undefined): next is Sum {
  return next?.kind === "expert_sum" && product.kind === "expert_matmul" &&
    product.n_weights === 1 && product.output_column[0] === 0 && next.input === product.output &&
    next.columns === product.rows[0] && next.output_column === 0;
}

/** One card's program. */
class CardProgram {
  private readonly buffers: BufferDesc[];
  private readonly weights: Weight[];
  private readonly cacheLayers: CacheLayer[];
  private readonly operations: Operation[] = [];
  /** Of each operation, the whole program's that it is a part of. */
  readonly origins: number[] = [];
  /** Buffers and weights that it has in addition to the whole program's, by what they are. */
  private readonly added = new Map<string, number>();

  constructor(
    private readonly whole: Program,
    private readonly products: readonly SplitProduct[],
    private readonly card: number,
  ) {
    this.buffers = [...whole.buffers];
    this.weights = [...whole.weights];
    this.cacheLayers = [...whole.cacheLayers];
  }

  program(): Program {
    const { operations } = this.whole;
    const products = new Map(this.products.map((one) => [one.at, one]));
    for (let i = 0; i < operations.length; i++) {
      const product = products.get(i);
      let last = i;
      if (product === undefined) this.operations.push(operations[i]);
      else if (product.heads !== undefined) last += this.attended(product, product.heads);
      else if (product.activation !== undefined) {
        last += this.activated(product, product.activation);
      } else if (product.sum !== undefined) last += this.summed(product, product.sum);
      else this.plain(product);
      // The exchange with what was done last.
      while (this.origins.length < this.operations.length) {
        this.origins.push(i);
        i = Math.min(i + 1, last);
      }
      i = last;
    }
    // Without the weights and buffers that no operation names any more.
    const [{ program }] = splitProgram({
      ...this.whole,
      operations: this.operations,
      buffers: this.buffers,
      weights: this.weights,
      cacheLayers: this.cacheLayers,
    }, []);
    return program;
  }

  /** The card's columns stand where they do in the whole program. */
  private plain({ product, bounds }: SplitProduct): void {
    const [begin, end] = this.own(bounds);
    const parts = Array.from({ length: product.n_weights }, (_, i) => {
      const column = product.output_column[i];
      const first = Math.max(begin, column);
      const last = Math.min(end, column + product.rows[i]);
      return { i, first: first - column, rows: last - first, column: first };
    }).filter(({ rows }) => rows > 0);
    this.operations.push(this.cut(product, parts, product.output));
    this.exchange(product.output, begin, product.output, bounds);
  }

  /**
   * Its heads have buffers of their own, and their part of the cache's layer. How many operations more than the product
   * it does.
   */
  private attended({ product, bounds }: SplitProduct, heads: HeadOperations): number {
    const { rope, attention } = heads;
    const [begin, end] = this.own(bounds);
    const group = rope.n_heads / rope.n_kv_heads;
    const { parts, kColumn, vColumn, columns } = headParts(heads, begin, end)!;
    const projected = this.buffer(product.output, columns);
    const width = group * attention.value_dim;
    const result = this.buffer(attention.output, (end - begin) * width);
    const own = { n_heads: (end - begin) * group, n_kv_heads: end - begin };
    const sinks = this.values(attention.sinks, begin * group, own.n_heads);
    this.operations.push(
      this.cut(product, parts, projected),
      { ...rope, ...own, q: projected, kv: projected, k_column: kColumn, v_column: vColumn },
      { ...attention, ...own, q: projected, output: result, sinks },
    );
    this.cacheLayers[rope.layer] = { ...this.cacheLayers[rope.layer], kvHeads: end - begin };
    this.exchange(result, 0, attention.output, bounds.map((head) => head * width));
    return 2;
  }

  /** Its columns of both weights stand side by side in a buffer of their own, and what becomes of them in another. */
  private activated({ product, bounds }: SplitProduct, activation: Activation): number {
    const [begin, end] = this.own(bounds);
    const columns = end - begin;
    const projected = this.buffer(product.output, 2 * columns);
    const result = this.buffer(activation.output, columns);
    const parts = [0, 1].map((i) => ({ i, first: begin, rows: columns, column: i * columns }));
    this.operations.push(
      this.cut(product, parts, projected),
      {
        ...activation,
        input: projected,
        up: projected,
        up_column: columns,
        columns,
        output: result,
      },
    );
    this.exchange(result, 0, activation.output, bounds);
    return 1;
  }

  /** Its columns of the slots stand first; the sums where they do in the whole program. */
  private summed({ product, bounds }: SplitProduct, sum: Sum): number {
    const [begin, end] = this.own(bounds);
    const columns = end - begin;
    const slots = this.buffer(product.output, columns);
    this.operations.push(
      this.cut(product, [{ i: 0, first: begin, rows: columns, column: 0 }], slots),
      { ...sum, input: slots, columns, output_column: begin },
    );
    this.exchange(sum.output, begin, sum.output, bounds);
    return 1;
  }

  private own(bounds: readonly number[]): [begin: number, end: number] {
    return [bounds[this.card], bounds[this.card + 1]];
  }

  /** A product with these rows of its weights alone, each from a column of the output on. */
  private cut(
    product: Product,
    parts: readonly ProductPart[],
    output: number,
  ): Product {
    const rows = (weight: number, { first, rows }: { first: number; rows: number }) =>
      weight === NONE
        ? NONE
        : this.weight(`rows ${weight} ${first} ${rows}`, () =>
          rowsOf(this.weights[weight], first, rows));
    const common = {
      output,
      n_weights: parts.length,
      weight: parts.map((part) => rows(product.weight[part.i], part)),
      factor: parts.map(({ i }) => product.factor[i] ?? NONE),
      rows: parts.map((part) => part.rows),
      output_column: parts.map(({ column }) => column),
    };
    if (product.kind === "matmul") {
      const bias = parts.map((part) =>
        this.values(product.bias[part.i] ?? NONE, part.first, part.rows)
      );
      return { ...product, ...common, bias };
    }
    const shared = parts.map((part) => rows(product.shared[part.i] ?? NONE, part));
    return { ...product, ...common, shared, bias: parts.map(() => NONE) };
  }

  /** Values of a vector. */
  private values(weight: number, first: number, count: number): number {
    if (weight === NONE) return NONE;
    return this.weight(
      `values ${weight} ${first} ${count}`,
      () => valuesOf(this.weights[weight], first, count)!,
    );
  }

  private exchange(
    input: number,
    input_column: number,
    output: number,
    bounds: readonly number[],
  ): void {
    this.operations.push({
      kind: "exchange",
      input,
      output,
      input_column,
      n_cards: bounds.length - 1,
      card: this.card,
      bounds: [...bounds, ...new Array(MAX_CARDS + 1 - bounds.length).fill(0)],
    });
  }

  /** A buffer as another one is, but with other columns. Products one after the other use the same. */
  private buffer(like: number, columns: number): number {
    const { rows, rows_factor } = this.whole.buffers[like];
    return this.once(
      `buffer ${like} ${rows} ${rows_factor} ${columns}`,
      () => this.buffers.push({ ...this.whole.buffers[like], columns }) - 1,
    );
  }

  private weight(name: string, make: () => Weight): number {
    return this.once(`weight ${name}`, () => this.weights.push(make()) - 1);
  }

  private once(name: string, make: () => number): number {
    const known = this.added.get(name);
    if (known !== undefined) return known;
    const made = make();
    this.added.set(name, made);
    return made;
  }
}
