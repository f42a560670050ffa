// What a run samples is delivered while it goes on; its last samples when the device has its next steps.
import { assertEquals } from "@std/assert";
import type { StepOutput } from "../device/step_result.ts";
import { SAMPLING_DEFAULTS } from "../sampling/parameters.ts";
import { KvBlockManager } from "./kv_blocks/kv_block_manager.ts";
import { Scheduler } from "./scheduler.ts";
import type { SchedulerDevice } from "./scheduler_options.ts";
import { Sequence } from "./sequences/sequence.ts";

Deno.test("the device has its next run before the last samples of one are delivered", async () => {
  const events: string[] = [];
  const outputs: StepOutput[] = [{ status: "ok", sample: { token: 1, logprob: 0, top: [] } }];
  const nothing = () => Promise.resolve();
  const device: SchedulerDevice = {
    step: () => Promise.resolve({ outputs }),
    run(_sequences, steps, _limits, take) {
      events.push("run");
      const over = (async () => {
        await nothing();
        for (let i = 0; i < steps; i++) take(outputs, i + 1 === steps);
      })();
      return { over, stop() {} };
    },
    copyKvBlocks: nothing,
    saveKvBlocks: nothing,
    restoreKvBlocks: nothing,
    saveSlots: nothing,
    restoreSlots: nothing,
  };
  const scheduler = new Scheduler(device, new KvBlockManager(100, 4), {
    ...{ maxRunning: 8, maxWaiting: 8, stepTokens: 64, stepOutputs: 12, chunkMs: 50 },
    runSteps: 3,
  });
  const ended = Promise.withResolvers<void>();
  scheduler.add(
    new Sequence({
      prompt: [5, 6, 7],
      maxTokens: 7,
      sampling: SAMPLING_DEFAULTS,
      topLogprobs: 0,
      endTokens: new Set(),
      listener: { accept: () => events.push("sample") > 0, end: () => ended.resolve() },
    }),
  );
  await ended.promise;
  await scheduler.idle();
  assertEquals(
    events.join(" "),
    "run sample sample sample run sample sample sample sample",
  );
});
