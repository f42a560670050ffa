import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { Engine, M40Error } from "../../../engine/mod.ts";
import { openDeviceProcess } from "../../../engine/device/open.ts";
import { takeEmulatedForCuda, withEnvironment } from "../../fixtures/emulated_environment.ts";
import { asking, cardOf, collect, promptOf } from "../../fixtures/engine_fixture.ts";
import { GOLDEN } from "../../fixtures/goldens.ts";
import { childrenOf, endOf } from "../../fixtures/process_table.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";

// A GPU that hangs or is lost, in a process of its own: that process ends, and the next one can use the device. Run by
// slow/emulated_test.ts: the emulated library stands in the GPU's library's place.

await takeEmulatedForCuda();

const FAILURES: [title: string, environment: Record<string, string>, reason: RegExp][] = [
  ["hangs", { M40_EMULATION_HANG_IN: "sample" }, /^a step: the device hangs: it has not finished/],
  // After the first token.
  [
    "hangs in a run",
    { M40_EMULATION_HANG_IN: "advance_run" },
    /^a run: the device hangs: it has not finished/,
  ],
  ["is lost", { M40_EMULATION_FAIL_AFTER: "300" }, /cudaErrorLaunchFailure/],
];
for (const [title, environment, reason] of FAILURES) {
  Deno.test(`a device that ${title} fails its requests, its process can be closed, and the next can use it`, async () => {
    // Launches are counted, and a run has a kernel of its own: a persistent kernel has neither.
    const options = { device: "cuda", deviceProcess: true, executor: "launches" } as const;
    await withEnvironment(environment, async () => {
      const engine = await Engine.load(GOLDEN, options);
      const process = cardOf(engine).kernels.processId!;
      const { error, tokens } = await collect(engine.generate(asking(promptOf(4), 100)));
      if (title !== "hangs") assert(tokens.length > 0, "earlier samples are kept");
      assert(error instanceof M40Error, String(error));
      assertEquals(error.code, "device");
      assertMatch(error.message, reason);
      assertMatch(engine.status().failed!, reason);
      const start = performance.now();
      await engine.close();
      assertLess(performance.now() - start, 5000);
      await endOf(process, 0);
    });
    const engine = await Engine.load(GOLDEN, options);
    const { tokens, error } = await collect(engine.generate(asking(promptOf(4), 8)));
    assertEquals([tokens.length, error], [8, undefined]);
    await engine.close();
    assertEquals(childrenOf(), []);
  });
}

Deno.test("auto takes the CPU in a process where the GPU cannot be used, and leaves no other process", async () => {
  using _environment = new TemporaryEnvironment({ M40_EMULATION_CAPABILITY: "35" });
  const { library, fallback } = await openDeviceProcess("auto");
  assertEquals(library.backend, "cpu");
  assertMatch(fallback!, /has compute capability 3\.5/);
  assertEquals(childrenOf(), [library.processId!]);
  await library.close();
  assertEquals(childrenOf(), []);
});
