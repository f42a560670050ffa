import { assert, assertEquals } from "@std/assert";
import { Engine, type EngineOptions, type GenerateRequest } from "../engine/mod.ts";
import { BACKEND } from "./device_harness.ts";

const GOLDEN = new URL("data/golden/llama.gguf", import.meta.url).pathname;

/** Numbers that are the same in every run (Numerical Recipes' LCG). */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

/** The i-th of many different requests; some begin alike. */
function request(i: number, maxTokens: number): GenerateRequest {
  const random = generator(i + 1);
  const common = Array.from({ length: 8 * (i % 5) }, (_, n) => 20 + (n * 7 + i % 3) % 300);
  const own = Array.from({ length: 1 + random(24) }, () => 3 + random(340));
  const sampled = i % 2 === 1;
  return {
    prompt: [...common, ...own],
    maxTokens: 1 + random(maxTokens),
    sampling: sampled
      ? { temperature: 0.9, topK: 50, topP: 0.95, seed: i, repetitionPenalty: 1.1 }
      : { temperature: 0 },
    topLogprobs: i % 7 === 0 ? 3 : undefined,
  };
}

async function tokensOf(engine: Engine, asked: GenerateRequest): Promise<number[]> {
  const tokens: number[] = [];
  let finished = false;
  for await (const chunk of engine.generate(asked)) {
    tokens.push(...chunk.tokens.map(({ token }) => token));
    finished ||= chunk.finishReason !== undefined;
  }
  assert(finished, "the generation ended before it was complete");
  return tokens;
}

async function withEngine<T>(options: EngineOptions, work: (engine: Engine) => Promise<T>) {
  const engine = await Engine.load(GOLDEN, { device: BACKEND, threads: 1, ...options });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

async function answersAlone(count: number, maxTokens: number): Promise<number[][]> {
  return await withEngine({ parallel: 1 }, async (engine) => {
    const answers: number[][] = [];
    for (let i = 0; i < count; i++) answers.push(await tokensOf(engine, request(i, maxTokens)));
    return answers;
  });
}

Deno.test("64 requests get the tokens that each gets alone, served sixteen at a time", async () => {
  const alone = await answersAlone(64, 60);
  await withEngine({ parallel: 16, maxQueue: 64 }, async (engine) => {
    const among = await Promise.all(alone.map((_, i) => tokensOf(engine, request(i, 60))));
    assertEquals(among, alone);
    assertEquals(engine.status().usedPages, 0);
  });
});

Deno.test("a KV cache that is far too small changes nobody's tokens, with and without host memory", async () => {
  const alone = await answersAlone(48, 60);
  for (const hostCacheBytes of [0, 2 ** 20]) {
    await withEngine({ parallel: 12, maxQueue: 64, kvPages: 6, hostCacheBytes }, async (engine) => {
      const among = await Promise.all(alone.map((_, i) => tokensOf(engine, request(i, 60))));
      assertEquals(among, alone);
      const { preemptions, recomputations, usedPages } = engine.status();
      assert(preemptions > 0, "nobody gave way");
      assertEquals(recomputations > 0, hostCacheBytes === 0);
      assertEquals(usedPages, 0);
    });
  }
});

Deno.test("a prompt that was seen before is not computed again", async () => {
  await withEngine({ parallel: 4, contextTokens: 128 }, async (engine) => {
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
  const alone = await withEngine({ parallel: 1 }, async (engine) => {
    const answers = [];
    for (let seed = 0; seed < 4; seed++) answers.push(await tokensOf(engine, asked(seed)));
    return answers;
  });
  await withEngine({ parallel: 4 }, async (engine) => {
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

Deno.test(`${STRESS_REQUESTS} requests with random ends lose no page, and no token is lost or sent twice`, async () => {
  const kinds = 40;
  const alone = await answersAlone(kinds, 40);
  const options = { parallel: 12, maxQueue: 200, kvPages: 6, hostCacheBytes: 8 * 2 ** 10 };
  await withEngine(options, async (engine) => {
    const random = generator(99);
    let next = 0;
    let aborted = 0;
    const client = async () => {
      while (next < STRESS_REQUESTS) {
        const i = next++ % kinds;
        const cut = random(4) === 0 ? 1 + random(12) : Infinity;
        const got: number[] = [];
        const controller = new AbortController();
        const before = random(10) === 0;
        const generation = engine.generate({ ...request(i, 40), signal: controller.signal });
        if (before) controller.abort();
        for await (const { tokens } of generation) {
          got.push(...tokens.map(({ token }) => token));
          if (got.length >= cut) {
            if (random(2) === 0) break;
            controller.abort();
          }
        }
        if (before || cut !== Infinity) {
          aborted++;
          assertEquals(got, alone[i].slice(0, got.length));
        } else assertEquals(got, alone[i]);
      }
    };
    await Promise.all(Array.from({ length: 30 }, client));
    const { usedPages, preemptions, cachedTokens, running, waiting } = engine.status();
    assertEquals({ usedPages, running, waiting }, { usedPages: 0, running: 0, waiting: 0 });
    console.log(JSON.stringify({ aborted, preemptions, cachedTokens }));
    assert(preemptions > 0 && cachedTokens > 0 && aborted > 0);
  });
});
