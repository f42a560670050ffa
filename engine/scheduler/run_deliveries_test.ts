// What a run samples is delivered while it goes on; its last samples when the device has its next steps.
import { assertEquals } from "@std/assert";
import { M40Error } from "../errors.ts";
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

Deno.test("samples that are delivered together keep the times at which the device gave them", async () => {
  let clock = 0;
  const device: SchedulerDevice = {
    ...new NothingMoves(),
    step: (sequences) => Promise.resolve(sameToken(sequences)),
    run(sequences, steps, _limits, take) {
      for (let i = 1; i <= steps; i++) {
        clock += 10;
        take(sameToken(sequences).outputs, true);
      }
      return { over: Promise.resolve(), stop() {} };
    },
  };
  const scheduler = new Scheduler(device, new KvBlockManager(100, 4), {
    ...{ maxRunning: 8, maxWaiting: 8, stepTokens: 64, stepOutputs: 12, chunkMs: 50 },
    runSteps: 8,
    now: () => clock,
  });
  const times: [at: number, delivered: number][] = [];
  const listener = {
    accept: (_: unknown, at: number) => times.push([at, clock]) > 0,
    end() {},
  };
  scheduler.add(sequence(3, 4, 5, { listener }));
  await scheduler.idle();
  assertEquals(times, [[0, 30], [10, 30], [20, 30], [30, 30]]);
});

Deno.test("sequences that migrate during a run of a lost device go on when it is over, though it has not failed", async () => {
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const device: SchedulerDevice = {
    ...new NothingMoves(),
    step: (sequences) => Promise.resolve(sameToken(sequences)),
    run(sequences, _steps, _limits, take) {
      take(sameToken(sequences).outputs);
      queueMicrotask(begun.resolve);
      return { over: over.promise, stop() {} };
    },
  };
  const migrated = sequence(3, 20, 5);
  const stepsUnderWay: number[] = [];
  const scheduler = new Scheduler(device, new KvBlockManager(100, 4), {
    ...{ maxRunning: 8, maxWaiting: 8, stepTokens: 64, stepOutputs: 12, chunkMs: 50 },
    runSteps: 3,
    onLoss: ({ sequences, migrate }) => sequences.forEach(migrate),
    onChange: () => stepsUnderWay.push(migrated.stepsUnderWay),
  });
  scheduler.add(migrated);
  await begun.promise;
  scheduler.fail(new M40Error("device", "its process has ended"));
  assertEquals([migrated.state, stepsUnderWay.at(-1)], ["preempted", 1]);
  over.resolve();
  await scheduler.idle();
  assertEquals(stepsUnderWay.at(-1), 0);
});
