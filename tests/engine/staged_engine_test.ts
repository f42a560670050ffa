import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { layerCutsOf } from "../../engine/program/cuts.ts";
import type { EngineOptions, GenerateRequest } from "../../engine/mod.ts";
import { answersTo, programOf, withCards } from "../fixtures/staged_engines.ts";
import { writeWindowedModel } from "../fixtures/windowed_model.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

// A whole engine over two and three devices answers what one device answers, to the bits of the log-probabilities.

/** Experts and windows, two branches of a layer, states with attention; tests/slow/more_cases_test.ts has more. */
const MODELS = Deno.env.get("M40_STAGED_ENGINES")?.split(",") ??
  ["gpt-oss", "falcon", "granitehybrid-moe"];
/** Devices at most, where a model has as many layers. */
const CARDS = Number(Deno.env.get("M40_STAGED_CARDS") ?? 2);

const prompt = (length: number, seed: number) =>
  Array.from({ length }, (_, i) => 10 + (i * 7 + seed * 31) % 90);

/** Five requests, of prompts shorter and longer than a KV block, sampled greedily and by chance. */
const REQUESTS: readonly GenerateRequest[] = [30, 60, 70, 9, 20].map((length, i) => ({
  prompt: prompt(length, i),
  maxTokens: 12 + 2 * i,
  sampling: { temperature: i % 2, seed: 5, logitBias: new Map([[2, -100]]) },
  topLogprobs: 3,
}));

/** Each is alone in the batch. */
const ONE: EngineOptions = { contextTokens: 128, parallel: 1 };
/** KV blocks for a sequence or two, so that some are preempted. */
const FEW: EngineOptions = { contextTokens: 128, parallel: 4, kvBlocks: 4, stateSlots: 5 };

for (const name of MODELS) {
  Deno.test(`${name} on several devices answers what it does on one`, async () => {
    const alone = await withCards(name, 1, ONE, async (engine) => {
      assertEquals([engine.cards.length, engine.cards[0].layers], [1, undefined]);
      return await answersTo(engine, REQUESTS);
    });
    assert(alone.every(({ tokens, error }) => tokens.length >= 12 && error === undefined));
    const most = 1 + layerCutsOf(await programOf(name)).length;
    for (let count = 2; count <= Math.min(most, CARDS); count++) {
      await withCards(name, count, FEW, async (engine) => {
        assertEquals(engine.cards.length, count);
        assertEquals(await answersTo(engine, REQUESTS), alone, `${count} devices`);
        await engine.idle();
        const { usedKvBlocks, usedSlots, running, failed } = engine.status();
        assertEquals([usedKvBlocks, usedSlots, running, failed], [0, 0, 0, undefined]);
      });
    }
  });
}

Deno.test("few KV blocks do preempt sequences, and their KV blocks come back from host memory", async () => {
  await withCards("llama", 3, FEW, async (engine) => {
    await answersTo(engine, REQUESTS);
    const { preemptions, recomputations } = engine.status();
    assert(preemptions > 0 && recomputations < preemptions, `${preemptions}, ${recomputations}`);
  });
});

Deno.test("while one device computes its layers for some sequences, the other computes its own for others", async () => {
  await withCards("llama", 2, { contextTokens: 128, parallel: 4 }, async (engine) => {
    let busy = 0;
    let most = 0;
    for (const { program } of engine["idlest"].placed.cards) {
      const steps = program as unknown as { runStep(...given: unknown[]): Promise<unknown> };
      const runStep = steps.runStep.bind(program);
      steps.runStep = async (...given) => {
        most = Math.max(most, ++busy);
        try {
          return await runStep(...given);
        } finally {
          busy--;
        }
      };
    }
    await answersTo(engine, REQUESTS.slice(0, 1));
    assertEquals(most, 1, "a sequence that is alone passes one after the other");
    await answersTo(engine, REQUESTS);
    assertEquals([most, busy], [2, 0]);
  });
});

Deno.test("logits of a whole text, its embedding and its tokens' probabilities are those of one device", async () => {
  const text = prompt(50, 3);
  const seen = async (count: number) =>
    await withCards("gemma3", count, { contextTokens: 128, logitsOutputs: 7 }, async (engine) => {
      const others = answersTo(engine, REQUESTS);
      const embedded = engine.embed([text, prompt(30, 4)]);
      const logits: number[][] = [];
      for await (const one of engine.evaluate(text)) logits.push([...one.logits]);
      const { vectors } = await embedded;
      await others;
      return { logits, vectors: vectors.map((vector) => [...vector]) };
    });
  const alone = await seen(1);
  assertEquals(alone.logits.length, text.length);
  assertEquals(await seen(3), alone);
});

Deno.test("each operation of a model over several devices has its time", async () => {
  await withCards("gpt-oss", 3, { contextTokens: 128 }, async (engine) => {
    const times = await engine.exclusive(async ({ profile, allocate, release, layout }) => {
      const kvBlocks = allocate(layout.groups.length)!;
      const tokens = prompt(20, 1);
      const sequence = {
        tokens,
        position: 0,
        decode: false,
        kvBlocks: kvBlocks.map((kvBlock) => [kvBlock]),
      };
      const found = await profile([{
        ...sequence,
        outputs: [{ row: 19, kind: "logits" as const }],
      }]);
      release(kvBlocks);
      return found;
    });
    const { operations } = await programOf("gpt-oss");
    assertEquals(times.length, operations.length);
    assert(times.some((time) => time > 0) && times.every((time) => time >= -1));
  });
});

Deno.test("KV blocks and states on disk are found by an engine whose layers are split alike, and by no other", async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const path = await writeWindowedModel(folder, "granitehybrid", 1024);
  const problems: string[] = [];
  const onProblem = (problem: string) => problems.push(problem);
  const diskCache = { folder: join(folder, "disk"), bytes: 2 ** 30, onProblem };
  const asked = { prompt: prompt(400, 1), maxTokens: 8, sampling: { temperature: 0 } };
  const ask = (count: number) =>
    withCards(path, count, { contextTokens: 1024, parallel: 2, diskCache }, async (engine) => {
      const [{ tokens, error }] = await answersTo(engine, [asked]);
      assertEquals(error, undefined);
      return { tokens, cached: engine.status().cachedTokens };
    });
  const { tokens, cached } = await ask(2);
  assertEquals(cached, 0);
  assertEquals(await ask(2), { tokens, cached: 384 });
  for (const count of [1, 3]) assertEquals(await ask(count), { tokens, cached: 0 });
  assertEquals(problems, []);
});
