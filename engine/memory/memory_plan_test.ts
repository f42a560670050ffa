import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import type { Context } from "../device/context.ts";
import { KernelLibrary } from "../device/library.ts";
import { M40Error } from "../errors.ts";
import { planMemory, type PlanRequest } from "./memory_plan.ts";
import { architectureOf } from "../models/architecture.ts";
import type { Model } from "../models/model.ts";
import { headerOf } from "../../tests/fixtures/model_header.ts";

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

const models = new Map<string, Model>();

/** A model of a shape, read once. */
function modelOf(name: string, type: string): Model {
  const key = `${name} ${type}`;
  const known = models.get(key);
  if (known) return known;
  const gguf = headerOf(name, type);
  const model = architectureOf(gguf).read(gguf);
  models.set(key, model);
  return model;
}

function plan(
  context: Context,
  type: string,
  request: Partial<PlanRequest>,
  model = "mistral-7b",
) {
  const { program, shape } = modelOf(model, type);
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
    // Where no context is asked for, it becomes as long as there is room for.
    const chosen = plan(context, "Q4_K_M", { freeBytes: 5 * GIB });
    assert(chosen.contextTokens < 8192 && chosen.contextTokens > 1024, `${chosen.contextTokens}`);
  });
});

Deno.test("on a GPU a context that is not asked for is all that the model was trained for, or that fits", () => {
  withContext((context) => {
    const gpu = { device: "gpu" as const };
    assertEquals(plan(context, "Q4_K_M", gpu).contextTokens, 32_768);
    const freeBytes = 6.5 * GIB;
    const { contextTokens, mostContextTokens } = plan(context, "Q4_K_M", { ...gpu, freeBytes });
    assert(contextTokens > 8192 && contextTokens < 32_768, `${contextTokens}`);
    assertEquals(contextTokens, mostContextTokens);
    refusal(context, "Q4_K_M", { ...gpu, freeBytes, contextTokens: contextTokens + 32 });
    // What came with the model goes before that, and what is asked for before both.
    const usualTokens = 2048;
    assertEquals(plan(context, "Q4_K_M", { ...gpu, usualTokens }).contextTokens, 2048);
    const asked = plan(context, "Q4_K_M", { ...gpu, usualTokens, contextTokens: 4096 });
    assertEquals(asked.contextTokens, 4096);
    // States kept for later prompts also fit.
    const states = plan(context, "Q4_K_M", { ...gpu, freeBytes: 26 * GIB }, "qwen3.6-35b-a3b");
    assert(states.contextTokens > 8192, `${states.contextTokens}`);
    assert(states.slots > 8, `${states.slots} slots of 4 sequences`);
  });
});

Deno.test("on the CPU a context that is not asked for takes a quarter of the memory without the weights, or 8192 tokens", () => {
  withContext((context) => {
    const model = "llama-3.1-8b";
    let before = 0;
    for (const gib of [8, 12, 16, 24, 32, 64, 128]) {
      const freeBytes = gib * GIB;
      const got = plan(context, "Q4_K_M", { freeBytes }, model);
      const usable = freeBytes - GIB / 4 - got.weightBytes;
      const quarter = usable / 4;
      assert(got.contextTokens >= 8192, `${gib} GiB: ${got.contextTokens} tokens`);
      if (got.contextTokens > 8192) assert(got.cacheBytes <= Math.max(quarter, 4 * GIB));
      else assert(got.cacheBytes <= 4 * GIB, "as many as four sequences of 8192 tokens have");
      assert(got.contextTokens >= before);
      before = got.contextTokens;
      // A wanted context may take more.
      const asked = plan(context, "Q4_K_M", {
        freeBytes,
        contextTokens: got.mostContextTokens,
      }, model);
      assert(asked.contextTokens > got.contextTokens || got.contextTokens === 131_072);
    }
    assertEquals(before, 131_072, "all that it was trained for, where a quarter is enough");
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

Deno.test("on a GPU all that is left becomes KV blocks; else there are as many as can be used", () => {
  withContext((context) => {
    const filled = plan(context, "Q4_K_M", { device: "gpu" });
    assert(filled.leftBytes >= GIB / 4 && filled.leftBytes < GIB / 4 + 8 * 2 ** 20);
    const useful = plan(context, "Q4_K_M", { contextTokens: 2048 });
    assertEquals(useful.kvBlocks, 4 * 2048 / useful.kvBlockTokens);
    assertEquals(useful.totalBytes, useful.weightBytes + useful.cacheBytes + useful.programBytes);
  });
});

Deno.test("of a share of a GPU two models fit together; one with too little room for a context is refused", () => {
  withContext((context) => {
    const half = { device: "gpu" as const, freeBytes: 12 * GIB, leastTokens: 4096 };
    const { contextTokens, totalBytes } = plan(context, "Q4_K_M", half);
    assert(contextTokens >= 4096 && totalBytes <= 12 * GIB, `${contextTokens}, ${totalBytes}`);
    const tight = { ...half, freeBytes: 4.6 * GIB };
    assertMatch(refusal(context, "Q4_K_M", tight), /the model needs/);
    assert(plan(context, "Q4_K_M", { ...tight, leastTokens: undefined }).contextTokens < 4096);
    // What is asked for goes before what is worth having.
    assertEquals(plan(context, "Q4_K_M", { ...tight, contextTokens: 512 }).contextTokens, 512);
  });
});

Deno.test("the KV cache of 32k tokens of models with windows takes within 5% of what the windows allow", () => {
  withContext((context) => {
    const contextTokens = 32_768;
    for (const [model, type] of [["gpt-oss-20b", "MXFP4"], ["gemma3-12b", "Q4_K_M"]]) {
      const { cacheLayers } = modelOf(model, type).program;
      const allowed = (tokens: (window: number) => number) =>
        cacheLayers.reduce((sum, { kvHeads, headDim, valueDim, window }) => {
          const kept = window === 0 ? contextTokens : tokens(window);
          return sum + kvHeads * (headDim + valueDim) * 2 * kept;
        }, 0);
      for (const [maxRunning, device] of [[1, "cpu"], [8, "cpu"], [1, "gpu"]] as const) {
        const request = { contextTokens, maxRunning, device, freeBytes: 80 * GIB };
        // On a GPU what is left becomes KV blocks: as few as one sequence needs.
        const kvBlocks = device === "gpu" ? { kvBlocks: 1 } : {};
        const { cacheBytes, limits } = plan(context, type, { ...request, ...kvBlocks }, model);
        // All sequences together compute a step's tokens in addition to what their windows show.
        const wanted = allowed((window) => window + limits.n_tokens / maxRunning) * maxRunning;
        const share = cacheBytes / wanted;
        assert(share >= 1 && share < 1.05, `${model}, ${maxRunning} at once: ${share}`);
      }
      // Eight sequences, whatever a step takes: the windows alone.
      const eight = plan(
        context,
        type,
        { contextTokens, maxRunning: 8, freeBytes: 80 * GIB },
        model,
      );
      const share = eight.cacheBytes / allowed((window) => window) / 8;
      assert(share < 1.05, `${model}: ${share} of its windows`);
    }
  });
});

Deno.test("with windows, a context that is four times as long is not four times as dear, and fits", () => {
  withContext((context) => {
    const request = { maxRunning: 1, freeBytes: 15 * GIB, kvBlocks: 1 };
    const short = plan(context, "MXFP4", { ...request, contextTokens: 8192 }, "gpt-oss-20b");
    const long = plan(context, "MXFP4", { ...request, contextTokens: 32_768 }, "gpt-oss-20b");
    assert(long.cacheBytes < 3.9 * short.cacheBytes, `${long.cacheBytes / short.cacheBytes}`);
    assertEquals(short.groups.length, 2);
    // What is refused names one that is planned.
    const tight = { ...request, freeBytes: short.totalBytes + GIB / 4 };
    const error = assertThrows(
      () => plan(context, "MXFP4", { ...tight, contextTokens: 32_768 }, "gpt-oss-20b"),
      M40Error,
    );
    const possible = Number(/--ctx (\d+)/.exec(error.message)![1]);
    assert(possible >= 8192, error.message);
    plan(context, "MXFP4", { ...tight, contextTokens: possible }, "gpt-oss-20b");
  });
});
