import { assert, assertEquals } from "@std/assert";
import type { GenerateRequest } from "../../engine/mod.ts";
import {
  answersAlone,
  BATCHED_TOKENS,
  request,
  stress,
  tokensOf,
  withModel,
} from "../fixtures/batching.ts";
import { writeQuantised } from "../fixtures/quantised_model.ts";
import { TemporaryFile } from "../fixtures/temporary.ts";

const MODEL = "llama";

Deno.test("64 requests get the tokens that each gets alone, served sixteen at a time", async () => {
  const alone = await answersAlone(MODEL, 64, BATCHED_TOKENS);
  await withModel(MODEL, { parallel: 16, maxQueue: 64 }, async (engine) => {
    const among = await Promise.all(
      alone.map((_, i) => tokensOf(engine, request(i, BATCHED_TOKENS))),
    );
    assertEquals(among, alone);
    await engine.idle();
    assertEquals(engine.status().usedKvBlocks, 0);
  });
});

Deno.test("a KV cache that is far too small changes nobody's tokens, with and without host memory", async () => {
  const alone = await answersAlone(MODEL, 48, BATCHED_TOKENS);
  for (const hostCacheBytes of [0, 2 ** 20]) {
    await withModel(
      MODEL,
      { parallel: 12, maxQueue: 64, kvBlocks: 6, hostCacheBytes },
      async (engine) => {
        const among = await Promise.all(
          alone.map((_, i) => tokensOf(engine, request(i, BATCHED_TOKENS))),
        );
        assertEquals(among, alone);
        await engine.idle();
        const { preemptions, recomputations, usedKvBlocks } = engine.status();
        assert(preemptions > 0, "no sequence was preempted");
        assertEquals(recomputations > 0, hostCacheBytes === 0);
        assertEquals(usedKvBlocks, 0);
      },
    );
  }
});

Deno.test("a prompt that was seen before is not computed again", async () => {
  await withModel(MODEL, { parallel: 4, contextTokens: 128 }, async (engine) => {
    const prompt = Array.from({ length: 100 }, (_, i) => 10 + i);
    const asked: GenerateRequest = { prompt, maxTokens: 8, sampling: { temperature: 0 } };
    const first = await tokensOf(engine, asked);
    const before = engine.status();
    assertEquals(await tokensOf(engine, asked), first);
    const after = engine.status();
    assertEquals(after.cachedTokens - before.cachedTokens, 96);
    assertEquals(after.promptTokens - before.promptTokens, 4);
  });
});

Deno.test("n answers to one prompt compute it once, and each is what it would be alone", async () => {
  const prompt = Array.from({ length: 64 }, (_, i) => 30 + i);
  const asked = (seed: number): GenerateRequest => ({
    prompt,
    maxTokens: 20,
    sampling: { temperature: 1, seed },
  });
  const alone = await withModel(MODEL, { parallel: 1 }, async (engine) => {
    const answers = [];
    for (let seed = 0; seed < 4; seed++) answers.push(await tokensOf(engine, asked(seed)));
    return answers;
  });
  await withModel(MODEL, { parallel: 4 }, async (engine) => {
    const answers = alone.map((): number[] => []);
    await Promise.all(
      engine.generateAll(alone.map((_, seed) => asked(seed))).map(async (generation, i) => {
        for await (const { tokens } of generation) answers[i].push(...tokens.map((t) => t.token));
      }),
    );
    assertEquals(answers, alone);
    assertEquals(engine.status().promptTokens, 64 + 3);
  });
});

// More of them: M40_STRESS_REQUESTS=10000.
const STRESS_REQUESTS = Number(Deno.env.get("M40_STRESS_REQUESTS") ?? 600);

Deno.test(`${STRESS_REQUESTS} requests with random ends lose no KV block, and no token is lost or sent twice`, async () => {
  await stress(MODEL, STRESS_REQUESTS, { kvBlocks: 6, hostCacheBytes: 8 * 2 ** 10 });
});

for (const name of ["llama", "qwen3moe", "granitehybrid-moe"]) {
  Deno.test(`${name} in Q4_0, in packed arithmetic: requests get the tokens that each gets alone, with too few KV blocks, with and without host memory, and when clients leave`, async () => {
    using file = new TemporaryFile(".gguf");
    await writeQuantised(name, file.path);
    const packed = { arithmetic: "packed", contextTokens: 128 } as const;
    const alone = await answersAlone(file.path, 48, BATCHED_TOKENS, packed);
    const exact = await answersAlone(file.path, 8, BATCHED_TOKENS);
    assert(exact.some((tokens, i) => tokens.join() !== alone[i].join()), "exact arithmetic's");
    for (const hostCacheBytes of [0, 2 ** 22]) {
      const few = { ...packed, kvBlocks: 6, stateSlots: 1, hostCacheBytes };
      await withModel(file.path, { parallel: 12, maxQueue: 64, ...few }, async (engine) => {
        const among = await Promise.all(
          alone.map((_, i) => tokensOf(engine, request(i, BATCHED_TOKENS))),
        );
        assertEquals(among, alone);
        await engine.idle();
        assert(engine.status().preemptions > 0, "no sequence was preempted");
      });
    }
    await stress(file.path, 120, { ...packed, kvBlocks: 6, hostCacheBytes: 8 * 2 ** 10 });
  });
}
