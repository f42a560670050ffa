// What a run samples is delivered while it goes on; its last samples when the device has its next steps.
import { assertEquals } from "@std/assert";
import { KvBlockManager } from "./kv_blocks/kv_block_manager.ts";
import { Scheduler } from "./scheduler.ts";
import type { SchedulerDevice } from "./scheduler_options.ts";
import { NothingMoves, sameToken, sequence } from "../../tests/fixtures/timed_device.ts";

Deno.test("the device has its next run before the last samples of one are delivered", async () => {
  const events: string[] = [];
  const device: SchedulerDevice = {
    ...new NothingMoves(),
    step: (sequences) => Promise.resolve(sameToken(sequences)),
    run(sequences, steps, _limits, take) {
      events.push("run");
      const over = (async () => {
        await undefined;
        for (let i = 0; i < steps; i++) take(sameToken(sequences).outputs, i + 1 === steps);
      })();
      return { over, stop() {} };
    },
  };
  const scheduler = new Scheduler(device, new KvBlockManager(100, 4), {
    ...{ maxRunning: 8, maxWaiting: 8, stepTokens: 64, stepOutputs: 12, chunkMs: 50 },
    runSteps: 3,
  });
  const ended = Promise.withResolvers<void>();
  const listener = { accept: () => events.push("sample") > 0, end: () => ended.resolve() };
  scheduler.add(sequence(3, 7, 5, { listener }));
  await ended.promise;
  await scheduler.idle();
  assertEquals(
    events.join(" "),
    "run sample sample sample run sample sample sample sample",
  );
});
