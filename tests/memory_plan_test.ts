import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import type { Context } from "../engine/device/context.ts";
import { KernelLibrary } from "../engine/device/library.ts";
import { M40Error } from "../engine/errors.ts";
import { planMemory, type PlanRequest } from "../engine/memory_plan.ts";
import { architectureOf } from "../engine/models/architecture.ts";
import { headerOf } from "./model_header.ts";

// What fits where, by models' shapes alone.

const GIB = 2 ** 30;

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

function plan(context: Context, type: string, request: Partial<PlanRequest>) {
  const gguf = headerOf("mistral-7b", type);
  const { program, shape } = architectureOf(gguf).read(gguf);
  const defaults = {
    kvType: "f16" as const,
    maxRunning: 4,
    outputs: 1,
    device: "cpu" as const,
    freeBytes: 24 * GIB,
  };
  return planMemory(context, program, shape, { ...defaults, ...request });
}

/** The error of a plan that does not fit. */
function refusal(context: Context, type: string, request: Partial<PlanRequest>): string {
  const error = assertThrows(() => plan(context, type, request), M40Error);
  assertEquals(error.code, "out_of_memory");
  return error.message;
}

Deno.test("a context that does not fit is refused with one that does, and that one is planned", () => {
  withContext((context) => {
    const freeBytes = 6 * GIB;
    const message = refusal(context, "Q4_K_M", { contextTokens: 32_768, freeBytes });
    assertMatch(
      message,
      /^the model needs \d+\.\d\d GiB with a context of 32768 tokens: weights 4\.07 GiB, KV cache 4\.00 GiB, activations 0\.\d\d GiB; 5\.75 GiB are free; a context of \d+ tokens would fit \(--ctx \d+\)$/,
    );
    const possible = Number(/--ctx (\d+)/.exec(message)![1]);
    const best = plan(context, "Q4_K_M", { contextTokens: possible, freeBytes });
    assert(best.totalBytes <= freeBytes);
    refusal(context, "Q4_K_M", { contextTokens: possible + 32, freeBytes });
    // Where no context is asked for, it becomes as long as there is room for, up to the default.
    const chosen = plan(context, "Q4_K_M", { freeBytes: 5 * GIB });
    assert(chosen.contextTokens < 8192 && chosen.contextTokens > 1024, `${chosen.contextTokens}`);
  });
});

Deno.test("a model whose weights do not fit is refused with the quantisation that would", () => {
  withContext((context) => {
    const f16 = refusal(context, "F16", { freeBytes: 8 * GIB });
    assertMatch(
      f16,
      /weights 13\.49 GiB,.*; 7\.75 GiB are free; quantised to Q6_K \(5\.\d\d GiB of weights\) it would fit, with a context of 8192 tokens$/,
    );
    assertMatch(
      refusal(context, "Q8_0", { freeBytes: 4 * GIB, contextTokens: 1024 }),
      /; quantised to Q3_K \(\d\.\d\d GiB of weights\) it would fit, with a context of 1024 tokens$/,
    );
    // With a shorter context than was asked for, where only that fits.
    assertMatch(
      refusal(context, "F16", { freeBytes: 3 * GIB, contextTokens: 32_768 }),
      /; quantised to Q2_K \(\d\.\d\d GiB of weights\) it would fit, with a context of 256 tokens$/,
    );
    assertMatch(
      refusal(context, "Q4_K_M", { freeBytes: 2 * GIB }),
      /; no quantisation of it would fit: a smaller model is needed$/,
    );
  });
});

Deno.test("on a GPU all that is left becomes KV pages; else there are as many as can be used", () => {
  withContext((context) => {
    const filled = plan(context, "Q4_K_M", { device: "gpu" });
    assert(filled.leftBytes >= GIB / 4 && filled.leftBytes < GIB / 4 + 8 * 2 ** 20);
    const useful = plan(context, "Q4_K_M", { contextTokens: 2048 });
    assertEquals(useful.pages, 4 * 2048 / useful.pageTokens);
    assertEquals(useful.totalBytes, useful.weightBytes + useful.cacheBytes + useful.programBytes);
  });
});
