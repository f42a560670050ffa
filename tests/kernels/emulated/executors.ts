import { assert, assertEquals } from "@std/assert";
import type { DeviceProgram } from "../../../engine/device/device_program.ts";
import { Engine, type Executor, EXECUTORS } from "../../../engine/mod.ts";
import { TestDevice, tokenBuffer } from "../../fixtures/device_harness.ts";
import { withEnvironment } from "../../fixtures/emulated_environment.ts";
import { GOLDEN } from "../../fixtures/goldens.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";

// What decode steps are run by. Run by slow/emulated_test.ts: only the emulated device's launches and graphs can be
// made slow.

/** More steps than are measured of any number of rows. */
const STEPS = 24;
/** So much slower is what is to be left, in microseconds. */
const SLOW = "20000";

function programOf(executor?: Executor): { device: TestDevice; program: DeviceProgram } {
  const device = new TestDevice({ executor });
  const program = device.program({
    ops: [{ kind: "add", a: 0, b: 0, output: 1, columns: 1 }],
    buffers: [tokenBuffer(1), tokenBuffer(1)],
    limits: { n_tokens: 70, n_sequences: 70, n_outputs: 70 },
  });
  return { device, program };
}

/** Steps of so many sequences that decode; each must double what it is given. */
async function decode(program: DeviceProgram, sequences: number, steps: number): Promise<void> {
  for (let n = 0; n < steps; n++) {
    program.writeBuffer(0, Float32Array.from({ length: sequences }, (_, i) => i + n));
    await program.step(Array.from({ length: sequences }, () => ({
      tokens: [0],
      position: 0,
      kvBlocks: [],
      decode: true,
      outputs: [],
    })));
    const doubled = Array.from({ length: sequences }, (_, i) => 2 * (i + n));
    assertEquals(Array.from(program.readBuffer(1, new Float32Array(sequences))), doubled);
  }
}

for (
  const [faster, slower] of [["launches", "M40_EMULATION_GRAPH_US"], [
    "graphs",
    "M40_EMULATION_LAUNCH_US",
  ]] as const
) {
  Deno.test(`decode steps are run by ${faster} where these are faster, once that was measured for their number of rows`, async () => {
    using _environment = new TemporaryEnvironment({ [slower]: SLOW });
    const { device, program } = programOf();
    assertEquals(await program.executors(3), ["auto", "auto", "auto"]);
    await decode(program, 2, STEPS);
    assertEquals(await program.executors(3), ["auto", faster, "auto"]);
    device.close();
  });
}

Deno.test("what is faster may be another for another number of rows", async () => {
  const { device, program } = programOf();
  await withEnvironment({ M40_EMULATION_GRAPH_US: SLOW }, () => decode(program, 1, STEPS));
  await withEnvironment({ M40_EMULATION_LAUNCH_US: SLOW }, () => decode(program, 2, STEPS));
  assertEquals(await program.executors(2), ["launches", "graphs"]);
  device.close();
});

Deno.test("what is asked for is what steps are run by, however slow; long steps are launched", async () => {
  for (
    const [executor, slow] of [["launches", "M40_EMULATION_LAUNCH_US"], [
      "graphs",
      "M40_EMULATION_GRAPH_US",
    ]] as const
  ) {
    using _environment = new TemporaryEnvironment({ [slow]: SLOW });
    const { device, program } = programOf(executor);
    await decode(program, 1, STEPS);
    await decode(program, 66, STEPS);
    const executors = await program.executors(66);
    assertEquals([executors[0], executors[63], executors[64]], [executor, executor, "launches"]);
    device.close();
  }
});

Deno.test("prompts are no measurement of decode steps", async () => {
  const { device, program } = programOf();
  for (let n = 0; n < STEPS; n++) {
    await program.step([{ tokens: [0], position: 0, kvBlocks: [], decode: false, outputs: [] }]);
  }
  assertEquals(await program.executors(1), ["auto"]);
  device.close();
});

Deno.test("an engine says what its steps are run by; answers are the same by either", async () => {
  const texts: string[] = [];
  for (const executor of EXECUTORS) {
    const engine = await Engine.load(GOLDEN, { device: "emulated", parallel: 2, executor });
    const request = { prompt: [1, 2, 3], maxTokens: STEPS, sampling: { seed: 5 }, stop: [] };
    let text = "";
    for await (const chunk of engine.generate(request)) text += chunk.text;
    texts.push(text);
    const [one, other] = await engine.cards[0].executors();
    assertEquals(other, executor, "two sequences have not run");
    if (executor === "auto") assert(one !== "auto", "it is decided after so many steps");
    else assertEquals(one, executor);
    await engine.close();
  }
  assertEquals(new Set(texts).size, 1);
});
