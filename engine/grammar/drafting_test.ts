import { assertEquals } from "@std/assert";
import { Drafting, DraftTrust } from "./drafting.ts";

const DRAFT = [1, 2, 3, 4];

/** Has an answer sample that many tokens, each as drafted, or none of them; returns how many were drafted with each. */
function sample(drafting: Drafting, count: number, isRight: boolean): number[] {
  const sampled: number[] = [];
  return Array.from({ length: count }, () => {
    const drafts = drafting.of(sampled, 16, () => DRAFT);
    sampled.push(isRight ? DRAFT[0] : 9);
    return drafts.length;
  });
}

Deno.test("an answer drafts when its first tokens would have been drafted rightly, and not when they would not", () => {
  assertEquals(sample(new Drafting(new DraftTrust()), 4, true).map((n) => n > 0), [
    false,
    false,
    true,
    true,
  ]);
  assertEquals(sample(new Drafting(new DraftTrust()), 4, false), [0, 0, 0, 0]);
});

Deno.test("an answer begins with the trust that drafts in others have earned, or lost", () => {
  const trust = new DraftTrust();
  sample(new Drafting(trust), 40, true);
  assertEquals(sample(new Drafting(trust), 1, true)[0] > 0, true);
  sample(new Drafting(trust), 80, false);
  // Two that are right are an accident.
  assertEquals(sample(new Drafting(trust), 3, true), [0, 0, 0]);
});

Deno.test("trust that was lost is earned again, though nothing is drafted meanwhile", () => {
  const trust = new DraftTrust();
  sample(new Drafting(trust), 80, false);
  assertEquals(sample(new Drafting(trust), 40, true).at(-1)! > 0, true);
  assertEquals(sample(new Drafting(trust), 1, true)[0] > 0, true);
});

Deno.test("what is not drafted is looked for when it is judged, which costs no step any time", () => {
  const drafting = new Drafting(new DraftTrust());
  let found = 0;
  const find = () => {
    found++;
    return DRAFT;
  };
  drafting.of([], 16, find);
  assertEquals(found, 0);
  drafting.of([1], 16, find);
  assertEquals(found, 1);
});
