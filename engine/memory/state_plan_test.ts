import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import type { Context } from "../device/context.ts";
import { KernelLibrary } from "../device/library.ts";
import { M40Error } from "../errors.ts";
import { planMemory, type PlanRequest } from "./memory_plan.ts";
import { architectureOf } from "../models/architecture.ts";
import { usualParallel } from "./state_plan.ts";
import { headerOf } from "../../tests/fixtures/model_header.ts";

// What of models with states fits where, by their shapes alone.

const GIB = 2 ** 30;
/** What is free on a Tesla M40 of 12 and of 24 GB. */
const CARDS = { small: 11.2 * GIB, large: 22.5 * GIB };

const model = (name: string) => {
  const gguf = headerOf(name, "Q4_K_M");
  return architectureOf(gguf).read(gguf);
};
const [dense, experts] = [model("qwen3.5-9b"), model("qwen3.6-35b-a3b")];

function withContext(test: (context: Context) => void): void {
  const library = KernelLibrary.find("cpu");
  const context = library.createContext({ threads: 1 });
  try {
    test(context);
  } finally {
    context.close();
    library.close();
  }
}

function plan(context: Context, { program, shape }: typeof dense, request: Partial<PlanRequest>) {
  const defaults = {
    kvType: "f16" as const,
    maxRunning: 16,
    outputs: 1,
    device: "gpu" as const,
    freeBytes: CARDS.large,
  };
  return planMemory(context, program, shape, { ...defaults, ...request });
}

Deno.test("states of sixteen sequences and their KV blocks of 32k tokens are planned together, and all bytes counted", () => {
  withContext((context) => {
    const { program } = dense;
    const planned = plan(context, dense, { contextTokens: 32_768 });
    const { slots, stateBytes, cacheBytes, weightBytes, programBytes, totalBytes } = planned;
    assertEquals(planned.kvBlocks * planned.kvBlockTokens >= 8 * 32_768, true);
    assert(slots >= 17, `${slots} slots`);
    assertEquals(totalBytes, weightBytes + programBytes + cacheBytes + stateBytes);
    assertEquals(context.cacheBytes(planned.cache).bytes, cacheBytes + stateBytes);
    const floats = program.states.reduce((sum, values) => sum + values, 0);
    assert(
      Math.abs(stateBytes / (slots * floats * 4) - 1) < 0.01,
      "a slot holds the states and little else",
    );
    // The context costs what the few layers with attention keep of it.
    const short = plan(context, dense, { contextTokens: 1024, kvBlocks: 1, slots: 1 });
    const long = plan(context, dense, { contextTokens: 32_768, kvBlocks: 1, slots: 1 });
    assertEquals([short.slots, long.slots], [17, 17]);
    assertEquals(long.stateBytes, short.stateBytes);
    assertEquals(long.cacheBytes / short.cacheBytes, 32);
  });
});

Deno.test("by default, the states of running sequences leave most of a small card to KV blocks", () => {
  withContext((context) => {
    for (const [model, freeBytes] of [[dense, CARDS.small], [experts, CARDS.large]] as const) {
      const maxRunning = usualParallel(context, model.program, "gpu", freeBytes);
      assert(maxRunning >= 8 && maxRunning < 32, `${maxRunning} at once`);
      const { stateBytes, cacheBytes, totalBytes, slots } = plan(
        context,
        model,
        { maxRunning, freeBytes },
      );
      assert(slots > maxRunning + 1, "no state is kept for prompts to come");
      assert(stateBytes < cacheBytes && totalBytes <= freeBytes, `${stateBytes} of states`);
    }
    assertEquals(usualParallel(context, dense.program, "cpu", 100 * GIB), 4);
    assertEquals(usualParallel(context, dense.program, "gpu", GIB), 1);
  });
});

Deno.test("where states do not fit, the error says how many sequences would, and those are planned", () => {
  withContext((context) => {
    const tight = { maxRunning: 200, freeBytes: CARDS.small, contextTokens: 8192 };
    const { code, message } = assertThrows(() => plan(context, dense, tight), M40Error);
    assertEquals(code, "out_of_memory");
    assertMatch(
      message,
      /^the model needs [\d.]+ GiB with a context of 8192 tokens: weights [\d.]+ GiB, KV cache 0\.25 GiB, states 9\.\d\d GiB \(of 200 sequences at once\), activations [\d.]+ GiB; [\d.]+ GiB are free; with \d+ sequences at once it would fit \(--parallel \d+\)$/,
    );
    const possible = Number(/--parallel (\d+)/.exec(message)![1]);
    assert(plan(context, dense, { ...tight, maxRunning: possible }).totalBytes <= CARDS.small);
    assertThrows(() => plan(context, dense, { ...tight, maxRunning: possible + 1 }), M40Error);
    // Or a shorter context.
    const long = { maxRunning: 100, freeBytes: CARDS.small, contextTokens: 131_072 };
    const both = assertThrows(() => plan(context, dense, long), M40Error).message;
    assertMatch(
      both,
      /; a context of \d+ tokens would fit \(--ctx \d+\); with \d+ sequences at once it would fit \(--parallel \d+\)$/,
    );
  });
});
