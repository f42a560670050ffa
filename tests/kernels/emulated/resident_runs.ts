import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import type { DeviceProgram } from "../../../engine/device/device_program.ts";
import { Engine, type Executor } from "../../../engine/mod.ts";
import { TestDevice } from "../../fixtures/device_harness.ts";
import {
  type Course,
  courses,
  endless,
  open,
  part,
  run,
  SAMPLINGS,
  step,
} from "../../fixtures/device_runs.ts";
import { withEnvironment } from "../../fixtures/emulated_environment.ts";
import { emulationCounts } from "../../fixtures/emulation_counts.ts";
import { asking, collect, promptOf } from "../../fixtures/engine_fixture.ts";
import { GOLDEN } from "../../fixtures/goldens.ts";
import { plainModelProgram } from "../../fixtures/plain_model.ts";

// Runs of the persistent kernel: it goes from step to step by itself, may leave between any two of them, and what it
// does not do is launched. Run by slow/emulated_test.ts, as device_runs_test.ts is, which holds them to steps.

const STEPS = 20;

function load(executor: Executor, kvType?: "f32"): Promise<Engine> {
  return Engine.load(GOLDEN, { device: "emulated", executor, kvType });
}

/** What steps give, one by one, by graphs: after the prompts' step. */
async function expected(count: number): Promise<number[][]> {
  const device = new TestDevice({ executor: "graphs" });
  const { program } = plainModelProgram(device);
  const some = courses(count);
  for (let i = 0; i <= STEPS; i++) await step(program, some);
  device.close();
  return some.map(({ tokens }) => tokens);
}

/** A program with its steps by the persistent kernel, and its sequences, with their prompts computed. */
async function begun(count: number) {
  const device = new TestDevice({ executor: "resident" });
  const { program } = plainModelProgram(device);
  open(device, program, 64);
  const some = courses(count);
  await step(program, some);
  return { device, program, some };
}

/**
 * Gives the device runs of a sequence until it has had so many steps; `visit` is called after each. Returns the number
 * of runs.
 */
async function runAll(
  program: DeviceProgram,
  one: Course,
  visit: (steps: number, running: { stop(): void }) => void,
): Promise<number> {
  let steps = 0, runs = 0;
  for (; steps < STEPS; runs++) {
    const running = program.run([part(one)], STEPS - steps, endless([one]), ([output]) => {
      if (output?.sample) one.tokens.push(output.sample.token);
      visit(++steps, running);
    });
    await running.over;
  }
  return runs;
}

const executorOf = async (program: DeviceProgram, rows: number) =>
  (await program.executors(rows))[rows - 1];

Deno.test("a run of the persistent kernel launches nothing but the kernel, and gives what steps by graphs give", async () => {
  for (const count of [1, 3]) {
    const wanted = await expected(count);
    const { device, program, some } = await begun(count);
    const before = emulationCounts().launches;
    const taken = await run(program, some, STEPS, endless(some));
    assertEquals(taken.length, STEPS);
    // Old devices are left every 20 ms; a step by launches takes more than ten.
    assertLess(emulationCounts().launches - before, 5 * STEPS);
    assertEquals(some.map(({ tokens }) => tokens), wanted);
    assertEquals(await executorOf(program, count), "resident");
    device.close();
    assertEquals(emulationCounts().resident, 0, "it has left when the device is closed");
  }
});

Deno.test("runs that follow each other have each its own ring and end tokens", async () => {
  const [wanted] = await expected(1);
  const { device, program, some } = await begun(1);
  const sampled = wanted.slice(some[0].tokens.length);
  let runs = 0;
  for (let from = 0; from < STEPS;) {
    open(device, program, runs % 2 === 0 ? 64 : 32);
    // Tokens that are never sampled precede the one that ends it, another number of them each time.
    const others = Array.from({ length: runs++ }, (_, i) => 1_000_000 + i);
    const end = sampled[Math.min(from + 2, STEPS - 1)];
    const limits = { tokens: 100, endTokens: new Set([...others, end]) };
    const taken = await run(program, some, STEPS - from, [limits]);
    const last = sampled.indexOf(end, from);
    assertEquals(taken.filter(([output]) => output !== undefined).length, last + 1 - from);
    from = last + 1;
  }
  assert(runs > 3, "it samples different tokens");
  assertEquals(some[0].tokens, wanted);
  device.close();
});

Deno.test("a kernel that leaves between two steps of a run is called back, and no step is done twice", async () => {
  const [wanted] = await expected(1);
  const { device, program, some } = await begun(1);
  const before = emulationCounts().launches;
  // The host continues so late that the kernel has done the step and has waited long enough for the next.
  await withEnvironment({ M40_EMULATION_WORD_US: "40000" }, async () => {
    await run(program, some, STEPS, endless(some));
  });
  const launched = emulationCounts().launches - before;
  assert(launched > 2, `it came ${launched} times: it never left`);
  assertLess(launched, 5 * STEPS);
  assertEquals(some[0].tokens, wanted);
  assertEquals(await executorOf(program, 1), "resident");
  device.close();
});

Deno.test("what a run's kernel has to leave to others is done by graphs to the same bits, and the next run is the kernel's", async () => {
  const [wanted] = await expected(1);
  for (const at of [1, 2, 7]) {
    const { device, program, some } = await begun(1);
    const other = new TestDevice();
    const before = emulationCounts().launches;
    let beside = 0;
    await runAll(program, some[0], (steps) => {
      // An upload is work of launches until its end is awaited.
      if (steps === at) other.tensor([1, 2, 3, 4], 2, 2);
      if (steps >= at) beside += emulationCounts().resident;
    });
    assertEquals(some[0].tokens, wanted);
    assertEquals(beside, 0, "a persistent kernel runs during an upload");
    const launched = emulationCounts().launches - before;
    assert(launched > 2 * STEPS, `${launched} launches: it did not continue by graphs`);
    // None is begun by the kernel either, while the upload lasts.
    await run(program, some, 1, endless(some));
    assertEquals(emulationCounts().resident, 0);
    await other.context.finishUploads();
    // It is old after 20 ms, and a look may come too late.
    let comes = false;
    for (let tries = 0; tries < 50 && !comes; tries++) {
      const [one] = courses(1, 3);
      await step(program, [one]);
      await run(program, [one], 1, endless([one]));
      comes = emulationCounts().resident === 1;
    }
    assert(comes, "it has not come back");
    for (const each of [device, other]) each.close();
  }
});

Deno.test("a run of the kernel that is asked to stop ends between two steps", async () => {
  const [wanted] = await expected(1);
  const { device, program, some } = await begun(1);
  const runs = await runAll(
    program,
    some[0],
    (steps, running) => steps % 2 === 0 && running.stop(),
  );
  assert(runs > 1, "no run ended before its last step");
  assertEquals(some[0].tokens, wanted);
  device.close();
});

Deno.test("thread blocks that find no room for a run's first step: the run is graphs, and the kernel is not tried again", async () => {
  const [wanted] = await expected(1);
  const { device, program, some } = await begun(1);
  await withEnvironment({ M40_EMULATION_BLOCKS_LATE: "1" }, async () => {
    await run(program, some, STEPS, endless(some));
  });
  assertEquals(some[0].tokens, wanted);
  assertEquals(emulationCounts().resident, 0);
  assertEquals(await executorOf(program, 1), "graphs");
  device.close();
});

Deno.test("a run with sampling that the kernel has no body for is graphs, and the next one is the kernel's", async () => {
  const { device, program, some } = await begun(1);
  const shaped = { ...some[0], sampling: SAMPLINGS.find((one) => one.xtcProbability)! };
  const before = emulationCounts().launches;
  await run(program, [shaped], 5, endless(some));
  assert(emulationCounts().launches - before >= 5, "it was launched");
  assertEquals(await executorOf(program, 1), "resident");
  device.close();
});

Deno.test("an engine's answers are runs of the kernel; where it does none the device says why, and they are runs of graphs", async () => {
  const answers = new Map<string, readonly number[]>();
  for (const [executor, kvType] of [["graphs"], ["resident"], ["resident", "f32"]] as const) {
    const engine = await load(executor, kvType);
    const { tokens, error } = await collect(engine.generate(asking(promptOf(4), 30)));
    assertEquals(error, undefined);
    if (kvType === undefined) answers.set(executor, tokens);
    assert(engine.status().runs > 0, `${executor}, ${kvType}`);
    const [is] = await engine.cards[0].executors();
    assertEquals(is, kvType === undefined ? executor : "graphs");
    assertMatch(await engine.cards[0].noResident(), kvType === undefined ? /^$/ : /\w/);
    await engine.close();
  }
  assertEquals(answers.get("resident"), answers.get("graphs"));
});
