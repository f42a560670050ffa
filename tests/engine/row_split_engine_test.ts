import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { M40Error } from "../../engine/errors.ts";
import { Engine, type EngineOptions, type GenerateRequest } from "../../engine/mod.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { collect } from "../fixtures/engine_fixture.ts";
import { golden } from "../fixtures/goldens.ts";
import { LARGE_CONTEXT, writeLargeProductsModel } from "../fixtures/large_products_model.ts";
import { answersTo, devicesOf, withCards } from "../fixtures/staged_engines.ts";

// A whole engine with row-split models on two and three devices answers with the bits of one device. Its KV blocks
// and states go to host memory and to disk and come back. It ends what it cannot continue.

const folder = await Deno.makeTempDir();
const MODEL = await writeLargeProductsModel(folder);
addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

const ROWS: EngineOptions = { split: "rows" };

const prompt = (length: number, seed: number) =>
  Array.from({ length }, (_, i) => 10 + (i * 7 + seed * 31) % 900);

/** Prompts shorter and longer than a KV block, sampled greedily and by chance. */
const REQUESTS: readonly GenerateRequest[] = [30, 60, 70, 9, 20].map((length, i) => ({
  prompt: prompt(length, i),
  maxTokens: 12 + 2 * i,
  sampling: { temperature: i % 2, seed: 5, logitBias: new Map([[2, -100]]) },
  topLogprobs: 3,
}));

Deno.test("rows on two and three devices: all answers have the bits of one device's, while sequences are preempted and resume", async () => {
  const alone = await withCards(
    MODEL,
    1,
    { contextTokens: 128, parallel: 1 },
    (engine) => answersTo(engine, REQUESTS),
  );
  assert(alone.every(({ tokens, error }) => tokens.length >= 12 && error === undefined));
  for (const count of [2, 3]) {
    const few = { ...ROWS, contextTokens: 128, parallel: 4, kvBlocks: 4 };
    await withCards(MODEL, count, few, async (engine) => {
      assertEquals(engine.cards.map(({ layers }) => layers), new Array(count).fill(undefined));
      const shares = engine.cards.map(({ rowShare }) => rowShare!);
      assert(Math.abs(shares.reduce((sum, one) => sum + one, 0) - 1) < 1e-9, `${shares}`);
      assertEquals(await answersTo(engine, REQUESTS), alone, `${count} devices`);
      await engine.idle();
      const { usedKvBlocks, running, failed, preemptions, recomputations } = engine.status();
      assertEquals([usedKvBlocks, running, failed], [0, 0, undefined]);
      assert(preemptions > 0 && recomputations < preemptions, `${preemptions} ${recomputations}`);
    });
  }
});

Deno.test("rows on two devices: decoding goes from step to step in runs, which end when a request comes or goes", async () => {
  const options = { contextTokens: 128, parallel: 4, deviceProcess: true };
  const alone = await withCards(MODEL, 1, options, (engine) => answersTo(engine, REQUESTS));
  await withCards(MODEL, 2, { ...options, ...ROWS }, async (engine) => {
    const late = answersTo(engine, [{ ...REQUESTS[0], maxTokens: 60 }]);
    assertEquals(await answersTo(engine, REQUESTS), alone);
    await late;
    const stopped = new AbortController();
    const cancelled = answersTo(engine, [{ ...REQUESTS[1], signal: stopped.signal }]);
    const timer = setTimeout(() => stopped.abort(), 20);
    await cancelled;
    clearTimeout(timer);
    await engine.idle();
    const { runs, runSteps, failed } = engine.status();
    assert(runs > 3 && runSteps > 2 * runs, `${runs} runs of ${runSteps} steps`);
    assertEquals(failed, undefined);
  });
});

Deno.test("rows on two devices: each has its part of the weights and of the KV cache, and no more", async () => {
  const options = { contextTokens: 128, parallel: 2, kvBlocks: 8 };
  const { weightBytes, cacheBytes } = await withCards(
    MODEL,
    1,
    options,
    ({ plan }) => Promise.resolve(plan),
  );
  await withCards(MODEL, 2, { ...options, ...ROWS }, ({ cards, plan }) => {
    for (const { memory } of cards) {
      // The embedding is on both.
      assert(memory.weightBytes < 0.7 * weightBytes, `${memory.weightBytes} of ${weightBytes}`);
      // Besides the padding in memory.
      assert(memory.cacheBytes < 0.51 * cacheBytes, `${memory.cacheBytes} of ${cacheBytes}`);
    }
    assertEquals(plan.totalBytes, cards[0].memory.totalBytes + cards[1].memory.totalBytes);
    return Promise.resolve();
  });
});

Deno.test("rows on two devices: logits of a whole text, embeddings and scores are those of one device", async () => {
  const text = prompt(50, 3);
  const seen = (count: number, options: EngineOptions) =>
    withCards(
      MODEL,
      count,
      { contextTokens: 128, logitsOutputs: 7, ...options },
      async (engine) => {
        const others = answersTo(engine, REQUESTS);
        const embedded = engine.embed([text, prompt(30, 4)]);
        const scored = await engine.score(text, { topLogprobs: 2 }).result;
        const logits: number[][] = [];
        for await (const one of engine.evaluate(text)) logits.push([...one.logits]);
        const { vectors } = await embedded;
        await others;
        return { logits, scored, vectors: vectors.map((vector) => [...vector]) };
      },
    );
  const alone = await seen(1, {});
  assertEquals(alone.logits.length, text.length);
  assertEquals(await seen(2, ROWS), alone);
});

Deno.test("rows on two devices: each operation of the whole model has its time", async () => {
  await withCards(MODEL, 2, { contextTokens: 128, ...ROWS }, async (engine) => {
    const { placed } = engine["idlest"];
    const times = await placed.scheduled.profile([{
      tokens: prompt(20, 1),
      position: 0,
      decode: false,
      kvBlocks: [[0]],
      outputs: [{ row: 19, kind: "logits" }],
    }]);
    const { readGguf, architectureOf } = await import("../../engine/mod.ts");
    const gguf = await readGguf(MODEL);
    const { program } = architectureOf(gguf).read(gguf, {});
    assertEquals(times.length, program.operations.length);
    assert(times.some((time) => time > 0) && times.every((time) => time >= -1));
  });
});

Deno.test("rows on two devices: KV blocks on disk are found by an engine whose rows are split alike, and by no other", async () => {
  const problems: string[] = [];
  const diskCache = {
    folder: join(folder, "disk"),
    bytes: 2 ** 30,
    onProblem: (problem: string) => problems.push(problem),
  };
  const asked = { prompt: prompt(400, 1), maxTokens: 8, sampling: { temperature: 0 } };
  const ask = (count: number, options: EngineOptions) =>
    withCards(
      MODEL,
      count,
      { contextTokens: LARGE_CONTEXT, parallel: 2, diskCache, ...options },
      async (engine) => {
        const [{ tokens, error }] = await answersTo(engine, [asked]);
        assertEquals(error, undefined);
        return { tokens, cached: engine.status().cachedTokens };
      },
    );
  const { tokens, cached } = await ask(2, ROWS);
  assertEquals(cached, 0);
  assertEquals(await ask(2, ROWS), { tokens, cached: 384 });
  for (const [count, split] of [[1, "auto"], [2, "layers"], [3, "rows"]] as const) {
    assertEquals(await ask(count, { split }), { tokens, cached: 0 }, `${count} ${split}`);
  }
  assertEquals(problems, []);
});

for (const killed of [0, 1]) {
  Deno.test(`rows on two devices: where process ${killed} is killed, requests end with its device's name, at once`, async () => {
    await using engine = await Engine.load(MODEL, {
      ...{ device: devicesOf(2), deviceProcess: true, contextTokens: 512, parallel: 4, threads: 1 },
      ...ROWS,
    });
    const expected = await collect(engine.generate(REQUESTS[0]));
    assertEquals(expected.error, undefined);
    const long = { ...REQUESTS[1], maxTokens: 400 };
    const running = [long, { ...long, sampling: { temperature: 0 } }].map((one) =>
      collect(engine.generate(one))
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { cards } = engine["idlest"].placed;
    const begun = performance.now();
    Deno.kill(cards[killed].kernels.processId!, "SIGKILL");
    for (const { error } of await Promise.all(running)) {
      assert(error instanceof M40Error, String(error));
      assertEquals(error.code, "device");
      assert(error.message.includes(devicesOf(2).split(",")[killed]), error.message);
    }
    // The other one does not wait: alone it would do so for 20 seconds.
    assert(performance.now() - begun < 10_000);
    await assertRejects(
      async () => {
        const { error } = await collect(engine.generate(REQUESTS[0]));
        if (error !== undefined) throw error;
      },
      M40Error,
      devicesOf(2).split(",")[killed],
    );
  });
}

Deno.test("rows of a model without large products are refused, saying what to ask for; by itself it gets layers", async () => {
  const load = (split: EngineOptions["split"]) =>
    Engine.load(golden("llama"), { device: devicesOf(2), threads: 1, contextTokens: 64, split });
  await assertRejects(() => load("rows"), M40Error, "--split layers");
  await using engine = await load("auto");
  assertEquals(engine.cards.map(({ layers }) => layers), [[0, 1], [2, 2]]);
});

Deno.test(`what ${BACKEND} devices measure says nothing of cards: without --split rows, layers are split`, async () => {
  await withCards(MODEL, 2, { contextTokens: 128 }, (engine) => {
    assertEquals(engine.cards.map(({ layers }) => layers), [[0, 0], [1, 1]]);
    return Promise.resolve();
  });
});

Deno.test("what is to be split, and has one device or replicas to be split over, is refused before anything is loaded", async () => {
  for (const split of ["rows", "layers"] as const) {
    const refused = async (options: EngineOptions, message: RegExp) => {
      const error = await assertRejects(() => Engine.load(MODEL, { split, ...options }), M40Error);
      assertEquals([error.code, error.param], ["invalid_request", "split"]);
      assertMatch(error.message, message);
    };
    await refused({ device: "auto" }, new RegExp(`^${split} .*"auto" is one device; .*cuda:0,1`));
    await refused({ device: "cuda:0" }, /"cuda:0" is one device/);
    await refused({ device: "cuda:0,1", replicas: true }, /replicas .* wanted one of the two/);
  }
});

Deno.test("rows of a model that does not fit a device are refused with that device's name", async () => {
  const load = () =>
    Engine.load(MODEL, { device: devicesOf(2), threads: 1, memoryShare: 1e-9, ...ROWS });
  const error = await assertRejects(load, M40Error);
  assertEquals(error.code, "out_of_memory");
  assert(error.message.startsWith(`${devicesOf(2).split(",")[0]}: the model needs`), error.message);
});
