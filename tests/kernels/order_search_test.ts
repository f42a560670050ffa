import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { BuildError } from "../../tools/build/build_error.ts";
import { findCudaToolkit } from "../../tools/build/cuda_toolkit.ts";
import { randomOf } from "../../tools/fuzz/mutate.ts";
import type { Kernel } from "../../tools/sass/kernels.ts";
import { costOf } from "../../tools/sass/search/candidate.ts";
import { AHEAD, runSearch, searchOrders, Turns } from "../../tools/sass/search/command.ts";
import { decodeKernelOf, describeKernel } from "../../tools/sass/search/decode_kernel.ts";
import {
  asTable,
  changedTable,
  type DecodeOrder,
  neighbour,
  type OrderShape,
  orderText,
  randomOrder,
  straight,
  straightOrders,
  tableText,
} from "../../tools/sass/search/order.ts";
import { compareCosts, type Cost, OrderSearch } from "../../tools/sass/search/order_search.ts";

// How deno task sass --search makes orders, chooses among them and reads its arguments, without a CUDA toolkit.
// tests/slow/order_search_test.ts compiles kernels with them.

const ROOT = fromFileUrl(new URL("../..", import.meta.url));
const SHAPES: readonly OrderShape[] = [
  { columns: 32, tokens: 8, rows: 4 },
  { columns: 16, tokens: 16, rows: 4 },
  { columns: 32, tokens: 1, rows: 4 },
];

/** Orders of every kind that a search makes. */
function orders(shape: OrderShape, n: number): DecodeOrder[] {
  const random = randomOf(7);
  let table = asTable(randomOrder(shape, random), shape);
  const made = straightOrders(shape);
  for (let i = 0; i < n; i++) {
    const order = randomOrder(shape, random);
    table = changedTable(table, shape, random);
    made.push(order, neighbour(order, shape, random), asTable(order, shape), table);
  }
  return made;
}

/** What a C++ program prints that has `body` in its main() and the tables as numbers from 1 on. */
async function runCpp(tables: readonly string[], body: string): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const source = join(folder, "orders.cpp");
    const list = tables.join(" ").replaceAll("\n", " ").replace(/,$/, "");
    await Deno.writeTextFile(
      source,
      `#define M40_SEARCHED_TABLE ${list}
#include <cstdio>
#include "kernels/decode_order.cuh"
using namespace m40::cuda;
int main() {
${body}
}
`,
    );
    const program = join(folder, "orders");
    const args = ["-std=c++17", "-DM40_EMULATED", "-Icuda", "-w", source, "-o", program];
    const compiled = await new Deno.Command(Deno.env.get("CXX") ?? "g++", { args, cwd: ROOT })
      .output();
    assert(compiled.success, new TextDecoder().decode(compiled.stderr));
    return new TextDecoder().decode((await new Deno.Command(program).output()).stdout);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The orders as arguments of C++, each table by its number. */
function inCpp(made: readonly DecodeOrder[]): { tables: string[]; texts: string[] } {
  const tables: string[] = [];
  const texts = made.map((order) => {
    if (order.table) tables.push(tableText(order.table));
    return orderText(order, `DecodeTable(${tables.length})`);
  });
  return { tables, texts };
}

/** Of each order, as C++ has it, whether the kernel's source accepts it: a digit each. */
function accepted(texts: readonly string[], { columns, tokens }: OrderShape): string {
  return `const DecodeOrder orders[] = {${texts.join(", ")}};
  for (const DecodeOrder& order : orders) {
    std::putchar(takes_columns_in_order<4>(order, ${columns / 4}, ${tokens}) ? '1' : '0');
  }`;
}

Deno.test("a search makes only orders in which every sum takes its columns from the first to the last", async () => {
  for (const shape of SHAPES) {
    const { tables, texts } = inCpp(orders(shape, 40));
    assertEquals(await runCpp(tables, accepted(texts, shape)), "1".repeat(texts.length));
  }
});

Deno.test("orders of eight tokens, which go column by column, have each product of a column once", async () => {
  const shape: OrderShape = { columns: 32, tokens: 8, rows: 4, byColumn: true };
  const random = randomOf(11);
  const made = Array.from({ length: 200 }, () => {
    const order = randomOrder(shape, random);
    return [order, neighbour(order, shape, random)];
  }).flat();
  assert(made.some(({ rowsInside }) => rowsInside) && made.some(({ rowsInside }) => !rowsInside));
  const { texts } = inCpp([...straightOrders(shape), ...made]);
  const body = `const DecodeOrder orders[] = {${texts.join(", ")}};
  for (const DecodeOrder& order : orders) {
    std::putchar(takes_each_product<4, 8>(order, 32) ? '1' : '0');
  }
  const DecodeOrder back{24, false, 0, 0, 0, 0, false, true};
  for (int i = 6; i < 10; i++) {
    const DecodeColumnProduct at = decode_column_product<4, 8>(back, 0, i);
    std::printf(" %d %d", at.row, at.token);
  }`;
  const all = "1".repeat(texts.length);
  assertEquals(await runCpp(["{}"], body), `${all} 0 6 0 7 1 7 1 6`, "back and forth");
  const { tried } = await searched(4, 2, 100, shape);
  assert(!tried.some((order) => order.includes("searched_table")), "no tables");
});

Deno.test("an order whose table takes a token twice is refused by the kernel's source", async () => {
  const { table } = asTable(straight(0), SHAPES[0]);
  const twice = { ...table!, tokens: [[0, 0, 2, 3, 4, 5, 6, 7], ...table!.tokens.slice(1)] };
  const made = [table!, twice].map((table) => ({ ...straight(0), rowsInside: true, table }));
  const { tables, texts } = inCpp(made);
  assertEquals(await runCpp(tables, accepted(texts, SHAPES[0])), "10");
});

Deno.test("an order's table has the same products in the same order", async () => {
  for (const shape of SHAPES) {
    const random = randomOf(3);
    const plain = Array.from({ length: 30 }, () => randomOrder(shape, random));
    const { tables, texts } = inCpp(plain.flatMap((order) => [order, asTable(order, shape)]));
    const body = `const DecodeOrder orders[] = {${texts.join(", ")}};
  for (int of = 0; of < ${texts.length}; of += 2) {
    const DecodeOrder &a = orders[of], &b = orders[of + 1];
    bool same = a.refill == b.refill;
    for (int four = 0; four < ${shape.columns / 4}; four++) {
      for (int t = 0; t < ${shape.tokens}; t++) {
        same &= decode_token<${shape.tokens}>(a, four, t) == decode_token<${shape.tokens}>(b, four, t);
        for (int i = 0; i < 16; i++) {
          const DecodeProduct one = decode_product<4>(a, four, t, i), other = decode_product<4>(b, four, t, i);
          same &= one.row == other.row && one.column == other.column;
        }
      }
    }
    std::putchar(same ? '1' : '0');
  }`;
    assertEquals(await runCpp(tables, body), "1".repeat(plain.length));
  }
});

Deno.test("an order is written as C++ without what it does not say", () => {
  assertEquals(orderText(straight(24)), "{24}");
  const order = { ...straight(16), rowsInside: true, firstRow: 1, rowsLater: 2 };
  assertEquals(orderText(order), "{16, true, 1, 2}");
  assertEquals(orderText({ ...order, tokensBack: true }), "{16, true, 1, 2, 0, 0, false, true}");
  const shape = { columns: 8, tokens: 2, rows: 4 };
  const { table } = asTable({ ...order, rowsBack: true, tokensBack: true }, shape);
  assertEquals(
    tableText(table!),
    "{{0x01, 0x10}, {\n      {01717, 01717},\n      {01717, 01717},\n  }},",
  );
  assertEquals(
    orderText({ ...straight(4), rowsInside: true, table }),
    "{4, true, 0, 0, 0, 0, false, false, searched_table}",
  );
});

/** A cost that follows from an order alone. */
function costOfText(order: DecodeOrder): Cost {
  const text = orderText(order) + (order.table ? tableText(order.table) : "");
  const hash = [...text].reduce((sum, letter) => Math.imul(sum, 31) + letter.charCodeAt(0) | 0, 7);
  const random = randomOf(hash);
  return {
    spills: random(3) === 0 ? random(20) : 0,
    clocks: 1500 + random(100),
    banks: random(50),
    registers: 128,
    share: 0.7,
  };
}

/** The orders that a search tries, and its best, with candidates that end in any order. */
async function searched(seed: number, jobs: number, n = 120, shape = SHAPES[0]) {
  const search = new OrderSearch(shape, straight(24), n, seed);
  const turns = new Turns(jobs);
  const random = randomOf(seed + jobs);
  const tried: string[] = [];
  await runSearch(
    search,
    (order) =>
      turns.run(async () => {
        for (let i = random(9); i > 0; i--) await Promise.resolve();
        return costOfText(order);
      }),
    new AbortController().signal,
    ({ order }) => {
      tried.push(orderText(order) + (order.table ? tableText(order.table) : ""));
    },
  );
  return { tried, best: search.best! };
}

Deno.test("the same seed tries the same orders, however many are compiled at a time and whichever ends first", async () => {
  const one = await searched(5, 1);
  assertEquals(one.tried.length, 120);
  assertEquals(new Set(one.tried).size, 120, "none twice");
  assertEquals(await searched(5, AHEAD), one);
  assertEquals(await searched(5, 3), one);
  const other = await searched(6, 1);
  assertEquals(other.tried.slice(0, 8), one.tried.slice(0, 8), "today's and the straight ones");
  assert(other.tried.some((order, i) => order !== one.tried[i]));
});

Deno.test("a search tries the kernel's own order first, then ones without a table, then changes of a table", async () => {
  const { tried } = await searched(1, 2, 200);
  assertEquals(tried.slice(0, 3), ["{24}", "{28}", "{20}"]);
  const withTable = tried.map((order) => order.includes("searched_table"));
  assertEquals(withTable.slice(0, 60), Array(60).fill(false));
  assertEquals(withTable.slice(60), Array(140).fill(true));
  const twoRows = await searched(1, 2, 100, { columns: 32, tokens: 2, rows: 2 });
  assert(!twoRows.tried.some((order) => order.includes("searched_table")), "two rows have none");
});

Deno.test("a search tries every refill of the best order, with and without a table", () => {
  const search = new OrderSearch(SHAPES[0], straight(24), 100, 1);
  const tried: DecodeOrder[] = [];
  for (let order = search.next(); order; order = search.next()) {
    tried.push(order);
    const cost = costOfText(order);
    search.tell(order, order.table ? { ...cost, spills: 0, clocks: cost.clocks - 100 } : cost);
  }
  const places = new Map<string, Set<number>>();
  for (const order of tried) {
    const rest = orderText({ ...order, refill: 0 }) + (order.table ? tableText(order.table) : "");
    places.set(rest, (places.get(rest) ?? new Set()).add(order.refill));
  }
  const whole = [...places].filter(([, refills]) => refills.size === 8).map(([rest]) => rest);
  assertEquals(whole.filter((rest) => /^\{0\}/.test(rest)).length, 1, "straight");
  assert(whole.some((rest) => rest.includes("true") && !rest.includes("searched_table")));
  assert(whole.some((rest) => rest.includes("searched_table")));
});

Deno.test("a search of few orders ends when it has tried all of them", async () => {
  const { tried } = await searched(1, 2, 5000, { columns: 4, tokens: 1, rows: 2 });
  assert(tried.length < 5000);
  assertEquals(new Set(tried).size, tried.length);
});

Deno.test("the best order is the one with the fewest clocks of those that do not spill", async () => {
  const { tried, best } = await searched(9, 2);
  assertEquals(best.cost.spills, 0);
  const cost = { spills: 0, clocks: 10, banks: 2, registers: 128, share: 1 };
  const better = (change: Partial<Cost>) => compareCosts({ ...cost, ...change }, cost) < 0;
  assert(better({ clocks: 9, banks: 5, registers: 255 }));
  assert(better({ banks: 1, registers: 255 }));
  assert(better({ registers: 127 }));
  assert(!better({ spills: 1, clocks: 1 }));
  assert(tried.length > 0);

  const search = new OrderSearch(SHAPES[0], straight(24), 10, 1);
  search.tell(straight(0), { ...cost, spills: 3 });
  search.tell(straight(4), undefined);
  assertEquals(search.best, undefined);
  search.tell(straight(8), cost);
  search.tell(straight(12), { ...cost, clocks: 11 });
  assertEquals(search.best?.order, straight(8));
  const shape = SHAPES[0];
  search.tell(asTable(straight(0), shape), { ...cost, clocks: 9 });
  assert(search.best?.order.table);
  assertEquals(search.bestPlain?.order, straight(8));
});

Deno.test("a candidate's failure ends the search with its message", async () => {
  const search = new OrderSearch(SHAPES[0], straight(24), 50, 1);
  let started = 0;
  await assertRejects(
    () =>
      runSearch(search, () => {
        started++;
        return started === 3
          ? Promise.reject(new BuildError("nvcc failed"))
          : Promise.resolve(undefined);
      }, new AbortController().signal),
    BuildError,
    "nvcc failed",
  );
  assert(started <= 3 + AHEAD);
});

Deno.test("a search that is stopped tries no more and keeps what it knew", async () => {
  const search = new OrderSearch(SHAPES[0], straight(24), 1000, 1);
  const stop = new AbortController();
  let told = 0;
  let started = 0;
  await runSearch(
    search,
    (order) => {
      started++;
      // A compiler that is stopped, too, fails.
      return stop.signal.aborted
        ? Promise.reject(new BuildError("killed"))
        : Promise.resolve({ ...costOfText(order), spills: 0 });
    },
    stop.signal,
    () => {
      if (++told === 20) stop.abort();
    },
  );
  assertEquals(told, 20);
  assert(started <= 20 + AHEAD);
  assert(search.best);
});

Deno.test("a kernel's name gives its template arguments, and a tensor type's is one without a prologue", () => {
  assertEquals(decodeKernelOf("matmul_decode_kernel<12, 8, 4, 0, 2, 12>"), {
    ...{ type: 12, tokens: 8, rows: 4, prologue: 0, residency: 2 },
  });
  assertEquals(decodeKernelOf("Q6_K"), { type: 14, tokens: 8, rows: 4, prologue: 0 });
  assertEquals(decodeKernelOf("Q6_K", 16).tokens, 16);
  assertEquals(describeKernel(decodeKernelOf("Q4_0", 1)), "1 token of Q4_0, 4 rows a lane");
});

Deno.test("a name that is no decode kernel's is refused, and the message says what is wanted", () => {
  for (
    const [name, tokens, message] of [
      ["Q4_L", undefined, "unknown kernel Q4_L; wanted matmul_decode_kernel<…>"],
      ["delta_rule_kernel<4, 8, 0>", undefined, "has no order that can be searched"],
      ["matmul_decode_kernel<12, 8>", undefined, "has 2 template arguments, not 6"],
      ["matmul_decode_kernel<12, 4, 4, 0, 2, 14>", undefined, "two types, Q4_K and Q6_K"],
      ["matmul_decode_kernel<99, 8, 4, 0, 2, 99>", undefined, "unknown tensor type 99"],
      ["matmul_decode_kernel<12, 8, 4, 0, 2, 12>", 4, "got --tokens 4, too"],
      ["Q4_K", 3, "no decode kernel for 3 tokens; wanted 1, 2, 4, 8, 16"],
    ] as const
  ) assertThrows(() => decodeKernelOf(name, tokens), BuildError, message);
});

Deno.test("wrong numbers and a missing toolkit are refused before anything is compiled", async () => {
  const options = { log: () => {}, findToolkit: () => findCudaToolkit([]) };
  const refused = async (args: Record<string, string>, message: string) => {
    await assertRejects(
      () => searchOrders({ kernel: "Q4_K", ...args }, options),
      BuildError,
      message,
    );
  };
  await refused({ candidates: "0" }, "--candidates 0: wanted a whole number, 1 or more");
  await refused({ candidates: "100000" }, "--candidates 100000: wanted 99999 at most");
  await refused({ jobs: "x" }, "--jobs x: wanted a whole number, 1 or more");
  await refused({ jobs: "5" }, "--jobs 5: wanted 1 to 4");
  await refused({ seed: "-1" }, "--seed -1: wanted a whole number, 0 or more");
  await refused({ tokens: "2.5" }, "--tokens 2.5: wanted a whole number, 1 or more");
  await refused({}, "no nvcc of CUDA 11 or 12 was found");
});

Deno.test("a kernel of which too few blocks fit is of no use", () => {
  const kernel: Kernel = {
    ...{ name: "f", base: "f", args: [], instructions: [], registers: 136, shared: 0 },
    ...{ threads: 256, cuda: 11 },
  };
  assertEquals(costOf(kernel, 2), undefined);
});

Deno.test("the options of a search are refused without one", async () => {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "tools/sass.ts", "--candidates", "3"],
    cwd: ROOT,
  }).output();
  assertEquals(code, 1);
  assertMatch(new TextDecoder().decode(stderr), /^--candidates is for --search KERNEL/);
});
