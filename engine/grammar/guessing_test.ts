import { assertEquals } from "@std/assert";
import { Guessing, GuessTrust } from "./guessing.ts";

const GUESS = [1, 2, 3, 4];

/** Has an answer sample that many tokens, each as guessed, or none of them; returns how many were guessed with each. */
function sample(guessing: Guessing, count: number, isRight: boolean): number[] {
  const sampled: number[] = [];
  return Array.from({ length: count }, () => {
    const guesses = guessing.of(sampled, 16, () => GUESS);
    sampled.push(isRight ? GUESS[0] : 9);
    return guesses.length;
  });
}

Deno.test("an answer guesses when its first tokens would have been guessed rightly, and not when they would not", () => {
  assertEquals(sample(new Guessing(new GuessTrust()), 4, true).map((n) => n > 0), [
    false,
    false,
    true,
    true,
  ]);
  assertEquals(sample(new Guessing(new GuessTrust()), 4, false), [0, 0, 0, 0]);
});

Deno.test("an answer begins with the trust that guesses in others have earned, or lost", () => {
  const trust = new GuessTrust();
  sample(new Guessing(trust), 40, true);
  assertEquals(sample(new Guessing(trust), 1, true)[0] > 0, true);
  sample(new Guessing(trust), 80, false);
  // Two that are right are an accident.
  assertEquals(sample(new Guessing(trust), 3, true), [0, 0, 0]);
});

Deno.test("trust that was lost is earned again, though nothing is guessed meanwhile", () => {
  const trust = new GuessTrust();
  sample(new Guessing(trust), 80, false);
  assertEquals(sample(new Guessing(trust), 40, true).at(-1)! > 0, true);
  assertEquals(sample(new Guessing(trust), 1, true)[0] > 0, true);
});

Deno.test("what is not guessed is looked for when it is judged, which costs no step any time", () => {
  const guessing = new Guessing(new GuessTrust());
  let found = 0;
  const find = () => {
    found++;
    return GUESS;
  };
  guessing.of([], 16, find);
  assertEquals(found, 0);
  guessing.of([1], 16, find);
  assertEquals(found, 1);
});
