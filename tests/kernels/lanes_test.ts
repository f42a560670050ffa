import { assert, assertEquals, assertThrows } from "@std/assert";
import type { StepSequence } from "../../engine/device/step_block.ts";
import { Lane, NONE } from "../../engine/device/structs.ts";
import { benchmark, type EngineOptions } from "../../engine/mod.ts";
import {
  answersAlone,
  BATCHED_TOKENS,
  request,
  tokensOf,
  withModel,
} from "../fixtures/batching.ts";
import { BACKEND, TestDevice } from "../fixtures/device_harness.ts";
import { cardOf } from "../fixtures/engine_fixture.ts";
import {
  smallModel,
  smallModelProgram,
  STATES,
  VOCAB,
  withStates,
} from "../fixtures/small_model.ts";

// Prompts computed concurrently with decoding: the bits are those of one after the other. The CPU has no such lanes.

function promptOf(count: number, first: number, kvBlock: number): StepSequence {
  const kvBlocks = Array.from({ length: Math.ceil(count / 4) }, (_, i) => kvBlock + i);
  return {
    tokens: Array.from({ length: count }, (_, i) => (first + 7 * i) % VOCAB),
    position: 0,
    kvBlocks: [kvBlocks],
    outputs: [{ row: count - 1, kind: "logits" }],
  };
}

if (BACKEND === "cpu") {
  Deno.test("a CPU refuses a program of the lane of prompts, as it has one lane", () => {
    const device = new TestDevice();
    const recipe = smallModel(device, device.cache({ n_layers: 2, n_kv_heads: 2, head_dim: 12 }));
    const limits = { ...recipe.limits, lane: Lane.prompts };
    assertThrows(
      () => device.program({ ...recipe, limits }),
      Error,
      "a program of lane 1: the CPU has lane 0 alone",
    );
    device.close();
  });
} else {
  Deno.test("a prompt has the same bits, whatever share of the device it takes", async () => {
    const device = new TestDevice();
    const { program } = smallModelProgram(device, 1);
    const logits = async (share: number) => {
      const { outputs } = await program.step([promptOf(40, 5, 0), promptOf(20, 9, 10)], share);
      return outputs.map(({ values }) => [...values!]);
    };
    const all = await logits(1);
    for (const share of [0.001, 0.01, 0.1]) assertEquals(await logits(share), all, `${share}`);
    device.close();
  });

  Deno.test("a prompt of a model with states has the same bits, and leaves the same states, whatever share of the device it takes", async () => {
    const device = new TestDevice();
    const layers = { n_layers: 2, n_kv_heads: 2, head_dim: 12, n_kv_blocks: 64 };
    const cache = device.cache({ ...layers, states: STATES, slots: 4 });
    const program = device.program(withStates(device, smallModel(device, cache)));
    const { slotBytes } = device.context.cacheBytes(cache.desc);
    const computed = async (share: number) => {
      const parts = [promptOf(40, 5, 0), promptOf(20, 9, 10), promptOf(3, 8, 20)];
      const { outputs } = await program.step(
        parts.map((part, to) => ({ ...part, states: { from: NONE, to } })),
        share,
      );
      const states = device.context.hostMemory(3 * slotBytes);
      await cache.save("slots", Uint32Array.of(0, 1, 2), states);
      return { logits: outputs.map(({ values }) => [...values!]), states: states.slice() };
    };
    const all = await computed(1);
    for (const share of [0.001, 0.01, 0.1]) assertEquals(await computed(share), all, `${share}`);
    device.close();
  });

  for (const deviceProcess of [false, true]) {
    const where = deviceProcess ? "in a process of its own" : "in this process";
    Deno.test(`prompts that are computed concurrently with decoding, ${where}, give each the tokens that it gets alone`, async () => {
      const alone = await answersAlone("llama", 12, 16);
      const options: EngineOptions = {
        parallel: 6,
        maxQueue: 64,
        deviceProcess,
        prefillShare: 0.05,
      };
      await withModel("llama", options, async (engine) => {
        // Steps that end while another runs have no gap before them.
        let beside = 0;
        engine.observer = {
          step: ({ gapMilliseconds }) => void (gapMilliseconds === undefined && beside++),
        };
        const among = await Promise.all(alone.map((_, i) => tokensOf(engine, request(i, 16))));
        assertEquals(among, alone);
        assert(beside > 3, `${beside} steps were concurrent with others`);
        await engine.idle();
        assertEquals(engine.status().usedKvBlocks, 0);
      });
    });
  }

  Deno.test("m40 bench times decode rows by the program that decodes, and prompts by that of prompts", async () => {
    await withModel("llama", { parallel: 2 }, async (engine) => {
      const { program, decodeProgram } = cardOf(engine);
      const rows: Record<string, number[]> = { prompts: [], decode: [] };
      for (const [name, one] of [["prompts", program], ["decode", decodeProgram!]] as const) {
        const step = one.step.bind(one);
        one.step = (sequences, share) => {
          rows[name].push(...sequences.map(({ tokens }) => tokens.length));
          return step(sequences, share);
        };
      }
      const plan = { prompts: [8], batches: [2], depths: [0], steps: 2, repetitions: 1 };
      for await (const _ of benchmark(engine, plan));
      assertEquals(new Set(rows.prompts), new Set([8]));
      assertEquals(new Set(rows.decode), new Set([1]));
    });
  });

  Deno.test("sequences that are preempted while prompts and decoding run concurrently come back, and no tokens change", async () => {
    const alone = await answersAlone("llama", 12, BATCHED_TOKENS);
    const options = {
      parallel: 8,
      maxQueue: 64,
      kvBlocks: 4,
      contextTokens: 128,
      hostCacheBytes: 2 ** 20,
    };
    await withModel("llama", options, async (engine) => {
      const among = await Promise.all(
        alone.map((_, i) => tokensOf(engine, request(i, BATCHED_TOKENS))),
      );
      assertEquals(among, alone);
      assert(engine.status().preemptions > 0, "no sequence was preempted");
    });
  });
}
