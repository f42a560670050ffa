import { assert, assertEquals } from "@std/assert";
import { ExpectedTimes } from "./expected_times.ts";
import type { Turn } from "./turn.ts";

/** Turns of so many rows, one of which may be of a prompt. */
function turnsOf(rows: number, samplesNext = true): Turn[] {
  const turn = { count: 1, guesses: [], samplesNext: true } as unknown as Turn;
  return [{ ...turn, count: rows - 1, samplesNext }, turn];
}

Deno.test("a step takes as long as others of as many rows, with prompts or without; others are unknown", () => {
  const times = new ExpectedTimes();
  times.observe(turnsOf(8), 20);
  times.observe(turnsOf(8, false), 30);
  times.observe(turnsOf(16), 40);
  assertEquals(times.of(turnsOf(8)), 20);
  assertEquals(times.of(turnsOf(8, false)), 30);
  assertEquals(times.of(turnsOf(16)), 40);
  assertEquals(times.of(turnsOf(9)), Infinity);
  const guessed = [{ ...turnsOf(2)[0], guesses: [1, 2, 3, 4, 5, 6] }, turnsOf(2)[1]];
  assertEquals(times.of(guessed), 20);
});

Deno.test("steps that wait for work until they are expected to end do not make themselves longer and longer", () => {
  const times = new ExpectedTimes();
  times.observe(turnsOf(8), 20);
  for (let i = 0; i < 10; i++) {
    // Its result has waited for work that ended late; now and then none did.
    times.observe(turnsOf(8), i % 5 === 4 ? 20 : times.of(turnsOf(8)) + 5);
  }
  assertEquals(times.of(turnsOf(8)), 20);
});

Deno.test("steps that take longer from now on are expected to, in the end", () => {
  const times = new ExpectedTimes();
  times.observe(turnsOf(8), 20);
  for (let i = 0; i < 100; i++) times.observe(turnsOf(8), 30);
  assert(times.of(turnsOf(8)) === 30);
});
