import { assertEquals } from "@std/assert";
import type { RunLimits } from "../../engine/device/program_runs.ts";
import type { StepOutput } from "../../engine/device/step_result.ts";
import { TestDevice } from "../fixtures/device_harness.ts";
import {
  type Course,
  endless,
  NO_END,
  open,
  part,
  run,
  stateful,
  statefulProgram,
  step,
} from "../fixtures/device_runs.ts";

// Runs of a model with states: they continue in place, in another slot after a KV block border, and spoil nothing that
// is kept.

Deno.test("runs of a model with states give what steps give, and leave the states that steps leave where rows continue in other slots", async () => {
  using device = new TestDevice({ threads: 2 });
  const program = open(device, statefulProgram(device), 64);
  const wanted = stateful(3, 0, 0);
  const alone: StepOutput[][] = [];
  for (let i = 0; i < 8; i++) alone.push(await step(program, wanted));
  const got = stateful(3, 5, 4);
  assertEquals(await step(program, got), alone[0]);
  // The first continues in another slot after its second token of the run, the last after the first one.
  const limits: RunLimits[] = [
    { tokens: 100, endTokens: NO_END, later: { slot: 9, from: 2 } },
    { tokens: 100, endTokens: NO_END },
    { tokens: 100, endTokens: NO_END, later: { slot: 7, from: 1 } },
  ];
  assertEquals(await run(program, got, 4, limits), alone.slice(1, 5));
  const again = (course: Course, slot: number, computed: number): Course => ({
    ...course,
    slot,
    tokens: course.tokens.slice(0, course.prompt + 1 + computed),
  });
  // The slots that they left have the state of then: the tokens after it come once more.
  const left = [again(got[0], 4, 2), again(got[2], 6, 1)];
  assertEquals(await step(program, left), [alone[3][0], alone[2][2]]);
  [got[0].slot, got[2].slot] = [9, 7];
  assertEquals(await step(program, got), alone[5]);
  assertEquals(await run(program, got, 2, endless(got)), alone.slice(6));
});

Deno.test("a sequence with states that ends during a run spoils neither the state nor the K and V that it has left", async () => {
  using device = new TestDevice({ threads: 1 });
  const program = open(device, statefulProgram(device), 64);
  const wanted = stateful(3, 0, 0);
  const alone: StepOutput[][] = [];
  for (let i = 0; i < 10; i++) alone.push(await step(program, wanted));
  const got = stateful(3, 5, 4);
  await step(program, got);
  const tokens = wanted.map(({ tokens, prompt }) => tokens.slice(prompt + 1));
  const ends = tokens.map((own, i) =>
    own.findIndex((token, at) => at > i && own.indexOf(token) === at)
  );
  const last = (s: number) => new Set([tokens[s][ends[s]]]);
  // Two leave their state where they end; the third ends nobody's way.
  const limits: RunLimits[] = [
    { tokens: 100, endTokens: last(0), later: { slot: 9, from: ends[0] + 1 } },
    { tokens: 100, endTokens: last(1), later: { slot: 10, from: ends[1] + 1 } },
    { tokens: 100, endTokens: NO_END },
  ];
  const taken = await run(program, got, 9, limits);
  taken.forEach((outputs, i) =>
    assertEquals(outputs, alone[i + 1].map((one, s) => s < 2 && i > ends[s] ? undefined : one))
  );
  assertEquals(taken.length, 9);
  // From there on, with the earlier K and V: the next token is the same as before.
  const next = await step(program, got.slice(0, 2));
  assertEquals(next, [0, 1].map((s) => alone[ends[s] + 2][s]));
});

Deno.test("a run of a model with states is no longer than its shortest row, and may be stopped between any two steps", async () => {
  using device = new TestDevice({ threads: 1 });
  const program = open(device, statefulProgram(device), 64);
  const wanted = stateful(2, 0, 0);
  const alone: StepOutput[][] = [];
  for (let i = 0; i < 9; i++) alone.push(await step(program, wanted));
  const got = stateful(2, 5, 4);
  await step(program, got);
  const few = [{ tokens: 3, endTokens: NO_END }, { tokens: 100, endTokens: NO_END }];
  assertEquals(await run(program, got, 8, few), alone.slice(1, 4));
  // For any number of steps, the state is that after the last one.
  let steps = 4;
  while (steps < 9) {
    const running = program.run(got.map(part), 9 - steps, endless(got), (outputs) => {
      assertEquals(outputs, alone[steps++]);
      outputs.forEach((one, i) => got[i].tokens.push(one!.sample!.token));
      running.stop();
    });
    await running.over;
  }
});
