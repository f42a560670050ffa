import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { Engine, GenerateRequest } from "../../engine/mod.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { loadEngine, withEngine } from "../fixtures/engine_fixture.ts";
import { golden } from "../fixtures/goldens.ts";
import { CONTEXT, WINDOW, writeWindowedModel } from "../fixtures/windowed_model.ts";

// A whole engine whose model has layers with windows: KV blocks behind windows are released, and no request's tokens
// change.

const FOLDER = await Deno.makeTempDir();
const MODEL = await writeWindowedModel(FOLDER);
globalThis.addEventListener("unload", () => Deno.removeSync(FOLDER, { recursive: true }));

const KV_BLOCK = 32;
/** A context that one step can fill, in which no KV block is ever behind a window while others are needed. */
const SHORT_CONTEXT = 256;

const OPTIONS = { path: MODEL, contextTokens: CONTEXT };

interface Answer {
  readonly tokens: number[];
  readonly logprobs: number[];
}

async function answerOf(
  engine: Engine,
  asked: GenerateRequest,
  each: (sampled: number) => void = () => {},
): Promise<Answer> {
  const answer: Answer = { tokens: [], logprobs: [] };
  for await (const { tokens } of engine.generate({ topLogprobs: 1, ...asked })) {
    for (const { token, logprob } of tokens) {
      answer.tokens.push(token);
      answer.logprobs.push(logprob!);
    }
    each(answer.tokens.length);
  }
  return answer;
}

/** A prompt of so many tokens; those of one `kind` begin alike. */
function promptOf(length: number, kind: number): number[] {
  return Array.from({ length }, (_, i) => 3 + (Math.imul(i + 1000 * kind, 2654435761) >>> 9) % 340);
}

/** Requests of all lengths; every third goes on from the one before it. */
function request(i: number): GenerateRequest {
  return {
    prompt: promptOf(20 + 97 * i % 600 + (i % 3 === 2 ? 60 : 0), i % 3 === 2 ? i - 1 : i),
    maxTokens: 30 + 41 * i % 150,
    sampling: i % 2 === 0 ? { temperature: 0 } : { temperature: 0.9, topP: 0.95, seed: i },
  };
}

/** What each of so many requests gets when it is served alone. */
async function answersAlone(
  count: number,
  request: (i: number) => GenerateRequest,
): Promise<Answer[]> {
  return await withEngine({ ...OPTIONS, parallel: 1 }, async (engine) => {
    const answers: Answer[] = [];
    for (let i = 0; i < count; i++) answers.push(await answerOf(engine, request(i)));
    return answers;
  });
}

Deno.test("KV blocks behind the windows are given back, and tokens and logits are those of a cache that keeps them", async () => {
  const asked: GenerateRequest = {
    prompt: promptOf(30, 1),
    maxTokens: SHORT_CONTEXT - 30,
    sampling: { temperature: 1, seed: 5 },
  };
  const kept = await withEngine({ ...OPTIONS, contextTokens: SHORT_CONTEXT }, async (engine) => {
    assertEquals(engine.plan.groups.length, 1);
    return await answerOf(engine, asked);
  });
  await using engine = await loadEngine(OPTIONS);
  assertEquals(engine.plan.groups.map(({ window }) => window), [WINDOW, WINDOW, 0]);
  let most = 0;
  const answer = await answerOf(engine, asked, () => {
    most = Math.max(most, ...engine.slots().map(({ kvBlocks }) => kvBlocks));
  });
  assertEquals(answer, kept);
  const whole = Math.ceil((30 + answer.tokens.length) / KV_BLOCK);
  assert(whole >= 5, `an answer of ${answer.tokens.length} tokens says little`);
  assert(most <= whole + 2 * (Math.ceil(WINDOW / KV_BLOCK) + 1), `${most} for ${whole} of tokens`);
});

Deno.test("the logits of a long text are those of one step, though windows pass over its start", async () => {
  const text = promptOf(SHORT_CONTEXT, 2);
  const evaluated = async (engine: Engine, tokens: readonly number[]) => {
    const rows: Uint32Array[] = [];
    for await (const { logits } of engine.evaluate(tokens)) {
      rows.push(new Uint32Array(logits.slice().buffer));
    }
    return rows;
  };
  const kept = await withEngine(
    { ...OPTIONS, contextTokens: SHORT_CONTEXT },
    (engine) => evaluated(engine, text),
  );
  await using engine = await loadEngine({ ...OPTIONS, logitsOutputs: 64 });
  const rows = await evaluated(engine, [...text, ...promptOf(CONTEXT - text.length, 3)]);
  assertEquals(rows.length, CONTEXT);
  kept.forEach((row, i) => assertEquals(rows[i], row, `position ${i}`));
  await engine.idle();
  assertEquals(engine.status().usedKvBlocks, 0);
  // Scored, in decode rows and several at once, they are the same but for rounding.
  const scored = await engine.score(text, { topLogprobs: 0 }).result;
  scored.forEach(({ token, logprob }, i) => {
    const logits = new Float32Array(rows[i].buffer);
    const sum = logits.reduce((sum, value) => sum + Math.exp(value - logits[token]), 0);
    assertAlmostEquals(logprob!, -Math.log(sum), 1e-3);
  });
});

Deno.test("requests of all lengths get the tokens that each gets alone, whatever else is served", async () => {
  const alone = await answersAlone(14, request);
  await using engine = await loadEngine({ ...OPTIONS, parallel: 8, maxQueue: 64 });
  const among = await Promise.all(alone.map((_, i) => answerOf(engine, request(i))));
  assertEquals(among, alone);
  await engine.idle();
  assertEquals(engine.status().usedKvBlocks, 0);
});

Deno.test("a KV cache that is too small changes no request's tokens, with and without host memory", async () => {
  // They come in with little and grow.
  const growing = (i: number): GenerateRequest => ({
    ...request(i),
    prompt: promptOf(20 + 13 * i % 90, i % 5),
    maxTokens: 150 + 37 * i % 200,
  });
  const alone = await answersAlone(10, growing);
  for (const hostCacheBytes of [0, 2 ** 21]) {
    // As many KV blocks as one sequence of the whole context takes.
    const options = { parallel: 8, maxQueue: 64, kvBlocks: 1 };
    await using engine = await loadEngine({ ...OPTIONS, ...options, hostCacheBytes });
    const among = await Promise.all(alone.map((_, i) => answerOf(engine, growing(i))));
    assertEquals(among, alone);
    await engine.idle();
    const { preemptions, recomputations, usedKvBlocks, running } = engine.status();
    assert(preemptions > 0, "no sequence was preempted");
    assertEquals(recomputations > 0, hostCacheBytes === 0);
    assertEquals([usedKvBlocks, running], [0, 0]);
  }
});

Deno.test("a prefix is found again after its KV blocks fell behind the windows, and where a conversation goes on", async () => {
  await using engine = await loadEngine({ ...OPTIONS, parallel: 2 });
  const prompt = promptOf(500, 7);
  const asked: GenerateRequest = { prompt, maxTokens: 120, sampling: { temperature: 0 } };
  const first = await answerOf(engine, asked);
  const found = async (request: GenerateRequest) => {
    const before = engine.status();
    const answer = await answerOf(engine, request);
    return { answer, tokens: engine.status().cachedTokens - before.cachedTokens };
  };
  // Its end was given back while the answer was sampled, and is published still.
  const again = await found(asked);
  assertEquals([again.answer, again.tokens], [first, 480]);
  const conversation = [...prompt, ...first.tokens, ...promptOf(50, 8)];
  const next = await found({ ...asked, prompt: conversation });
  assertEquals(next.tokens, Math.floor((500 + first.tokens.length - 1) / KV_BLOCK) * KV_BLOCK);
  // One with the same start that diverges early finds cached blocks inside it.
  const other = await found({ ...asked, prompt: [...prompt.slice(0, 200), ...promptOf(60, 9)] });
  assertEquals(other.tokens, 192);
  const fresh = await withEngine(
    { ...OPTIONS, parallel: 1 },
    (alone) => answerOf(alone, { ...asked, prompt: conversation }),
  );
  // On a GPU KV blocks that were decoded are those of a prompt but for rounding.
  if (BACKEND === "cpu") assertEquals(next.answer, fresh);
});

Deno.test("n answers to a prompt of many windows compute it once, each what it would be alone", async () => {
  const prompt = promptOf(330, 4);
  const asked = (seed: number): GenerateRequest => ({
    prompt,
    maxTokens: 90,
    sampling: { temperature: 1, seed },
    topLogprobs: 1,
  });
  const alone = await withEngine({ ...OPTIONS, parallel: 1 }, async (engine) => {
    const answers = [];
    for (let seed = 0; seed < 5; seed++) answers.push(await answerOf(engine, asked(seed)));
    return answers.map(({ tokens }) => tokens);
  });
  // With two slots, some are admitted when the first has left the end of the prompt far behind.
  for (const parallel of [2, 5]) {
    await using engine = await loadEngine({ ...OPTIONS, parallel });
    const generations = engine.generateAll(alone.map((_, seed) => asked(seed)));
    const answers = await Promise.all(generations.map(async (generation) => {
      const tokens: number[] = [];
      for await (const chunk of generation) tokens.push(...chunk.tokens.map((t) => t.token));
      return tokens;
    }));
    assertEquals(answers, alone);
    assert(engine.status().promptTokens <= 330 + 4 * (330 % KV_BLOCK));
  }
});

/** Models with windows of all kinds, and how many groups of layers they have then. */
const MODELS = {
  // Every fourth layer, every sixth, every other without a window; fewer without one than with.
  cohere2: 4,
  gemma3: 7,
  "gpt-oss": 2,
  olmo3: 4,
  // Heads of two sizes; the last layers attend to the K and V of others.
  gemma4: 3,
  "gemma4-e2b": 2,
};

for (const [name, groups] of Object.entries(MODELS)) {
  Deno.test(`${name}: a sequence that is preempted, shares a prefix or is far beyond its windows gets the tokens of a cache that keeps all`, async () => {
    const path = await writeWindowedModel(FOLDER, name);
    const asked = (i: number): GenerateRequest => ({
      prompt: [...promptOf(70, 0), ...promptOf(1 + 9 * i, 1 + i)],
      maxTokens: SHORT_CONTEXT - 80 - 9 * i,
      sampling: { temperature: 1, seed: i },
    });
    const requests = [0, 1, 2, 3].map(asked);
    const kept: Answer[] = [];
    await withEngine({ path, contextTokens: SHORT_CONTEXT }, async (engine) => {
      assertEquals(engine.plan.groups.length, 1);
      for (const request of requests) kept.push(await answerOf(engine, request));
    });
    for (const hostCacheBytes of [0, 2 ** 20]) {
      const options = { parallel: 4, contextTokens: CONTEXT, hostCacheBytes, kvBlocks: 1 };
      await using engine = await loadEngine({ path, ...options });
      assertEquals(engine.plan.groups.length, groups);
      const got = await Promise.all(requests.map((request) => answerOf(engine, request)));
      assertEquals(got, kept);
      await engine.idle();
      assertEquals(engine.status().usedKvBlocks, 0);
    }
  });
}

Deno.test("a latent cache: its KV blocks are shared, saved, restored and computed again, and no request's tokens change", async () => {
  const path = golden("deepseek2");
  const asked = (i: number): GenerateRequest => ({
    prompt: [...promptOf(70, i % 3), ...promptOf(1 + 5 * i, 1 + i)],
    maxTokens: 110,
    sampling: { temperature: 1, seed: i },
  });
  const requests = Array.from({ length: 8 }, (_, i) => asked(i));
  const alone: Answer[] = [];
  await withEngine({ path, parallel: 1 }, async (engine) => {
    // K of 40 values in 3 layers, and no V: F16.
    assertEquals(engine.plan.cacheBytes / engine.plan.kvBlocks, 3 * 40 * 2 * KV_BLOCK);
    for (const request of requests) alone.push(await answerOf(engine, request));
  });
  for (const hostCacheBytes of [0, 2 ** 20]) {
    await using engine = await loadEngine({ path, parallel: 4, hostCacheBytes, kvBlocks: 1 });
    const got = await Promise.all(requests.map((request) => answerOf(engine, request)));
    assertEquals(got, alone);
    await engine.idle();
    const { preemptions, recomputations, cachedTokens, usedKvBlocks } = engine.status();
    assert(preemptions > 0 && cachedTokens > 0);
    assertEquals([recomputations > 0, usedKvBlocks], [hostCacheBytes === 0, 0]);
  }
});
