import { assertEquals, assertLessOrEqual } from "@std/assert";
import type { Program } from "../engine/device/program.ts";
import { outputBuffer, TestDevice } from "./device_harness.ts";
import { NONE } from "../engine/device/structs.ts";

// Graphs of steps. Run by emulated_test.ts: only the emulated device counts them.

/** The most that a program keeps (cuda/runtime/graphs.cu). */
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

/** Decodes so many sequences, of which some draw a token: each pair of numbers is a shape of its own. */
async function decode(program: Program, sequences: number, outputs: number): Promise<number[]> {
  const result = await program.step(Array.from({ length: sequences }, (_, i) => ({
    tokens: [0],
    position: 0,
    pages: [],
    decode: true,
    outputs: i < outputs ? [{ row: 0 }] : [],
  })));
  return result.outputs.map(({ sample }) => sample!.token);
}

Deno.test("graphs that were not used for long make room for those of new shapes, and all draw the same", async () => {
  const device = new TestDevice();
  const program = device.program({
    ops: [{ kind: "sample", logits: 0, columns: 8, hidden: NONE, hidden_columns: 0 }],
    buffers: [outputBuffer(8)],
    limits: { n_vocab: 8, n_tokens: 32, n_sequences: 32, n_outputs: 32 },
  });
  program.writeBuffer(0, Float32Array.from({ length: 32 * 8 }, (_, i) => i % 8 === i % 7 ? 1 : 0));
  const launchesOf = async (work: () => Promise<unknown>) => {
    const { launches } = countGraphs();
    await work();
    return countGraphs().launches - launches;
  };
  const first = await decode(program, 32, 32);
  const shapes = Array.from({ length: 32 * 31 / 2 }, (_, i) => i)
    .map((i) => [1 + i % 31, 1 + Math.floor(i / 31)])
    .filter(([sequences, outputs]) => outputs <= sequences).slice(0, 300);
  assertEquals(shapes.length > MOST_GRAPHS, true);
  for (const [n, [sequences, outputs]] of shapes.entries()) {
    // Two plain steps, then a graph. The first shape stays in use all the time.
    assertEquals(
      await launchesOf(async () => {
        for (let i = 0; i < 4; i++) {
          assertEquals(await decode(program, sequences, outputs), first.slice(0, outputs));
        }
      }),
      2,
    );
    const launches = await launchesOf(() => decode(program, 32, 32));
    assertEquals(launches, n === 0 ? 0 : 1, "the shape that is used keeps its graph");
    assertLessOrEqual(countGraphs().live, MOST_GRAPHS);
  }
  assertEquals(countGraphs().live, MOST_GRAPHS);
  // What was not used for long has to earn its graph again, and so had what never got one.
  const [sequences, outputs] = shapes[0];
  for (const wanted of [0, 0, 1, 1]) {
    assertEquals(await launchesOf(() => decode(program, sequences, outputs)), wanted);
  }
  device.close();
  assertEquals(countGraphs().live, 0, "all are freed with the program");
});
