/**
 * Which orders a search tries one after the other.
 *
 * @module
 */
import { type Random, randomOf } from "../../fuzz/mutate.ts";
import {
  changedTable,
  type DecodeOrder,
  hasTables,
  neighbour,
  type OrderShape,
  orderText,
  randomOrder,
  refilled,
  straightOrders,
  tableText,
} from "./order.ts";

/** What a kernel with an order takes, by its machine code. */
export interface Cost {
  /** Accesses of local memory: registers that did not suffice. */
  readonly spills: number;
  /** Of a turn of its hot loop. */
  readonly clocks: number;
  /** Of those, lost to register banks. */
  readonly banks: number;
  readonly registers: number;
  /** Multiply-adds a clock. */
  readonly share: number;
}

/** An order with its cost. */
export interface Rated {
  readonly order: DecodeOrder;
  readonly cost: Cost;
}

/** Below zero where a is better than b: fewer spills, then clocks, then clocks lost to banks, then registers. */
export function compareCosts(a: Cost, b: Cost): number {
  return a.spills - b.spills || a.clocks - b.clocks || a.banks - b.banks ||
    a.registers - b.registers;
}

/** Orders without a table are tried for this part of the candidates. */
const WITHOUT_TABLE = 0.3;
/** Of those, so many that are any, before what is near the best one is tried as well. */
const ANY = 16;
/** When the best order's refill is put at every other place: what banks lose may hang on it more than on all else. */
const REFILLED = [0.15, WITHOUT_TABLE, 0.5, 0.75];
/** How often another order is made where one was tried already. */
const PATIENCE = 100;

/**
 * The candidates of a search, made one by one from what is known of those before: the kernel's own order, the straight
 * ones, random ones without a table and what is near the best of them, and at last random changes of the best one's table,
 * each of which is kept that costs no more. Now and then it tries all refills of the best.
 */
export class OrderSearch {
  private readonly random: Random;
  private readonly tried = new Set<string>();
  private readonly first: DecodeOrder[];
  private made = 0;
  /** The best order so far of those that do not spill, and the best of them without a table. */
  best?: Rated;
  bestPlain?: Rated;
  /** The best one that others are made from, and the best of those without a table. */
  private parent?: Rated;
  private plain?: Rated;

  /**
   * @param own The kernel's order without a search.
   * @param candidates How many orders are made, at most.
   */
  constructor(
    private readonly shape: OrderShape,
    own: DecodeOrder,
    private readonly candidates: number,
    seed: number,
  ) {
    this.random = randomOf(seed);
    this.first = [own, ...straightOrders(shape)];
  }

  /** The next order to try, or undefined after the last. It follows from the seed and from what was told so far. */
  next(): DecodeOrder | undefined {
    if (this.made >= this.candidates) return undefined;
    if (REFILLED.some((part) => this.made === Math.floor(part * this.candidates))) {
      if (this.parent) this.first.push(...refilled(this.parent.order, this.shape));
    }
    for (let i = 0; i < PATIENCE; i++) {
      const order = this.first.shift() ?? this.make();
      const key = keyOf(order);
      if (this.tried.has(key)) continue;
      this.tried.add(key);
      this.made++;
      return order;
    }
    return undefined;
  }

  /** Takes in what an order costs; undefined: it is of no use. */
  tell(order: DecodeOrder, cost: Cost | undefined): void {
    if (cost === undefined) return;
    const rated = { order, cost };
    const isBetter = (than: Rated | undefined) => !than || compareCosts(cost, than.cost) < 0;
    if (cost.spills === 0) {
      if (isBetter(this.best)) this.best = rated;
      if (!order.table && isBetter(this.bestPlain)) this.bestPlain = rated;
    }
    if (!order.rowsInside && !this.shape.byColumn) return;
    const isKept = (than: Rated | undefined) => !than || compareCosts(cost, than.cost) <= 0;
    if (isKept(this.parent)) this.parent = rated;
    if (!order.table && isKept(this.plain)) this.plain = rated;
  }

  private make(): DecodeOrder {
    const { shape, random } = this;
    if (this.made >= WITHOUT_TABLE * this.candidates && hasTables(shape) && this.parent) {
      return changedTable(this.parent.order, shape, random);
    }
    return this.plain && this.made >= ANY && random(2) === 0
      ? neighbour(this.plain.order, shape, random)
      : randomOrder(shape, random);
  }
}

/** Equal for the same orders. */
function keyOf(order: DecodeOrder): string {
  return orderText(order) + (order.table ? tableText(order.table) : "");
}
