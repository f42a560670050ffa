import { assert, assertEquals } from "@std/assert";
import type { StepSequence } from "../device/step_block.ts";
import type { StepResult } from "../device/step_result.ts";
import { KvBlockManager } from "./kv_blocks/kv_block_manager.ts";
import { Scheduler } from "./scheduler.ts";
import {
  NothingMoves,
  sameToken,
  sequence,
  TimedDevice,
} from "../../tests/fixtures/timed_device.ts";

const CHUNK_MS = 50;
/** What a decoded row and a prompt's token cost of each stage, in simulated milliseconds. */
const ROW_MS = 1;
const TOKEN_MS = 0.4;

const stagedDevice = () =>
  new TimedDevice((tokens) => TOKEN_MS * tokens, (rows) => ROW_MS * rows, 2);

function schedulerOf(device: TimedDevice, concurrentSteps: number): Scheduler {
  return new Scheduler(device, new KvBlockManager(1000, 32), {
    maxRunning: 9,
    maxWaiting: 9,
    stepTokens: 512,
    chunkMs: CHUNK_MS,
    concurrentSteps,
    now: () => device.now,
  });
}

/** Simulated milliseconds that so many streams of so many tokens take after prompts. */
async function timeOf(
  streams: number,
  tokens: number,
  concurrentSteps: number,
  promptTokens = 4,
): Promise<number> {
  const device = stagedDevice();
  const scheduler = schedulerOf(device, concurrentSteps);
  const all = Array.from({ length: streams }, (_, i) => sequence(promptTokens, tokens, 9000 * i));
  scheduler.add(...all);
  await scheduler.idle();
  return device.now - 1000;
}

Deno.test("two stages compute the steps of two halves of the streams at a time; one stream does not wait", async () => {
  const [alone, together] = [await timeOf(8, 60, 1), await timeOf(8, 60, 2)];
  assert(together < 0.55 * alone, `${together} ms, and ${alone} one step after the other`);
  assertEquals(await timeOf(1, 60, 2), await timeOf(1, 60, 1));
});

Deno.test("the parts of one long prompt are computed in two stages at a time", async () => {
  const [alone, together] = [await timeOf(1, 1, 1, 8192), await timeOf(1, 1, 2, 8192)];
  assert(together < 0.55 * alone, `${together} ms, and ${alone} one part after the other`);
});

Deno.test("results of a prompt's parts are processed in order, though preparation delays the first", async () => {
  const results: (() => void)[] = [];
  let steps = 0;
  const device = {
    ...new NothingMoves(),
    step(sequences: readonly StepSequence[]) {
      const result = new Promise<StepResult>((resolve) =>
        results.push(() => resolve(sameToken(sequences)))
      );
      // Both parts end when both results have arrived.
      if (++steps !== 1) { for (const end of results.splice(0)) queueMicrotask(end); }
      return result;
    },
  };
  const ends: unknown[] = [];
  const one = sequence(1024, 1, 0, {
    listener: { accept: () => true, end: (error) => void ends.push(error) },
    // There is work besides the first part until there is a second one.
    steering: { next: () => undefined, prepare: () => steps === 1 },
  });
  const limits = { maxRunning: 1, maxWaiting: 1, stepTokens: 512, chunkMs: CHUNK_MS };
  const scheduler = new Scheduler(device, new KvBlockManager(100, 32), {
    ...limits,
    concurrentSteps: 2,
  });
  scheduler.add(one);
  await scheduler.idle();
  assertEquals([steps, ends, one.sampled], [2, [undefined], 1]);
});

Deno.test("when streams of one half end, those of the other are shared out again", async () => {
  const device = stagedDevice();
  const scheduler = schedulerOf(device, 2);
  const streams = Array.from({ length: 8 }, (_, i) => sequence(4, 500, 100 * i));
  scheduler.add(...streams);
  let cancelled: number | undefined;
  device.after = (steps) => {
    const mates = streams.filter(({ stepsUnderWay }) => stepsUnderWay > 0);
    assert(mates.length <= 8);
    if (steps === 40) {
      streams.slice(0, 3).forEach((stream) => scheduler.cancel(stream));
      cancelled = device.steps.length;
    }
    if (steps === 60) streams.forEach((stream) => scheduler.cancel(stream));
  };
  await scheduler.idle();
  const sizes = (from: number, to: number) =>
    new Set(device.steps.slice(from, to).map(({ streams }) => streams));
  assertEquals(sizes(20, 40), new Set([4]));
  assertEquals(sizes(cancelled! + 4, cancelled! + 16), new Set([3, 2]));
});

Deno.test("a prompt in one step holds up the streams of the other by one chunk's time at most", async () => {
  const device = stagedDevice();
  const scheduler = schedulerOf(device, 2);
  const streams = Array.from({ length: 8 }, (_, i) => sequence(4, 5000, 10_000 * (i + 1)));
  const long = sequence(2000, 2, 5);
  scheduler.add(...streams);
  device.after = (steps) => {
    if (steps === 40) scheduler.add(long);
    if (long.state === "finished") streams.forEach((stream) => scheduler.cancel(stream));
  };
  await scheduler.idle();
  const chunks = device.steps.slice(40).filter(({ promptTokens }) => promptTokens > 0);
  assertEquals(chunks.reduce((sum, { promptTokens }) => sum + promptTokens, 0), 2000);
  for (const { streams, promptTokens, chunkMs } of chunks) {
    const stageMs = chunkMs + ROW_MS * streams;
    assert(stageMs <= CHUNK_MS, `a chunk of ${promptTokens} tokens took a stage ${stageMs} ms`);
  }
});

Deno.test("a sequence that arrives after one of two steps has ended is admitted at once", async () => {
  const device = stagedDevice();
  const scheduler = schedulerOf(device, 2);
  const first = sequence(4, 100, 0);
  const second = sequence(4, 5, 1000);
  scheduler.add(first);
  let arrived: number | undefined;
  device.after = (steps) => {
    if (steps !== 50) return;
    scheduler.add(second);
    arrived = device.steps.length;
  };
  await scheduler.idle();
  const prompts = device.steps.map(({ promptTokens }, i) => promptTokens > 0 ? i : -1);
  assert(prompts.filter((i) => i > 0).every((i) => i <= arrived! + 1), `${prompts}`);
});
