import { assert, assertEquals } from "@std/assert";
import type { Executor } from "../mod.ts";
import { StepRows } from "./step_rows.ts";

/** A device with preset answers. */
function asked(answers: { executor: Executor }) {
  const counts = { questions: 0 };
  const rows = new StepRows((n) => {
    counts.questions++;
    return Promise.resolve(new Array<Executor>(n).fill(answers.executor));
  });
  return { rows, counts };
}

async function steps(rows: StepRows, n: number, times: number) {
  for (let i = 0; i < times; i++) {
    rows.note(n);
    await Promise.resolve();
  }
}

Deno.test("steps come one by one while it is not known what runs them, but no more than 32", async () => {
  const { rows } = asked({ executor: "auto" });
  await steps(rows, 2, 31);
  assert(rows.has(2));
  await steps(rows, 2, 1);
  assert(!rows.has(2), "a number of rows that is never decided has runs in the end");
  assert(rows.has(3), "of another number nothing was tried");
  assert(!rows.has(9), "no persistent kernel takes so many");
});

Deno.test("runs come when it is known what is fastest, whatever that is", async () => {
  for (const executor of ["launches", "graphs", "resident"] as const) {
    const { rows, counts } = asked({ executor });
    assert(rows.has(1));
    await steps(rows, 1, 1);
    assert(!rows.has(1), executor);
    await steps(rows, 1, 100);
    assertEquals(counts.questions, 1, "what is known is not asked for at each step");
  }
});

Deno.test("a device that does not answer is asked again", async () => {
  let lost = true;
  const rows = new StepRows((n) =>
    lost
      ? Promise.reject(new Error("lost"))
      : Promise.resolve(new Array<Executor>(n).fill("launches"))
  );
  await steps(rows, 1, 1);
  assert(rows.has(1));
  lost = false;
  await steps(rows, 1, 1);
  assert(!rows.has(1));
});
