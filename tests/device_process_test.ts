import { assert, assertEquals } from "@std/assert";
import { Engine, type EngineOptions } from "../engine/mod.ts";
import { BACKEND } from "./device_harness.ts";
import { asking, collect, promptOf, withEngine } from "./engine_fixture.ts";

// The device in a process of its own: that nobody can tell by what is computed.

/** What differs most in what goes over: caches of windows, experts, a latent cache, tied embeddings. */
const MODELS = ["llama", "gpt-oss", "gemma3", "deepseek2", "mixtral-moe"];

const folder = new URL("data/golden/", import.meta.url);

/** What an engine on a model answers, every bit of it. */
async function answers(path: string, options: EngineOptions): Promise<unknown[]> {
  const engine = await Engine.load(path, {
    device: BACKEND,
    threads: 1,
    logitsOutputs: 7,
    ...options,
  });
  const seen: unknown[] = [];
  try {
    for await (const { logits } of engine.evaluate(promptOf(20))) seen.push([...logits]);
    const sampling = { temperature: 0.8, seed: 7n, repetitionPenalty: 1.1 };
    for (const answers of [1, 3]) {
      const request = { prompt: promptOf(40, 1), maxTokens: 24, topLogprobs: 2, sampling };
      const generations = engine.generateAll(new Array(answers).fill(request));
      for (const generation of generations) seen.push(await collect(generation));
    }
  } finally {
    await engine.close();
  }
  return seen;
}

for (const name of MODELS) {
  Deno.test(`${name} in a process of its own gives the bits that it gives without`, async () => {
    const path = new URL(`${name}.gguf`, folder).pathname;
    const expected = await answers(path, {});
    assertEquals(await answers(path, { deviceProcess: true }), expected);
    assert(JSON.stringify(expected).length > 1000);
  });
}

Deno.test("pages that gave way come back bit for bit through memory that both processes have", async () => {
  const small = { parallel: 4, kvPages: 6, contextTokens: 128 };
  const run = (options: EngineOptions) =>
    withEngine({ ...small, ...options }, async (engine) => {
      const requests = [0, 1, 2, 3].map((i) => asking(promptOf(30 + i, i), 60));
      const answered = await Promise.all(requests.map((one) => collect(engine.generate(one))));
      return { answered, preemptions: engine.status().preemptions };
    });
  const expected = await run({});
  const { answered, preemptions } = await run({ deviceProcess: true });
  assertEquals(answered, expected.answered);
  assert(preemptions > 0, "nothing gave way");
});
