import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import type { StepSequence } from "../../../engine/device/step_block.ts";
import { Engine, type Executor } from "../../../engine/mod.ts";
import { M40Error } from "../../../engine/errors.ts";
import { bitsOf, Random, TestDevice, tokenBuffer } from "../../fixtures/device_harness.ts";
import { Home, m40 } from "../../fixtures/cli_program.ts";
import { withEnvironment } from "../../fixtures/emulated_environment.ts";
import { emulationCounts } from "../../fixtures/emulation_counts.ts";
import { GOLDEN_BLOCKS, matrixOf } from "../../fixtures/golden_blocks.ts";
import { GOLDEN } from "../../fixtures/goldens.ts";
import { startServer } from "../../fixtures/server_fixture.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";
import { until } from "../../fixtures/waiting.ts";

// The persistent kernel. Run by slow/emulated_test.ts: only the emulated device counts such kernels, has their thread
// blocks come late, and hangs.

const gone = () => until("the kernel has left", () => emulationCounts().resident === 0);

function load(executor: Executor, parallel = 1): Promise<Engine> {
  return Engine.load(GOLDEN, { device: "emulated", parallel, executor });
}

async function answer(engine: Engine, seed: number, maxTokens: number): Promise<string> {
  const sampling = { seed, temperature: 0.8 };
  let text = "";
  for await (
    const chunk of engine.generate({ prompt: [1, 2, 3 + seed], maxTokens, sampling, stop: [] })
  ) text += chunk.text;
  return text;
}

/** What one sequence gets by graphs. */
async function expected(seeds: readonly number[], maxTokens: number): Promise<string[]> {
  const engine = await load("graphs");
  const texts = [];
  for (const seed of seeds) texts.push(await answer(engine, seed, maxTokens));
  await engine.close();
  return texts;
}

/** A program that doubles what it is given, a row a sequence. */
function doubling(device: TestDevice) {
  const program = device.program({
    ops: [{ kind: "add", a: 0, b: 0, output: 1, columns: 1 }],
    buffers: [tokenBuffer(1), tokenBuffer(1)],
  });
  return async (rows: number, n: number) => {
    program.writeBuffer(0, Float32Array.from({ length: rows }, (_, i) => i + n));
    await program.step(decoding(rows));
    const doubled = Array.from({ length: rows }, (_, i) => 2 * (i + n));
    assertEquals(Array.from(program.readBuffer(1, new Float32Array(rows))), doubled);
  };
}

function decoding(rows: number): StepSequence[] {
  const one = { tokens: [0], position: 0, kvBlocks: [], decode: true, outputs: [] };
  return Array.from({ length: rows }, () => one);
}

Deno.test("tokens decoded by the persistent kernel need no launches of their own, and are those of graphs", async () => {
  const tokens = 60;
  const [wanted] = await expected([1], tokens);
  const engine = await load("resident");
  await answer(engine, 1, 2);
  const before = emulationCounts().launches;
  assertEquals(await answer(engine, 1, tokens), wanted);
  // The prompt is launched, and the kernel itself where it had left; a token by launches takes ten.
  const launched = emulationCounts().launches - before;
  assert(launched < 2 * tokens, `${launched} launches`);
  assertEquals(await engine.cards[0].executors(), ["resident"]);
  await engine.close();
  assertEquals(emulationCounts().resident, 0, "it has left when the engine is closed");
});

Deno.test("a kernel without a step to do leaves, and the next step has it come back", async () => {
  const engine = await load("resident");
  const wanted = await expected([1, 2], 10);
  for (const [i, seed] of [1, 2].entries()) {
    assertEquals(await answer(engine, seed, 10), wanted[i]);
    await gone();
  }
  await engine.close();
});

Deno.test("sequences that come and go between the steps of a persistent kernel get what each gets alone", async () => {
  const seeds = Array.from({ length: 12 }, (_, i) => i);
  const wanted = await expected(seeds, 20);
  const engine = await load("resident", 8);
  // One, two, four and eight rows, with lengths of their own: other kernels, and lists of other shapes.
  const got = await Promise.all(seeds.map((seed) => answer(engine, seed, 6 + seed)));
  for (const [i, text] of got.entries()) {
    assert(wanted[i].startsWith(text), `${seeds[i]}: got ${text}, wanted ${wanted[i]}`);
  }
  await engine.close();
});

Deno.test("products of each family of types have the launches' bits, of any number of rows, with columns that are split, two types together", async () => {
  const columns = 1024, rows = [288, 160];
  const results = new Map<string, Uint32Array[]>();
  for (const executor of ["graphs", "resident"] as const) {
    const device = new TestDevice({ executor });
    const random = new Random(7);
    const weight = (name: string, n: number) => {
      const blocks = GOLDEN_BLOCKS.find(({ type }) => type === name)!;
      return device.blocks(blocks.id, matrixOf(blocks, n, columns, random).bytes, n, columns);
    };
    for (const [first, second] of [["Q4_K", "Q6_K"], ["Q8_0", "Q8_0"], ["F16", "F16"]]) {
      const program = device.program({
        ops: [{
          kind: "matmul",
          input: 0,
          output: 1,
          n_weights: 2,
          weight: [weight(first, rows[0]), weight(second, rows[1])],
          rows,
          columns,
        }],
        buffers: [tokenBuffer(columns), tokenBuffer(rows[0] + rows[1])],
      });
      for (const n of [1, 2, 3, 8]) {
        program.writeBuffer(0, new Random(n).floats(n * columns));
        await program.step(decoding(n));
        const bits = bitsOf(program.readBuffer(1, new Float32Array(n * (rows[0] + rows[1]))));
        const key = `${first} and ${second}, ${n} rows`;
        results.set(key, [...results.get(key) ?? [], bits]);
      }
      assertEquals((await program.executors(8))[7], executor, first);
    }
    device.close();
  }
  for (const [key, [graphs, resident]] of results) assertEquals(resident, graphs, key);
});

Deno.test("other work for the device makes the kernel leave first, and finds all earlier steps done", async () => {
  const device = new TestDevice({ executor: "resident" });
  const other = new TestDevice({ executor: "resident" });
  const launched = new TestDevice({ executor: "launches" });
  const [one, two, three] = [doubling(device), doubling(other), doubling(launched)];
  for (let n = 0; n < 5; n++) {
    await one(1, n);
    await two(2, n);
    await three(1, n);
    await Promise.all([one(3, n), two(1, n), three(2, n)]);
  }
  for (const each of [device, other, launched]) each.close();
  assertEquals(emulationCounts().resident, 0);
});

Deno.test("while another model is uploaded steps are graphs, so that the upload need not wait for a persistent kernel", async () => {
  const device = new TestDevice({ executor: "resident" });
  const other = new TestDevice();
  const program = device.program({
    ops: [{ kind: "add", a: 0, b: 0, output: 1, columns: 1 }],
    buffers: [tokenBuffer(1), tokenBuffer(1)],
  });
  const comes = async () => {
    for (let n = 0; n < 20; n++) {
      await program.step(decoding(1));
      if (emulationCounts().resident === 1) return true;
    }
    return false;
  };
  assert(await comes());
  other.tensor([1, 2, 3, 4], 2, 2);
  assert(!await comes(), "a persistent kernel runs during an upload");
  await other.context.finishUploads();
  assert(await comes(), "it has not come back");
  for (const each of [device, other]) each.close();
});

Deno.test("a step that wants more than the kernel has is run by graphs, and the executors say so", async () => {
  const device = new TestDevice({ executor: "resident" });
  const program = device.program({
    ops: [{
      kind: "copy",
      input: 0,
      input_column: 0,
      input_stride: 1,
      output: 1,
      output_column: 0,
      output_stride: 1,
      n_groups: 1,
      columns: 1,
    }],
    buffers: [tokenBuffer(1), tokenBuffer(1)],
  });
  assertEquals(await program.executors(1), ["resident"]);
  program.writeBuffer(0, Float32Array.of(5));
  await program.step(decoding(1));
  assertEquals(Array.from(program.readBuffer(1, new Float32Array(1))), [5]);
  assertEquals(await program.executors(2), ["graphs", "resident"]);
  device.close();
});

Deno.test("steps are run by the persistent kernel where launches and graphs were measured to be slower", async () => {
  const engine = await load("auto");
  const slow = { M40_EMULATION_GRAPH_US: "200000", M40_EMULATION_LAUNCH_US: "10000" };
  await withEnvironment(slow, async () => void await answer(engine, 1, 40));
  assertEquals(await engine.cards[0].executors(), ["resident"]);
  await engine.close();
});

Deno.test("thread blocks that find no room: the step is run by graphs, the kernel is not tried again, and nothing waits for ever", async () => {
  const [wanted] = await expected([1], 10);
  const engine = await load("resident");
  await withEnvironment({ M40_EMULATION_BLOCKS_LATE: "1" }, async () => {
    assertEquals(await answer(engine, 1, 10), wanted);
  });
  assertEquals(emulationCounts().resident, 0);
  assertEquals(await engine.cards[0].executors(), ["graphs"]);
  assertEquals(await answer(engine, 1, 10), wanted);
  await engine.close();
});

Deno.test("where a display is attached to the device there are no persistent kernels: asked for, that is an error, else others are measured", async () => {
  using _environment = new TemporaryEnvironment({ M40_EMULATION_WATCHDOG: "1" });
  const error = assertThrows(() => new TestDevice({ executor: "resident" }), M40Error);
  assertEquals(error.code, "unsupported");
  assertMatch(
    error.message,
    /^a persistent kernel was asked for: a display is attached to the device/,
  );
  const engine = await load("auto");
  await answer(engine, 1, 20);
  const [executor] = await engine.cards[0].executors();
  assert(executor === "graphs" || executor === "launches", executor);
  await engine.close();
});

for (const executor of ["auto", "resident", "graphs"] as const) {
  Deno.test(`--executor ${executor}: why a persistent kernel does not run steps is logged once where it may, and m40 ps says it`, async () => {
    const logged: string[] = [];
    await using home = await Home.make();
    await using server = await startServer({
      engine: {
        ...{ device: "emulated", executor, kvType: "f32" },
        onExecutor: (message) => logged.push(message),
      },
    });
    const { engine, port } = server;
    await answer(engine, 1, 40);
    await engine.idle();
    if (executor !== "graphs") await until("it is logged", () => logged.length > 0);
    await answer(engine, 2, 40);
    const why = await engine.cards[0].noResident();
    const { stdout } = await m40(home, ["ps", "--port", String(port)]);
    const { device } = JSON.parse(
      (await m40(home, ["ps", "--json", "--port", String(port)])).stdout,
    );
    if (executor === "graphs") {
      assertEquals([why, device.no_resident, logged], ["", undefined, []]);
      assert(!stdout.includes("resident"), stdout);
      return;
    }
    assertMatch(why, /\w/);
    assertEquals(device.no_resident, why);
    const sentence = "not all steps that decode are run by a persistent kernel";
    assertEquals(logged, [`--executor ${executor}: ${sentence}: ${why}`]);
    assert(stdout.includes(`, not all by a persistent kernel: ${why}\n`), stdout);
  });
}

Deno.test("a step that the kernel does right before it leaves is not done twice, though the host sees it gone", async () => {
  const device = new TestDevice({ executor: "resident" });
  // What it keeps from step to step counts them.
  const program = device.program({
    ops: [{ kind: "add", a: 0, b: 1, output: 0, columns: 1 }],
    buffers: [tokenBuffer(1), tokenBuffer(1)],
  });
  program.writeBuffer(0, Float32Array.of(0));
  program.writeBuffer(1, Float32Array.of(1));
  let steps = 0;
  const step = async () => {
    await program.step(decoding(1));
    steps++;
  };
  let met = false;
  for (let tries = 0; tries < 50 && !met; tries++) {
    await step();
    const before = emulationCounts();
    // The kernel waits a hundredth of a second for one more step, and leaves.
    await withEnvironment({ M40_EMULATION_WORD_US: "300000" }, step);
    const after = emulationCounts();
    met = before.resident === 1 && after.resident === 0 && after.launches === before.launches;
    // Reading makes the kernel leave: all that it was asked for is done.
    assertEquals(program.readBuffer(0, new Float32Array(1))[0], steps);
  }
  assert(met, "the kernel never did a step and left before the host continued");
  device.close();
});

// The last: a device that hangs, or is lost, is so until the process ends.
Deno.test("a kernel that does not answer: the device is given up, with the reason, and another context frees nothing that would wait for it", async () => {
  const other = new TestDevice({ executor: "graphs" });
  await doubling(other)(1, 1);
  const engine = await load("resident");
  await answer(engine, 1, 5);
  await gone();
  await withEnvironment({ M40_EMULATION_HANG_IN: "resident_kernel" }, async () => {
    const error = await assertRejects(() => answer(engine, 1, 5), M40Error);
    assertEquals(error.code, "device");
    assertMatch(error.message, /^a run: the device hangs: it has not finished in 60 s/);
  });
  await engine.close();
  // What waits without a bound ends the process. The first call gets the error of the kernel's own context.
  for (let i = 0; i < 2; i++) {
    const error = assertThrows(() => other.context.createArena(1 << 20), M40Error);
    assertEquals(error.code, "device");
    assertMatch(error.message, /^the device hangs: /);
  }
  other.close();
});
