// Engine.score: the log-probabilities of a text's tokens.
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { M40Error } from "../../engine/mod.ts";
import {
  asking,
  collect,
  limitSteps,
  loadEngine,
  nextStep,
  POISON,
  promptOf,
  withEngine,
  withPoison,
} from "../fixtures/engine_fixture.ts";
import { sleep } from "../fixtures/waiting.ts";

/** The error that a promise rejects with. */
async function codeOf(promise: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => promise, M40Error)).code;
}

Deno.test("a text's tokens are scored several a step where no other sequence needs the outputs", async () => {
  await using engine = await loadEngine({ parallel: 8 });
  const tokens = promptOf(65);
  const scored = await engine.score(tokens, { topLogprobs: 3 }).result;
  assertEquals(scored.map(({ token }) => token), tokens.slice(1));
  assert(scored.every(({ logprob, top }) => logprob! <= 0 && top!.length === 3));
  await engine.idle();
  const { steps, generatedTokens, usedKvBlocks } = engine.status();
  // The first token by itself, then one output for each position and some for drafts: 24 a step on the CPU, fewer
  // where the device knows how long each number of them takes.
  assert(steps < 64 / 8, `${steps} steps`);
  assertEquals([generatedTokens, usedKvBlocks], [64, 0]);
});

Deno.test("scores are bit for bit the same alone, concurrently with others, and after preemption", async () => {
  const tokens = promptOf(100);
  const wanted = await withEngine(
    { parallel: 4 },
    async (engine) => (await engine.score(tokens, { topLogprobs: 2 }).result),
  );
  await using engine = await loadEngine({ parallel: 4, kvBlocks: 6 });
  const others = [1, 2, 3].map((seed) => collect(engine.generate(asking(promptOf(20, seed), 90))));
  const scorings = [1, 2].map(() => engine.score(tokens, { topLogprobs: 2 }).result);
  for (const result of scorings) assertEquals(await result, wanted);
  for (const other of others) assertEquals((await other).tokens.length, 90);
  assert(engine.status().preemptions > 0, "the KV cache was too small for all");
  await engine.idle();
  assertEquals(engine.status().usedKvBlocks, 0);
});

Deno.test("others get what they get without a concurrent scoring", async () => {
  const request = asking(promptOf(10, 3), 60);
  const alone = await withEngine({ parallel: 3 }, (engine) => collect(engine.generate(request)));
  await using engine = await loadEngine({ parallel: 3 });
  const scoring = engine.score(promptOf(120), { topLogprobs: 0 });
  const concurrent = collect(engine.generate(request));
  assertEquals(await concurrent, alone);
  await scoring.result;
});

Deno.test("a text of one token has nothing to score; none and unknown ones are refused", async () => {
  await using engine = await loadEngine();
  assertEquals(await engine.score([5], { topLogprobs: 0 }).result, []);
  for (const tokens of [[], [352], [-1], [1.5]]) {
    assertThrows(() => engine.score(tokens, { topLogprobs: 0 }), M40Error, "wanted");
  }
  assertThrows(() => engine.score([5, 6], { topLogprobs: 21 }), M40Error, "logprobs");
  const long = promptOf(200);
  const error = assertThrows(() => engine.score(long, { topLogprobs: 0 }), M40Error);
  assertEquals(error.code, "context_length_exceeded");
  assertEquals(engine.status().waiting, 0);
});

Deno.test("a scoring ends early: cancelled, by its signal, or at its deadline", async () => {
  await using engine = await loadEngine({ parallel: 1 });
  limitSteps(engine, 1);
  // However fast the machine is, a text takes longer than a deadline of a millisecond.
  const device = engine["idlest"].scheduler["device"];
  const compute = device.step.bind(device);
  device.step = (...step) => sleep(1).then(() => compute(...step));
  const tokens = promptOf(120);
  const options = { topLogprobs: 0 };
  const cancelled = engine.score(tokens, options);
  await nextStep(engine);
  assertEquals(engine.slots()[0].generatedTokens > 0, true);
  cancelled.cancel();
  assertEquals(await codeOf(cancelled.result), "cancelled");
  const controller = new AbortController();
  const { signal } = controller;
  const aborted = engine.score(tokens, { ...options, signal });
  await nextStep(engine);
  controller.abort();
  assertEquals(await codeOf(aborted.result), "cancelled");
  assertEquals(await codeOf(engine.score(tokens, { ...options, signal }).result), "cancelled");
  const late = engine.score(tokens, { ...options, timeoutMs: 1 });
  assertEquals(await codeOf(late.result), "timeout");
  await engine.idle();
  assertEquals(engine.status().usedKvBlocks, 0);
  // A waiting scoring can be ended as well.
  const first = engine.generate(asking(promptOf(5), 100));
  const waiting = engine.score(tokens, options);
  waiting.cancel();
  assertEquals(await codeOf(waiting.result), "cancelled");
  first.cancel();
});

Deno.test("a text that the model cannot compute fails alone, with not_finite", async () => {
  await withPoison(async (path) => {
    await using engine = await loadEngine({ path, parallel: 4 });
    const tokens = [...promptOf(10), POISON, ...promptOf(5, 1)];
    const other = collect(engine.generate(asking(promptOf(8), 20)));
    assertEquals(await codeOf(engine.score(tokens, { topLogprobs: 0 }).result), "not_finite");
    assertEquals((await other).tokens.length, 20);
    await engine.idle();
    assertEquals(engine.status().usedKvBlocks, 0);
    const whole = await engine.score(promptOf(10), { topLogprobs: 0 }).result;
    assertEquals(whole.length, 9);
  });
});

Deno.test("closing the engine waits for a scoring, and takes none after it", async () => {
  await using engine = await loadEngine();
  const scoring = engine.score(promptOf(60), { topLogprobs: 0 });
  const closed = engine.close();
  assertEquals((await scoring.result).length, 59);
  await closed;
  assertThrows(() => engine.score([1, 2], { topLogprobs: 0 }), M40Error, "closed");
});
