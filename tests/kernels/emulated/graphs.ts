import { assertEquals, assertGreater, assertLess, assertLessOrEqual } from "@std/assert";
import type { DeviceProgram } from "../../../engine/device/device_program.ts";
import { NONE } from "../../../engine/device/structs.ts";
import { TestDevice, tokenBuffer } from "../../fixtures/device_harness.ts";
import { withEnvironment } from "../../fixtures/emulated_environment.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";

// Graphs of steps. Run by slow/emulated_test.ts: only the emulated device counts them.

/** The most that a program keeps (cuda/gpu/graphs.cu). */
const MOST_GRAPHS = 256;

/** Graphs that there are, and launches of graphs so far. */
function countGraphs(): { live: number; launches: number } {
  const library = Deno.dlopen(Deno.env.get("M40_KERNELS")!, {
    m40_emulation_live_graphs: { parameters: [], result: "u64" },
    m40_emulation_graph_launches: { parameters: [], result: "u64" },
  });
  const live = Number(library.symbols.m40_emulation_live_graphs());
  const launches = Number(library.symbols.m40_emulation_graph_launches());
  library.close();
  return { live, launches };
}

/** Decodes so many sequences, some rows of which are outputs: each pair of numbers is a shape of its own. */
async function decode(program: DeviceProgram, sequences: number, outputs: number): Promise<void> {
  program.writeBuffer(1, new Float32Array(sequences));
  await program.step(Array.from({ length: sequences }, (_, i) => ({
    tokens: [0],
    position: 0,
    kvBlocks: [],
    decode: true,
    outputs: i < outputs ? [{ row: 0 }] : [],
  })));
  const doubled = Array.from({ length: sequences }, (_, i) => 2 * i);
  assertEquals(Array.from(program.readBuffer(1, new Float32Array(sequences))), doubled);
}

Deno.test("a graph reads and writes the slots of each step, not those of the step it was captured from", async () => {
  const device = new TestDevice({ executor: "graphs" });
  const cache = device.cache({ states: [1], slots: 4 });
  const weight = device.tensor([1, 0], 2);
  // Each token gives the input of the previous one.
  const program = device.program({
    ops: [{ kind: "conv", input: 0, output: 1, weight, state: 0, columns: 1, kernel: 2 }],
    buffers: [tokenBuffer(1), tokenBuffer(1)],
    cache,
  });
  const before = countGraphs().launches;
  const slots = [0, 1];
  for (let n = 0; n < 8; n++) {
    program.writeBuffer(0, Float32Array.of(n + 1, -n - 1));
    await program.step(slots.map((from, i) => {
      // Now in the same slot, now in the other two.
      slots[i] = n % 3 === 0 ? from : (from + 2) % 4;
      const states = { from: n === 0 ? NONE : from, to: slots[i] };
      return { tokens: [0], position: n, kvBlocks: [], decode: true, outputs: [], states };
    }));
    assertEquals(Array.from(program.readBuffer(1, new Float32Array(2))), [n, n === 0 ? 0 : -n]);
  }
  assertEquals(countGraphs().launches - before, 6, "all steps but the first two are graphs");
  device.close();
});

Deno.test("graphs that were not used for long make room for those of new shapes", async () => {
  const device = new TestDevice({ executor: "graphs" });
  const program = device.program({
    ops: [{ kind: "add", a: 0, b: 0, output: 1, columns: 1 }],
    buffers: [tokenBuffer(1), tokenBuffer(1)],
    limits: { n_tokens: 32, n_sequences: 32, n_outputs: 32 },
  });
  program.writeBuffer(0, Float32Array.from({ length: 32 }, (_, i) => i));
  const launchesOf = async (work: () => Promise<unknown>) => {
    const { launches } = countGraphs();
    await work();
    return countGraphs().launches - launches;
  };
  await decode(program, 32, 32);
  const shapes = Array.from({ length: 32 * 31 / 2 }, (_, i) => i)
    .map((i) => [1 + i % 31, 1 + Math.floor(i / 31)])
    .filter(([sequences, outputs]) => outputs <= sequences).slice(0, 300);
  assertEquals(shapes.length > MOST_GRAPHS, true);
  for (const [n, [sequences, outputs]] of shapes.entries()) {
    // Two plain steps, then a graph. The first shape stays in use all the time.
    assertEquals(
      await launchesOf(async () => {
        for (let i = 0; i < 4; i++) await decode(program, sequences, outputs);
      }),
      2,
    );
    const launches = await launchesOf(() => decode(program, 32, 32));
    assertEquals(launches, n === 0 ? 0 : 1, "the shape that is used keeps its graph");
    assertLessOrEqual(countGraphs().live, MOST_GRAPHS);
  }
  assertEquals(countGraphs().live, MOST_GRAPHS);
  // What was not used for long has to earn its graph again.
  const [sequences, outputs] = shapes[0];
  for (const wanted of [0, 0, 1, 1]) {
    assertEquals(await launchesOf(() => decode(program, sequences, outputs)), wanted);
  }
  device.close();
  assertEquals(countGraphs().live, 0, "all are freed with the program");
});

/** A program of one operation whose steps are graphs, of up to 32 sequences. */
function graphProgram(device: TestDevice): DeviceProgram {
  const program = device.program({
    ops: [{ kind: "add", a: 0, b: 0, output: 1, columns: 1 }],
    buffers: [tokenBuffer(1), tokenBuffer(1)],
    limits: { n_tokens: 32, n_sequences: 32, n_outputs: 32 },
  });
  program.writeBuffer(0, Float32Array.from({ length: 32 }, (_, i) => i));
  return program;
}

const MIB = 2 ** 20;

/** The most graphs that there are while so many shapes come up in turn, each often enough for one. */
async function mostLive(program: DeviceProgram, shapes: number): Promise<number> {
  let most = 0;
  for (let round = 0; round < 3; round++) {
    for (let sequences = 1; sequences <= shapes; sequences++) {
      for (let i = 0; i < 4; i++) await decode(program, sequences, sequences);
      most = Math.max(most, countGraphs().live);
    }
  }
  return most;
}

Deno.test("graphs take no more of the device's memory than plans leave for them, however many shapes come up", async () => {
  using _environment = new TemporaryEnvironment({ M40_EMULATION_GRAPH_BYTES: `${16 * MIB}` });
  const device = new TestDevice({ executor: "graphs" });
  const program = graphProgram(device);
  const most = await mostLive(program, 32);
  // The one that is too much is seen when it is there.
  assertEquals(most, 9);
  device.close();
  assertEquals(countGraphs().live, 0);
});

Deno.test("where the device has no memory for another graph there are fewer, and steps continue", async () => {
  const arenaBytes = 64 * MIB;
  const env = {
    M40_EMULATION_MEMORY_BYTES: `${arenaBytes + 45 * MIB}`,
    M40_EMULATION_GRAPH_BYTES: `${10 * MIB}`,
  };
  using _environment = new TemporaryEnvironment(env);
  const device = new TestDevice({ executor: "graphs", arenaBytes });
  const program = graphProgram(device);
  const most = await mostLive(program, 16);
  assertLess(most, 5);
  // One that is used all the time has its graph.
  const before = countGraphs().launches;
  for (let i = 0; i < 40; i++) await decode(program, 8, 8);
  assertGreater(countGraphs().launches - before, 20);
  device.close();
});

Deno.test("a graph that finds no memory when it is launched is launched kernel by kernel", async () => {
  const device = new TestDevice({ executor: "graphs" });
  const program = graphProgram(device);
  for (let i = 0; i < 5; i++) await decode(program, 3, 3);
  for (let i = 0; i < 5; i++) await decode(program, 4, 4);
  const next = countGraphs().launches + 1;
  await withEnvironment({ M40_EMULATION_GRAPH_LAUNCH_FAILS: `${next}` }, async () => {
    for (let i = 0; i < 12; i++) await decode(program, 4, 4);
  });
  assertGreater(countGraphs().launches, next, "it has a graph again");
  device.close();
  assertEquals(countGraphs().live, 0);
});

Deno.test("where there was no memory for a graph once, there is one when there is memory again", async () => {
  const device = new TestDevice({ executor: "graphs" });
  const program = graphProgram(device);
  await withEnvironment({ M40_EMULATION_GRAPH_BYTES: `${2 ** 50}` }, async () => {
    for (let i = 0; i < 4; i++) await decode(program, 5, 5);
    assertEquals(countGraphs().live, 0);
  });
  for (let i = 0; i < 20; i++) await decode(program, 5, 5);
  assertEquals(countGraphs().live, 1);
  device.close();
});

Deno.test("shapes that come up once take nobody's room for graphs, and one that lost its graph soon has it again where there is room", async () => {
  using _environment = new TemporaryEnvironment({ M40_EMULATION_GRAPH_BYTES: `${16 * MIB}` });
  const device = new TestDevice({ executor: "graphs" });
  const program = graphProgram(device);
  const often = async (least: number) => {
    for (let sequences = least; sequences < least + 9; sequences++) {
      for (let i = 0; i < 4; i++) await decode(program, sequences, sequences);
    }
  };
  await often(1);
  assertEquals(countGraphs().live, 9);
  // More than are remembered: none of them stays long enough for a graph.
  for (let sequences = 1; sequences <= 32; sequences++) {
    for (let outputs = 0; outputs < sequences; outputs++) {
      await decode(program, sequences, outputs);
    }
  }
  assertEquals(countGraphs().live, 0);
  await often(1);
  assertEquals(countGraphs().live, 9, "as many as there were");
  // Those that have to go come back.
  await often(20);
  await often(1);
  const before = countGraphs().launches;
  for (let i = 0; i < 10; i++) await decode(program, 3, 3);
  assertGreater(countGraphs().launches - before, 4);
  device.close();
});
