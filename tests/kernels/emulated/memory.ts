import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { KernelLibrary } from "../../../engine/device/library.ts";
import type { StepSequence } from "../../../engine/device/step_block.ts";
import { MOST_FORBIDDEN } from "../../../engine/device/step_block.ts";
import { GREEDY, MAX_TOKEN_BIASES } from "../../../engine/device/step_sampling.ts";
import { TokenCounts } from "../../../engine/device/token_counts.ts";
import { Engine } from "../../../engine/mod.ts";
import { planMemory } from "../../../engine/memory/memory_plan.ts";
import { architectureOf } from "../../../engine/models/architecture.ts";
import { cardOf } from "../../fixtures/engine_fixture.ts";
import { golden } from "../../fixtures/goldens.ts";
import { headerOf } from "../../fixtures/model_header.ts";

// The device's memory. Run by slow/emulated_test.ts: only the emulated device counts its allocations.

/** One without states, and one with. */
const MODELS = ["llama", "qwen35"];

/** Allocations of device memory and of page-locked memory so far. */
function countAllocations(): number {
  const library = Deno.dlopen(Deno.env.get("M40_KERNELS")!, {
    m40_emulation_allocations: { parameters: [], result: "u64" },
  });
  const count = Number(library.symbols.m40_emulation_allocations());
  library.close();
  return count;
}

for (const name of MODELS) {
  Deno.test(`${name}: the largest step that a model is loaded for allocates nothing, though it is the first`, async () => {
    await using engine = await Engine.load(golden(name), { device: "emulated", parallel: 4 });
    const loaded = countAllocations();
    const { limits, kvBlockTokens } = engine.plan;
    const tokens = (n: number) => Array.from({ length: n }, (_, i) => (7 * i) % limits.n_vocab);
    const sampling = {
      ...GREEDY,
      topLogprobs: 20,
      repetitionPenalty: 1.1,
      tokenCounts: new TokenCounts(tokens(engine.contextTokens).map((token) => [token, 1])),
      tokenBiases: new Map(
        Array.from(
          { length: Math.min(2 * MAX_TOKEN_BIASES, limits.n_vocab) },
          (_, token) => [token, 1],
        ),
      ),
      forbidden: new Set(tokens(MOST_FORBIDDEN)),
      mask: new Uint32Array(Math.ceil(limits.n_vocab / 32)).fill(0xFFFFFFFF),
    };
    await engine.exclusive(async (device) => {
      const kvBlocks = device.allocate(limits.n_sequences * limits.n_sequence_kv_blocks)!;
      const sequence = (index: number, n: number, decode: boolean): StepSequence => ({
        tokens: tokens(n),
        position: limits.n_sequence_kv_blocks * kvBlockTokens - n,
        kvBlocks: [
          kvBlocks.slice(index * limits.n_sequence_kv_blocks).slice(
            0,
            limits.n_sequence_kv_blocks,
          ),
        ],
        states: device.slots && { from: index, to: index },
        outputs: tokens(n).flatMap((_, row) => decode || row === n - 1 ? [{ row, sampling }] : []),
        decode,
      });
      // What a step gives beyond one output a sequence is wanted of rows of drafts.
      const others = limits.n_sequences - 1;
      const drafts = limits.n_outputs - limits.n_sequences;
      const decoding = Array.from(
        { length: others },
        (_, i) => sequence(i, 1 + Math.floor((drafts + i) / others), true),
      );
      const prompt = sequence(others, limits.n_tokens - others - drafts, false);
      const { outputs } = await device.step([...decoding, prompt]);
      assertEquals(outputs.length, limits.n_outputs);
      assertEquals(
        cardOf(engine).program["block"].length,
        Number(limits.step_bytes),
        "the largest",
      );
      device.release(kvBlocks);
    });
    assertEquals(countAllocations(), loaded);
  });

  Deno.test(`${name}: nothing is allocated on the device after a model is loaded, whatever is served`, async () => {
    const before = countAllocations();
    // Few KV blocks, so that sequences are preempted and come back.
    await using engine = await Engine.load(golden(name), {
      device: "emulated",
      parallel: 6,
      kvBlocks: 6,
    });
    const loaded = countAllocations();
    assertGreater(loaded, before);
    const prompt = (n: number) => Array.from({ length: n }, (_, i) => 30 + (i * 7 + n) % 300);
    const sampling = { temperature: 0.8, topK: 40, repetitionPenalty: 1.1, seed: 3 };
    const requests = [1, 2, 17, 33, 40, 65].map((length) => ({
      prompt: prompt(length),
      maxTokens: 60,
      sampling,
      topLogprobs: length === 17 ? 5 : undefined,
    }));
    // Two answers to one prompt copy a KV block.
    const generations = engine.generateAll([...requests, requests[3]]);
    for (const generation of generations) for await (const _ of generation);
    for await (const _ of engine.evaluate(prompt(50)));
    await engine.deviceState();
    const { preemptions, generatedTokens } = engine.status();
    assert(preemptions > 0 && generatedTokens >= 7 * 10, `${preemptions}, ${generatedTokens}`);
    assertEquals(countAllocations(), loaded);
  });
}

for (const type of ["Q4_K_M", "Q8_0", "F16"]) {
  Deno.test(`a 7B model in ${type} takes 24 GB for weights, KV cache and at most 400 MB more`, async () => {
    const gguf = headerOf("mistral-7b", type);
    const fileBytes = gguf.tensors.values().reduce((sum, { bytes }) => sum + bytes, 0);
    await using library = KernelLibrary.find("emulated");
    using context = library.createContext();
    const { program, shape } = architectureOf(gguf).read(gguf);
    const freeBytes = 22.5 * 2 ** 30;
    const plan = planMemory(context, program, shape, {
      kvType: "f16",
      maxRunning: 32,
      outputs: 1,
      device: "gpu",
      freeBytes,
    });
    // Repacking may pad, though not by much.
    assertLess(plan.weightBytes, 1.01 * fileBytes);
    // The driver's own share (about 100 MB on that card) is in the 400 MB too.
    assertEquals(plan.limits.n_tokens, 512);
    assertLess(plan.programBytes, 200e6);
    assertGreater(plan.kvBlocks * plan.kvBlockTokens, 32 * 1024);
    assertEquals(plan.totalBytes, plan.weightBytes + plan.cacheBytes + plan.programBytes);
    assert(plan.totalBytes <= freeBytes);
  });
}
