import { assertEquals } from "@std/assert";
import { RowTimes } from "./row_times.ts";

/** Four rows at a time: 10 ms each. */
const byFours = (rows: number) => Math.ceil(rows / 4) * 10;

function measured(counts: readonly number[], ms = byFours): RowTimes {
  const times = new RowTimes();
  for (const rows of counts) times.observe(rows, ms(rows));
  return times;
}

Deno.test("of a device that was never measured, all rows are computed", () => {
  assertEquals(new RowTimes().best(3, 11), 11);
});

Deno.test("rows up to the end of a group that the device computes at a time are worth it, the first of the next is not", () => {
  const times = measured([1, 2, 3, 4, 5, 6, 7, 8]);
  assertEquals(times.best(3, 5), 4);
  assertEquals(times.best(3, 7), 4);
  assertEquals(times.best(4, 4), 4);
  // As good as four, and no better.
  assertEquals(times.best(3, 8), 4);
});

Deno.test("a number of rows that was not measured is tried, the least of them as well", () => {
  assertEquals(measured([4]).best(4, 6), 6);
  assertEquals(measured([4, 6]).best(4, 6), 5);
  assertEquals(measured([4, 5, 6]).best(4, 6), 4);
  assertEquals(measured([6]).best(4, 6), 4);
});

Deno.test("the end of a group is found in a few steps, not in one for each number of rows", () => {
  const byEights = (rows: number) => Math.ceil(rows / 8) * 10 + rows / 100;
  const times = measured([8], byEights);
  const tried: number[] = [];
  for (let rows = times.best(8, 15); rows !== 8; rows = times.best(8, 15)) {
    tried.push(rows);
    times.observe(rows, byEights(rows));
  }
  assertEquals(tried, [15, 11, 9]);
});

Deno.test("a number of rows that was not measured takes no longer than a larger one that was", () => {
  // Five rows' step took long for another reason, and six are no nearer to eight.
  const times = measured([4, 5, 8], (rows) => rows === 5 ? 1000 : 12);
  assertEquals(times.best(5, 6), 6);
});

Deno.test("where a row more costs as much as the others, none are worth it; where it costs nothing, all are", () => {
  const counts = [1, 2, 3, 4, 5, 6];
  assertEquals(measured(counts, (rows) => rows * 1.01 + rows * rows / 100).best(2, 6), 2);
  assertEquals(measured(counts, () => 7).best(2, 6), 6);
});

Deno.test("a first step that took long for another reason does not keep its rows out for long", () => {
  const times = measured([4, 5], (rows) => rows === 5 ? 1000 : 10);
  assertEquals(times.best(4, 5), 4);
  let tried = 0;
  for (let i = 0; i < 100; i++) {
    const rows = times.best(4, 5);
    if (rows === 5) tried++;
    times.observe(rows, 10);
  }
  assertEquals(tried > 50, true);
});

Deno.test("a number of rows that is not worth it is tried twice, and not again and again", () => {
  const byEights = (rows: number) => Math.ceil(rows / 8) * 10;
  const times = measured([8], byEights);
  let tried = 0;
  for (let i = 0; i < 1000; i++) {
    const rows = times.best(8, 9);
    if (rows === 9) tried++;
    times.observe(rows, byEights(rows));
  }
  assertEquals(tried, 2);
});

Deno.test("rows that take nearly what the others do are not worth it: sequences that get ahead leave rows empty in the end", () => {
  const counts = Array.from({ length: 25 }, (_, i) => 8 + i);
  const times = measured(counts, (rows) => [23, 44, 72, 75][Math.ceil(rows / 8) - 1]);
  assertEquals(times.best(8, 16), 8);
  assertEquals(times.best(8, 24), 8);
  // A quarter less.
  assertEquals(times.best(8, 32), 32);
  // One more of sixteen costs nothing.
  assertEquals(times.best(15, 16), 16);
});

Deno.test("numbers of rows that were not measured are tried a few times at first, then seldom", () => {
  const byEights = (rows: number) => Math.ceil(rows / 8) * 10;
  const times = measured([8], byEights);
  const tried: number[] = [];
  for (let i = 0; i < 1000; i++) {
    // Of as many as there are, each time another number.
    const rows = times.best(8, 9 + i % 24);
    if (rows > 8) tried.push(i);
    times.observe(rows, byEights(rows));
  }
  assertEquals(tried.filter((i) => i < 250).length, 4);
  assertEquals(tried.length <= 4 + Math.floor(1000 / 256), true, `${tried}`);
});

Deno.test("steps that have waited for something else make their number of rows no worse than others", () => {
  const byEights = (rows: number) => Math.ceil(rows / 8) * 10;
  const times = measured([8, 9, 10, 11, 12, 13, 14, 15, 16], byEights);
  // Eight rows took as long as sixteen, once.
  times.observe(8, 20);
  assertEquals(times.best(8, 16), 8);
});
