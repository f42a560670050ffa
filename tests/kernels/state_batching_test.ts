import { assert, assertEquals } from "@std/assert";
import type { Engine, GenerateRequest } from "../../engine/mod.ts";
import { answersAlone, request, stress, tokensOf, withModel } from "../fixtures/batching.ts";

// Models that keep states: with delta nets, state spaces and short convolutions in addition to attention, and without
// attention.
const MODELS = ["qwen35", "granitehybrid", "lfm2", "mamba2"];
const MODEL = "qwen35";
const KV_BLOCK_TOKENS = 32;

/** A prompt of so many tokens; all are beginnings of the longest. */
const promptOf = (length: number) => Array.from({ length }, (_, i) => 20 + (i * 7 + i % 11) % 100);
const greedy = (prompt: readonly number[], maxTokens = 12): GenerateRequest => ({
  prompt: [...prompt],
  maxTokens,
  sampling: { temperature: 0 },
});

/** The logits of every position of a prompt, as evaluation computes them in steps of so many tokens. */
async function logitsIn(
  model: string,
  prompt: readonly number[],
  chunk: number,
): Promise<Float32Array[]> {
  return await withModel(model, { parallel: 1, logitsOutputs: chunk }, async (engine) => {
    const all: Float32Array[] = [];
    for await (const { logits } of engine.evaluate(prompt)) all.push(logits);
    return all;
  });
}

for (const model of MODELS) {
  Deno.test(`${model}: the logits of a prompt have the same bits in steps of 1, 7, 32, 64 and 512 tokens`, async () => {
    const prompt = promptOf(150);
    const whole = await logitsIn(model, prompt, 512);
    assertEquals(whole.length, prompt.length);
    for (const chunk of [1, 7, 32, 64]) {
      const logits = await logitsIn(model, prompt, chunk);
      logits.forEach((values, i) =>
        assertEquals(values, whole[i], `position ${i} in steps of ${chunk}`)
      );
    }
  });

  Deno.test(`${model}: requests get the tokens that each gets alone, with too few KV blocks and slots, with and without host memory`, async () => {
    const alone = await answersAlone(model, 24, 40);
    for (const hostCacheBytes of [0, 2 ** 22]) {
      const few = { kvBlocks: 6, stateSlots: 1, contextTokens: 128, hostCacheBytes };
      await withModel(model, { parallel: 8, maxQueue: 64, ...few }, async (engine) => {
        assertEquals(engine.plan.slots, 9);
        const among = await Promise.all(alone.map((_, i) => tokensOf(engine, request(i, 40))));
        assertEquals(among, alone);
        await engine.idle();
        const { preemptions, recomputations, usedKvBlocks, usedSlots } = engine.status();
        assertEquals([usedKvBlocks, usedSlots], [0, 0]);
        // Without attention, a sequence needs no KV block but that of its next token.
        assertEquals(preemptions > 0, model !== "mamba2", "sequences that were preempted");
        assertEquals(recomputations > 0, preemptions > 0 && hostCacheBytes === 0);
      });
    }
  });

  Deno.test(`${model}: a prompt continues from the last KV block border that another had, with the same answer`, async () => {
    const lengths = [31, 32, 33, 64, 65, 96, 97, 140];
    const alone = await withModel(model, { parallel: 1 }, async (engine) => {
      const answers = [];
      for (const length of lengths) answers.push(await tokensOf(engine, greedy(promptOf(length))));
      return answers;
    });
    await withModel(model, { parallel: 2, contextTokens: 256 }, async (engine) => {
      for (const [i, length] of lengths.entries()) {
        const before = engine.status().cachedTokens;
        assertEquals(await tokensOf(engine, greedy(promptOf(length))), alone[i]);
        const found = engine.status().cachedTokens - before;
        // A shorter one has left a state at its last border, where it may end.
        const known = lengths.slice(0, i).map((shorter) => lastBorder(shorter + 1));
        assertEquals(found, Math.max(0, ...known));
        // And it continues from its own, asked again.
        assertEquals(await tokensOf(engine, greedy(promptOf(length))), alone[i]);
        assertEquals(engine.status().cachedTokens - before - found, lastBorder(length));
      }
    });
  });
}

function lastBorder(length: number): number {
  return Math.floor((length - 1) / KV_BLOCK_TOKENS) * KV_BLOCK_TOKENS;
}

Deno.test("a conversation continues from the last KV block border of the previous answer", async () => {
  const first = greedy(promptOf(40), 60);
  const ask = async (engine: Engine) => {
    const answer = await tokensOf(engine, first);
    const next = greedy([...first.prompt as number[], ...answer, 5, 6, 7]);
    const before = engine.status();
    const tokens = await tokensOf(engine, next);
    return { tokens, cached: engine.status().cachedTokens - before.cachedTokens, answer };
  };
  const { cached, tokens, answer } = await withModel(MODEL, { parallel: 2 }, ask);
  // The last sampled token is not computed.
  assertEquals(cached, lastBorder(40 + answer.length));
  const again = await withModel(
    MODEL,
    { parallel: 1 },
    (engine) => tokensOf(engine, greedy([...first.prompt as number[], ...answer, 5, 6, 7])),
  );
  // The samples have the bits of decode rows in the one, of prompt rows in the other; greedy tokens agree.
  assertEquals(tokens, again);
});

Deno.test("n answers compute their prompt once, and each is what it would be alone", async () => {
  const asked = (seed: number): GenerateRequest => ({
    prompt: promptOf(70),
    maxTokens: 20,
    sampling: { temperature: 1, seed },
  });
  const seeds = [0, 1, 2, 3];
  const alone = await withModel(MODEL, { parallel: 1 }, async (engine) => {
    const answers = [];
    for (const seed of seeds) answers.push(await tokensOf(engine, asked(seed)));
    return answers;
  });
  await withModel(MODEL, { parallel: 4 }, async (engine) => {
    const answers = seeds.map((): number[] => []);
    await Promise.all(
      engine.generateAll(seeds.map(asked)).map(async (generation, i) => {
        for await (const { tokens } of generation) answers[i].push(...tokens.map((t) => t.token));
      }),
    );
    assertEquals(answers, alone);
    assertEquals(engine.status().promptTokens, 70 + 3);
    assertEquals(engine.status().usedSlots, 0);
  });
});

Deno.test("the log-probabilities of a text are the same whoever else is served, and its slots are given back", async () => {
  const text = promptOf(90);
  const score = (engine: Engine) => engine.score(text, { topLogprobs: 2 }).result;
  const alone = await withModel(MODEL, { parallel: 1 }, score);
  await withModel(MODEL, { parallel: 6, logitsOutputs: 20, stateSlots: 1 }, async (engine) => {
    const others = Array.from({ length: 6 }, (_, i) => tokensOf(engine, request(i, 40)));
    assertEquals(await score(engine), alone);
    await Promise.all(others);
    assertEquals(engine.status().usedSlots, 0);
  });
});

Deno.test("a disk cache is refused to a model without attention, saying why, and it is served without", async () => {
  const problems: string[] = [];
  const folder = await Deno.makeTempDir();
  const onProblem = (problem: string) => problems.push(problem);
  const options = { parallel: 1, diskCache: { folder, bytes: 2 ** 30, onProblem } };
  await withModel("mamba2", options, async (engine) => {
    const asked = greedy(promptOf(70));
    assertEquals(await tokensOf(engine, asked), await tokensOf(engine, asked));
    assertEquals(engine.status().disk, undefined);
  });
  assertEquals(problems.length, 1);
  assert(problems[0].includes("no attention"), problems[0]);
  await Deno.remove(folder, { recursive: true });
});

// More of them: M40_STRESS_REQUESTS=10000.
const STRESS_REQUESTS = Number(Deno.env.get("M40_STRESS_REQUESTS") ?? 200);

Deno.test(`${STRESS_REQUESTS} requests with random ends to a model with states lose no KV block, slot or token`, async () => {
  const few = { kvBlocks: 6, stateSlots: 16, contextTokens: 128, hostCacheBytes: 2 ** 17 };
  await stress(MODEL, STRESS_REQUESTS, few);
});
