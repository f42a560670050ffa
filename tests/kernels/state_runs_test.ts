import { assert, assertEquals } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import type { Engine, EngineOptions, GenerateRequest } from "../../engine/mod.ts";
import { tokensOf, withModel } from "../fixtures/batching.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { cardOf, collect } from "../fixtures/engine_fixture.ts";

// Runs of models that keep states: the samples, and the states that are kept on the way, are those of steps, also when
// sequences leave or steps fail meanwhile.

const EMULATED = BACKEND === "emulated";
const MODELS = EMULATED
  ? ["qwen35", "mamba2"]
  : ["qwen35", "lfm2", "nemotron_h_moe", "granitehybrid", "mamba2"];
/** One lane and two, where there are two. */
const SHARES = BACKEND === "cpu" ? [0] : [0, 0.5];

/** Prompts that reach a KV block border after some tokens of their answers, each after another number of them. */
const asked = (i: number, maxTokens: number): GenerateRequest => ({
  prompt: Array.from({ length: 13 + 7 * i }, (_, n) => 20 + (n * 7 + n % 11 + 3 * i) % 100),
  maxTokens,
  sampling: i % 2 === 0 ? { temperature: 0 } : { temperature: 0.9, seed: i },
});
const TOKENS = EMULATED ? 24 : 60;
const REQUESTS = [0, 1, 2].map((i) => asked(i, TOKENS - 5 * i));
const OPTIONS: EngineOptions = { parallel: 3, contextTokens: 256 };

/** What conversations continue with, and how many of their tokens were known. */
async function goOn(engine: Engine, answers: readonly (readonly number[])[]) {
  const next: { tokens: number[]; cached: number }[] = [];
  for (const [i, answer] of answers.entries()) {
    const { prompt } = REQUESTS[i];
    const before = engine.status().cachedTokens;
    const tokens = await tokensOf(engine, {
      ...asked(i, 6),
      prompt: [...prompt as number[], ...answer, 5, 6, 7],
    });
    next.push({ tokens, cached: engine.status().cachedTokens - before });
  }
  return next;
}

for (const model of MODELS) {
  for (const prefillShare of SHARES) {
    const lanes = prefillShare > 0 ? ", with a lane of prompts" : "";
    Deno.test(`${model}: answers by runs${lanes}, and conversations that continue from their states, are those by steps`, async () => {
      const ask = async (engine: Engine) => {
        const answers = await Promise.all(REQUESTS.map((request) => tokensOf(engine, request)));
        const next = await goOn(engine, answers);
        const { runs, runSteps } = engine.status();
        await engine.idle();
        assertEquals(engine.status().usedSlots, 0);
        return { answers, next, runs, runSteps };
      };
      const by = (runSteps: number) =>
        withModel(model, { ...OPTIONS, prefillShare, runSteps }, ask);
      const { answers, next, runs } = await by(1);
      assertEquals(runs, 0);
      assert(next.every(({ cached }) => cached >= 32), "no state of an answer was kept");
      const ran = await by(64);
      assertEquals({ answers: ran.answers, next: ran.next }, { answers, next });
      assert(ran.runSteps > ran.runs, `${ran.runSteps} in ${ran.runs} runs`);
    });
  }
}

Deno.test("a sequence that leaves during a run leaves the others their tokens, and states that prompts can continue from", async () => {
  const [model] = MODELS;
  const alone = await withModel(model, { ...OPTIONS, runSteps: 1 }, async (engine) => {
    const answers: number[][] = [];
    for (const request of REQUESTS) answers.push(await tokensOf(engine, request));
    return answers;
  });
  await withModel(model, { ...OPTIONS, runSteps: 64 }, async (engine) => {
    const leaving = async (request: GenerateRequest, most: number) => {
      const controller = new AbortController();
      const got: number[] = [];
      for await (const { tokens } of engine.generate({ ...request, signal: controller.signal })) {
        got.push(...tokens.map(({ token }) => token));
        if (got.length >= most) controller.abort();
      }
      return got;
    };
    for (const most of [2, 9, 20]) {
      const [left, ...others] = await Promise.all([
        leaving(REQUESTS[0], most),
        ...REQUESTS.slice(1).map((request) => tokensOf(engine, request)),
      ]);
      assertEquals(left, alone[0].slice(0, left.length));
      assertEquals(others, alone.slice(1));
    }
    assert(engine.status().runs > 0, "no run");
    assertEquals(await Promise.all(REQUESTS.map((request) => tokensOf(engine, request))), alone);
    await engine.idle();
    assertEquals(engine.status().usedSlots, 0);
  });
});

Deno.test("a run that fails ends its sequences with what they sampled, and conversations continue from the earlier states", async () => {
  const [model] = MODELS;
  const options = { ...OPTIONS, prefillShare: 0 };
  const first = [0, 1].map((i) => asked(i, 60));
  const expected = await withModel(model, { ...options, runSteps: 1 }, async (engine) => {
    const answers = await Promise.all(first.map((request) => tokensOf(engine, request)));
    return { answers, next: await goOn(engine, answers) };
  });
  await withModel(model, { ...options, runSteps: 64 }, async (engine) => {
    const { program } = cardOf(engine);
    const run = program.run.bind(program);
    let taken = 0;
    let failed = false;
    program.run = (sequences, steps, limits, take) => {
      if (failed) return run(sequences, steps, limits, take);
      const count: typeof take = (outputs) => {
        taken++;
        take(outputs);
      };
      // Both have passed a KV block border by then, whoever cuts runs short.
      const given = run(sequences, Math.min(steps, 22 - taken), limits, count);
      const over = given.over.then(() => {
        if (taken < 22) return;
        failed = true;
        throw new M40Error("internal", "a run failed after its last step");
      });
      return { ...given, over };
    };
    const answers = await Promise.all(first.map((request) => collect(engine.generate(request))));
    for (const [i, { error, tokens }] of answers.entries()) {
      assert(error instanceof M40Error && error.message.startsWith("a run failed"), `${error}`);
      assertEquals(tokens, expected.answers[i].slice(0, tokens.length));
      assert(tokens.length > 20, `${tokens.length} tokens`);
    }
    // What they would have gone on with, from whatever was kept.
    const next = await goOn(engine, expected.answers);
    assertEquals(next.map(({ tokens }) => tokens), expected.next.map(({ tokens }) => tokens));
    await engine.idle();
    const { usedKvBlocks, usedSlots } = engine.status();
    assertEquals([usedKvBlocks, usedSlots], [0, 0]);
  });
});
