import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { parseLine } from "../../../cli/arguments/parse.ts";
import { serve } from "../../../cli/commands/serve.ts";
import { servedModels } from "../../../cli/serving/models.ts";
import type { ServeOptions } from "../../../cli/models/serving_options.ts";
import { ServeSettings } from "../../../cli/serving/settings.ts";
import { M40Error } from "../../../engine/mod.ts";
import { TINY } from "../../fixtures/cli_program.ts";
import { takeEmulatedForCuda, withEnvironment } from "../../fixtures/emulated_environment.ts";
import { cardOf } from "../../fixtures/engine_fixture.ts";
import { endOf } from "../../fixtures/process_table.ts";
import { until } from "../../fixtures/waiting.ts";

// A GPU that is gone from under a server that found one by itself. Run by slow/emulated_test.ts: only an emulated device
// can be there, be gone and be there again.

await takeEmulatedForCuda();

const NO_GPU = { M40_EMULATION_DEVICES: "0" };

/** What `m40 serve` loads, without the server. */
function served(...more: string[]) {
  const { options, given } = parseLine(serve, ["--model", TINY, "--ctx", "128", ...more]);
  const config = { server: {}, models: new Map(), aliases: new Map() };
  return servedModels(new ServeSettings(options as ServeOptions, given, config));
}

for (const [title, more] of [["in a process", []], ["in its own process", ["--in-process"]]]) {
  Deno.test(`--device auto that took the GPU loads nothing on the CPU when the GPU is gone, and takes it again when it is back: ${title}`, async () => {
    const { manager, main } = await served(...more);
    const backend = async () => {
      using lease = await manager.acquire(main!);
      return lease.engine.device.backend;
    };
    assertEquals(await backend(), "emulated");
    const { processId } = cardOf(manager.loaded()[0].engine!).kernels;
    if (processId === undefined) await manager.unload(main!);
    else {
      Deno.kill(processId, "SIGKILL");
      await endOf(processId);
      await until("the loss is noticed", () => manager.lost() !== undefined);
    }
    await withEnvironment(NO_GPU, async () => {
      const error = await assertRejects(backend, M40Error);
      assertEquals(error.code, "device");
      assertMatch(error.message, /no NVIDIA driver is installed, or it is not loaded/);
      assertMatch(manager.lost()!, /no NVIDIA driver/);
      assertEquals(manager.loaded(), []);
    });
    assertEquals([await backend(), manager.lost()], ["emulated", undefined]);
    await manager.close();
  });
}

Deno.test("--device auto that found no GPU takes one that is there later", async () => {
  const { manager, main } = await served();
  await withEnvironment(NO_GPU, async () => {
    using lease = await manager.acquire(main!);
    assertEquals(lease.engine.device.backend, "cpu");
  });
  await manager.unload(main!);
  using lease = await manager.acquire(main!);
  assertEquals(lease.engine.device.backend, "emulated");
  lease.release();
  await manager.close();
});
