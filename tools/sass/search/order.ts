/**
 * Orders of a decode product, as cuda/kernels/decode_order.cuh has them, and random changes of them.
 *
 * Every order that is made here lets each sum take its columns from the first to the last, each once, as
 * `takes_columns_in_order()` there demands.
 *
 * @module
 */
import type { Random } from "../../fuzz/mutate.ts";

/** A `DecodeOrder`. Its table, if there is one, says all but the refill. */
export interface DecodeOrder {
  readonly refill: number;
  readonly rowsInside: boolean;
  readonly firstRow: number;
  readonly rowsLater: number;
  readonly rowsLaterByToken: number;
  readonly rowsLaterByFour: number;
  readonly rowsBack: boolean;
  readonly tokensBack: boolean;
  readonly table?: DecodeTable;
}

/** A `DecodeOrderTable`: of each four columns of a load. */
export interface DecodeTable {
  /** Its tokens, each once. */
  readonly tokens: readonly (readonly number[])[];
  /** Of each token and column: the row that it starts with, and 4 where it goes backwards. */
  readonly columns: readonly (readonly (readonly number[])[])[];
}

/** What a kernel has orders of. */
export interface OrderShape {
  /** Columns of a load of quants: a multiple of four, 32 at most. */
  readonly columns: number;
  readonly tokens: number;
  /** Rows of a lane: 4, or 2, which have no tables. */
  readonly rows: number;
  /** Whether products go column by column, each with all rows and tokens (`decode_column_product`): without tables. */
  readonly byColumn?: boolean;
}

const DIGITS = 8;
const COLUMNS = 4;
const STRAIGHT: Omit<DecodeOrder, "refill"> = {
  rowsInside: false,
  firstRow: 0,
  rowsLater: 0,
  rowsLaterByToken: 0,
  rowsLaterByFour: 0,
  rowsBack: false,
  tokensBack: false,
};
/** The parameters, each with how many values it has. A refill is counted in fours of columns. */
const PARAMETERS = [
  "refill",
  "rowsInside",
  "firstRow",
  "rowsLater",
  "rowsLaterByToken",
  "rowsLaterByFour",
  "rowsBack",
  "tokensBack",
] as const;

const range = (n: number) => Array.from({ length: n }, (_, i) => i);
const foursOf = ({ columns }: OrderShape) => columns / COLUMNS;

/** Row by row, as it is written without an order. */
export function straight(refill: number): DecodeOrder {
  return { refill, ...STRAIGHT };
}

/** The straight orders, one for each place of the refill; the last first, where registers are shortest. */
export function straightOrders(shape: OrderShape): DecodeOrder[] {
  return range(foursOf(shape)).reverse().map((four) => straight(COLUMNS * four));
}

/** The order with its refill at every place. */
export function refilled(order: DecodeOrder, shape: OrderShape): DecodeOrder[] {
  return range(foursOf(shape)).map((four) => ({ ...order, refill: COLUMNS * four }));
}

/** Whether a table can say its orders. */
export function hasTables({ rows, byColumn }: OrderShape): boolean {
  return rows === COLUMNS && !byColumn;
}

/** Any order that has no table, but for the straight ones. */
export function randomOrder(shape: OrderShape, random: Random): DecodeOrder {
  const bit = () => random(2) === 1;
  return {
    // Late refills leave more registers: half of all orders have the last or the last but one.
    refill: COLUMNS *
      (bit() ? Math.max(0, foursOf(shape) - 1 - random(2)) : random(foursOf(shape))),
    rowsInside: !shape.byColumn || bit(),
    firstRow: random(shape.rows),
    rowsLater: random(shape.rows),
    rowsLaterByToken: shape.byColumn
      ? random(shape.tokens)
      : shape.tokens > 1
      ? random(shape.rows)
      : 0,
    rowsLaterByFour: random(shape.rows),
    rowsBack: bit(),
    tokensBack: shape.tokens > 1 && bit(),
  };
}

/** An order without a table, one or two of its parameters changed. */
export function neighbour(order: DecodeOrder, shape: OrderShape, random: Random): DecodeOrder {
  let changed = order.rowsInside || shape.byColumn
    ? order
    : { ...randomOrder(shape, random), refill: order.refill };
  for (let i = random(2); i >= 0; i--) {
    const parameter = PARAMETERS[random(PARAMETERS.length)];
    changed = { ...changed, [parameter]: randomOrder(shape, random)[parameter] };
  }
  return changed;
}

/** The same products in the same order, said by a table. */
export function asTable(order: DecodeOrder, { tokens, columns }: OrderShape): DecodeOrder {
  if (order.table) return order;
  const { firstRow, rowsLater, rowsLaterByToken, rowsLaterByFour } = order;
  const fours = range(foursOf({ tokens, columns, rows: COLUMNS }));
  const digit = (four: number, token: number, column: number) =>
    (firstRow + rowsLater * column + rowsLaterByToken * token + rowsLaterByFour * four) % 4 +
    (order.rowsBack && column % 2 === 1 ? 4 : 0);
  const table: DecodeTable = {
    tokens: fours.map((four) =>
      order.tokensBack && four % 2 === 1 ? range(tokens).reverse() : range(tokens)
    ),
    columns: fours.map((four) =>
      range(tokens).map((token) => range(COLUMNS).map((column) => digit(four, token, column)))
    ),
  };
  return { ...straight(order.refill), rowsInside: true, table };
}

/** A table that may be written to. */
interface Draft {
  tokens: number[][];
  columns: number[][][];
}

type Change = (draft: Draft, shape: OrderShape, random: Random) => void;

/** What a table is changed by; those that stand here more than once are the more frequent. */
const CHANGES: readonly Change[] = [
  ...Array<Change>(6).fill(changeColumn),
  ...Array<Change>(3).fill(changeColumns),
  ...Array<Change>(3).fill(swapTokens),
  changeTokens,
  changeOfEveryFour,
  copyFour,
];

function changeColumn({ columns }: Draft, shape: OrderShape, random: Random): void {
  columns[random(foursOf(shape))][random(shape.tokens)][random(COLUMNS)] = random(DIGITS);
}

function changeColumns({ columns }: Draft, shape: OrderShape, random: Random): void {
  columns[random(foursOf(shape))][random(shape.tokens)] = range(COLUMNS).map(() => random(DIGITS));
}

function swapTokens({ tokens }: Draft, shape: OrderShape, random: Random): void {
  const of = tokens[random(foursOf(shape))];
  const [a, b] = [random(of.length), random(of.length)];
  [of[a], of[b]] = [of[b], of[a]];
}

/** Turns the tokens of four columns round, or lets them start later. */
function changeTokens({ tokens }: Draft, shape: OrderShape, random: Random): void {
  const four = random(foursOf(shape));
  const first = random(shape.tokens);
  tokens[four] = first === 0
    ? tokens[four].toReversed()
    : [...tokens[four].slice(first), ...tokens[four].slice(0, first)];
}

/** One token's column in all fours, or in every second. */
function changeOfEveryFour({ columns }: Draft, shape: OrderShape, random: Random): void {
  const [token, column, digit] = [random(shape.tokens), random(COLUMNS), random(DIGITS)];
  const step = 1 + random(2);
  for (let four = random(step); four < columns.length; four += step) {
    columns[four][token][column] = digit;
  }
}

function copyFour({ tokens, columns }: Draft, shape: OrderShape, random: Random): void {
  const [from, to] = [random(foursOf(shape)), random(foursOf(shape))];
  tokens[to] = [...tokens[from]];
  columns[to] = columns[from].map((token) => [...token]);
}

/** An order with a table, at one to three places of it changed; now and then its refill, too. */
export function changedTable(order: DecodeOrder, shape: OrderShape, random: Random): DecodeOrder {
  const { table, refill } = asTable(order, shape);
  const draft: Draft = {
    tokens: table!.tokens.map((tokens) => [...tokens]),
    columns: table!.columns.map((four) => four.map((token) => [...token])),
  };
  for (let i = random(3); i >= 0; i--) CHANGES[random(CHANGES.length)](draft, shape, random);
  return {
    ...straight(random(16) === 0 ? COLUMNS * random(foursOf(shape)) : refill),
    rowsInside: true,
    table: draft,
  };
}

/** The order as an initializer of C++, what it does not say left out; `table`: the name of its table. */
export function orderText(order: DecodeOrder, table = "searched_table"): string {
  const values: [value: number | boolean | string, usual: number | boolean | string][] = [
    [order.refill, -1],
    [order.rowsInside, false],
    [order.firstRow, 0],
    [order.rowsLater, 0],
    [order.rowsLaterByToken, 0],
    [order.rowsLaterByFour, 0],
    [order.rowsBack, false],
    [order.tokensBack, false],
    [order.table ? table : "no_table", "no_table"],
  ];
  const said = values.findLastIndex(([value, usual]) => value !== usual) + 1;
  return `{${values.slice(0, said).map(([value]) => value).join(", ")}}`;
}

/** The table as an initializer of C++, in lines for decode_order.cuh. */
export function tableText({ tokens, columns }: DecodeTable): string {
  const hexadecimal = (digits: readonly number[]) =>
    "0x" + digits.map((digit) => digit.toString(16)).join("");
  return [
    `{{${tokens.map(hexadecimal).join(", ")}}, {`,
    ...columns.map((four) => `      {${four.map((token) => "0" + token.join("")).join(", ")}},`),
    "  }},",
  ].join("\n");
}
