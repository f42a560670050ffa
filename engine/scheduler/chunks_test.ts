import { assert, assertEquals } from "@std/assert";
import { KvBlockManager } from "./kv_blocks/kv_block_manager.ts";
import { Scheduler } from "./scheduler.ts";
import { sequence, TimedDevice } from "../../tests/fixtures/timed_device.ts";

const KV_BLOCK_TOKENS = 32;
const STREAMS = 7;
const PROMPT = 4000;
const CHUNK_MS = 50;
/** The cost of a step without prompts, in simulated milliseconds. */
const DECODE_MS = 12;

/** What a chunk of a prompt costs, in milliseconds. */
type Cost = (tokens: number, position: number) => number;

/** A device on which a chunk's time depends on its size in one way or another. */
interface Device {
  readonly cost: Cost;
  readonly tileTokens?: readonly number[];
  /** Of the prompt, at most. */
  readonly steps: number;
}

const TILES = [32, 64, 128];
const TILE_MS: Record<number, number> = { 0: 0, 32: 16, 64: 25, 128: 42 };
/** A GPU that takes tokens in tiles of three sizes, as an H200 does with a model of 7B. */
function tiledCost(tokens: number): number {
  const rest = tokens % 128;
  const tile = rest === 0 ? 0 : TILES.find((tile) => rest <= tile)!;
  return Math.floor(tokens / 128) * TILE_MS[128] + TILE_MS[tile];
}

// A budget that never grew from its first 16 tokens would keep the limit too, and take 250 steps.
const DEVICES: Record<string, Device> = {
  "as many times as it has tokens": { cost: (tokens) => 0.4 * tokens, steps: 79 },
  "hardly more than that of one token": { cost: (tokens) => 20 + 0.02 * tokens, steps: 79 },
  "more with every token before it": {
    cost: (tokens, position) => tokens * (0.2 + position / 20_000),
    steps: 79,
  },
  "as long as the tiles that it fills": { cost: tiledCost, tileTokens: TILES, steps: 34 },
  "as long as the tiles that it fills, and more with every token before it": {
    cost: (tokens, position) => tiledCost(tokens) + position / 250,
    tileTokens: TILES,
    steps: 60,
  },
};

for (const [name, { cost, tileTokens, steps }] of Object.entries(DEVICES)) {
  Deno.test(`a prompt of 4,000 tokens holds up seven streams by one chunk's time at most: a chunk takes ${name}`, async () => {
    const device = new TimedDevice(cost, () => DECODE_MS);
    const kvBlockManager = new KvBlockManager(1000, KV_BLOCK_TOKENS);
    const scheduler = new Scheduler(device, kvBlockManager, {
      maxRunning: 8,
      maxWaiting: 8,
      stepTokens: 2048,
      chunkMs: CHUNK_MS,
      tileTokens,
      now: () => device.now,
    });
    const streams = Array.from({ length: STREAMS }, (_, i) => sequence(4, 2000, 10_000 * (i + 1)));
    const long = sequence(PROMPT, 10, 5);
    scheduler.add(...streams);
    device.after = (ended) => {
      if (ended === 20) scheduler.add(long);
      if (long.state === "finished") streams.forEach((stream) => scheduler.cancel(stream));
    };
    await scheduler.idle();
    const chunks = device.steps.slice(21).filter(({ promptTokens }) => promptTokens > 0);
    assertEquals(chunks.reduce((sum, { promptTokens }) => sum + promptTokens, 0), PROMPT);
    for (const { streams, chunkMs } of chunks) {
      assertEquals(streams, STREAMS, "a stream was left out");
      assert(chunkMs <= CHUNK_MS, `a chunk took ${chunkMs} ms`);
    }
    assert(chunks.length <= steps, `the prompt took ${chunks.length} steps`);
  });
}

Deno.test("a sequence cancelled during a step has no part in the next, and its KV blocks are free by then", async () => {
  const device = new TimedDevice(() => 1, () => DECODE_MS);
  const kvBlockManager = new KvBlockManager(100, KV_BLOCK_TOKENS);
  const scheduler = new Scheduler(device, kvBlockManager, {
    maxRunning: 2,
    maxWaiting: 2,
    stepTokens: 256,
    chunkMs: CHUNK_MS,
    now: () => device.now,
  });
  const [first, second] = [sequence(40, 500, 10), sequence(40, 500, 1000)];
  scheduler.add(first, second);
  const free: number[] = [];
  device.after = (steps) => {
    free.push(kvBlockManager.freeKvBlocks);
    if (steps === 4) scheduler.cancel(first);
    if (steps === 8) scheduler.cancel(second);
  };
  await scheduler.idle();
  assertEquals(device.steps.map(({ streams }) => streams), [0, 2, 2, 2, 2, 1, 1, 1, 1]);
  assertEquals(free, [96, 96, 96, 96, 96, 98, 98, 98, 98]);
  assertEquals(kvBlockManager.freeKvBlocks, 100);
});
