import { assertEquals } from "@std/assert";
import { noCounts } from "../report.ts";
import { ChunkBudget } from "./chunk_budget.ts";
import { StepsUnderWay } from "./steps_under_way.ts";
import type { Turn } from "../sequences/sequence.ts";

/** Turns of so many rows, some of which may be of a prompt. */
function turnsOf(rows: number, samplesNext = true): Turn[] {
  const turn = (tokens: number) => ({ tokens: new Array(tokens).fill(1), samplesNext: true });
  return [{ ...turn(rows - 1), samplesNext }, turn(1)] as unknown as Turn[];
}

/** Steps on a clock that only they move. */
function stepsOnClock() {
  let time = 0;
  const steps = new StepsUnderWay({}, noCounts(), new ChunkBudget(10, 64, 16), () => time);
  /** A step of these turns takes so long. */
  const observe = (turns: readonly Turn[], ms: number) => {
    const step = steps.give(turns, false);
    steps.steps.delete(step);
    step.unreported.push(step.decodeTokens);
    steps.report(step, time += ms);
  };
  /** How long a step of these turns is expected to take. */
  const expected = (turns: readonly Turn[]) => {
    const step = steps.give(turns, false);
    steps.steps.delete(step);
    return step.expectedEnd - time;
  };
  return { observe, expected };
}

Deno.test("a step takes as long as others of as many rows, with prompts or without; others are unknown", () => {
  const { observe, expected } = stepsOnClock();
  observe(turnsOf(8), 20);
  observe(turnsOf(8, false), 30);
  observe(turnsOf(16), 40);
  assertEquals(expected(turnsOf(8)), 20);
  assertEquals(expected(turnsOf(8, false)), 30);
  assertEquals(expected(turnsOf(16)), 40);
  assertEquals(expected(turnsOf(9)), Infinity);
});

Deno.test("steps that wait for work until they are expected to end do not make themselves longer and longer", () => {
  const { observe, expected } = stepsOnClock();
  observe(turnsOf(8), 20);
  for (let i = 0; i < 10; i++) {
    // Its result has waited for work that ended late; now and then none did.
    observe(turnsOf(8), i % 5 === 4 ? 20 : expected(turnsOf(8)) + 5);
  }
  assertEquals(expected(turnsOf(8)), 20);
});

Deno.test("steps that take longer from now on are expected to, in the end", () => {
  const { observe, expected } = stepsOnClock();
  observe(turnsOf(8), 20);
  for (let i = 0; i < 100; i++) observe(turnsOf(8), 30);
  assertEquals(expected(turnsOf(8)), 30);
});
