import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { M40Error } from "../../engine/mod.ts";
import {
  asking,
  cardOf,
  collect,
  firstToken,
  limitSteps,
  loadEngine,
  POISON,
  promptOf,
  withEngine,
  withPoison,
} from "../fixtures/engine_fixture.ts";
import { sleep, until } from "../fixtures/waiting.ts";

// A failure ends its own request alone. Device failures are injected into the device's functions.

function codeOf(error: unknown): string {
  assert(error instanceof M40Error, `got ${error}`);
  return error.code;
}

/** Answers that each of these requests gets alone. */
async function alone(requests: ReturnType<typeof asking>[], path?: string) {
  return await withEngine({ parallel: 1, path }, async (engine) => {
    const answers = [];
    for (const request of requests) answers.push(await collect(engine.generate(request)));
    return answers;
  });
}

/** Four requests that need eleven KV blocks, and get four. */
const CROWD = Array.from({ length: 4 }, (_, i) => asking(promptOf(20 + 9 * i, i), 45));
const CROWDED = { parallel: 4, kvBlocks: 4, contextTokens: 128 };

Deno.test("logits that are not finite end their own request, and change no other request's tokens", async () => {
  await withPoison(async (path) => {
    const healthy = [0, 1, 2].map((i) => asking(promptOf(5 + 30 * i, i), 25));
    const expected = await alone(healthy, path);
    await using engine = await loadEngine({ parallel: 6, path });
    const decoding = firstToken(engine);
    const answers = healthy.map((request) => collect(engine.generate(request)));
    await decoding;
    const bad = await collect(engine.generate(asking([20, POISON, 30], 10)));
    assertEquals(codeOf(bad.error), "not_finite");
    assertMatch(String(bad.error), /token 1 of the answer.*--kv-type f32/);
    assertEquals(bad.tokens, []);
    assertEquals(await Promise.all(answers), expected);
    await engine.idle();
    const { usedKvBlocks, running, failed } = engine.status();
    assertEquals({ usedKvBlocks, running, failed }, {
      usedKvBlocks: 0,
      running: 0,
      failed: undefined,
    });
    assertEquals(await collect(engine.generate(healthy[0])), expected[0]);
  });
});

Deno.test("where the logits of a prompt are not finite, each of its n answers ends with that error", async () => {
  await withPoison(async (path) => {
    await using engine = await loadEngine({ parallel: 4, path });
    const request = asking([20, POISON, 30], 10);
    const answers = await Promise.all(engine.generateAll([request, request, request]).map(collect));
    assertEquals(answers.map(({ error }) => codeOf(error)), Array(3).fill("not_finite"));
  });
});

Deno.test("an evaluation of logits that are not finite fails, and gives its KV blocks back", async () => {
  await withPoison(async (path) => {
    await using engine = await loadEngine({ path });
    const positions: number[] = [];
    const error = await assertRejects(async () => {
      for await (const { position } of engine.evaluate([20, 21, POISON, 30])) {
        positions.push(position);
      }
    }, M40Error);
    assertEquals(error.code, "not_finite");
    assertEquals(positions, [0, 1]);
    await engine.idle();
    assertEquals(engine.status().usedKvBlocks, 0);
  });
});

Deno.test("a request whose KV blocks an evaluation holds waits without keeping anything else from running", async () => {
  const request = asking(promptOf(40), 30);
  const [expected] = await alone([request]);
  await using engine = await loadEngine({ parallel: 2, kvBlocks: 4, contextTokens: 128 });
  const evaluation = engine.evaluate(promptOf(100));
  await evaluation.next();
  const answer = collect(engine.generate(request));
  // A timer fires only where nothing spins in microtasks.
  for (let i = 0; i < 5; i++) await sleep(1);
  assertEquals(engine.slots().map(({ state }) => state), ["waiting"]);
  const { steps, preemptions } = engine.status();
  assertEquals({ steps, preemptions }, { steps: 0, preemptions: 0 });
  await evaluation.return(undefined);
  assertEquals(await answer, expected);
});

Deno.test("one that waits for an evaluation's KV blocks can be cancelled, and those behind it go on", async () => {
  const small = asking(promptOf(10, 3), 5);
  const [expected] = await alone([small]);
  await using engine = await loadEngine({ parallel: 2, kvBlocks: 4, contextTokens: 128 });
  const evaluation = engine.evaluate(promptOf(70));
  await evaluation.next();
  const large = engine.generate(asking(promptOf(60), 30));
  const answers = [collect(large), collect(engine.generate(small))];
  await sleep(1);
  large.cancel();
  assertEquals((await Promise.all(answers))[1], expected);
  await evaluation.return(undefined);
});

Deno.test("answers to a prompt go on where the first of them was aborted before it began", async () => {
  const request = asking(promptOf(50), 20);
  const [expected] = await alone([request]);
  await using engine = await loadEngine({ parallel: 4 });
  const aborted = { ...request, signal: AbortSignal.abort() };
  const answers = await Promise.all(engine.generateAll([aborted, request, request]).map(collect));
  assertEquals(answers[0].tokens, []);
  assertEquals(answers.slice(1), [expected, expected]);
  assertEquals(engine.status().promptTokens, 51, "the prompt was computed twice");
});

Deno.test("answers to a prompt go on where the first of them ends before it has computed it", async () => {
  const request = asking(promptOf(60), 10);
  const [expected] = await alone([request]);
  // While it waits to be admitted, and in the middle of its prompt.
  for (const state of ["waiting", "prefilling"]) {
    await using engine = await loadEngine({ parallel: 1, contextTokens: 128 });
    limitSteps(engine, 32);
    const other = collect(engine.generate(asking(promptOf(30, 5), 20)));
    const controller = new AbortController();
    engine.observer = {
      step() {
        const [{ id, state } = { id: 0, state: "" }] = engine.slots();
        if (id === 1 && state === "prefilling") controller.abort();
      },
    };
    const led = { ...request, signal: controller.signal };
    const [first, ...others] = engine.generateAll([led, request, request]);
    const answers = others.map(collect);
    if (state === "waiting") controller.abort();
    else {
      await until("it is aborted", () => controller.signal.aborted);
      assertEquals(first.sequence.computed, 32);
    }
    assertEquals(await Promise.all(answers), [expected, expected], state);
    assertEquals((await collect(first)).tokens, []);
    await other;
  }
});

for (const [what, runSteps] of [["step", 1], ["run", 32]] as const) {
  Deno.test(`a ${what} that fails ends the sequences that took part in it, and none that waits`, async () => {
    const requests = [0, 1, 2].map((i) => asking(promptOf(20 + i, i), 20));
    const expected = await alone(requests);
    await using engine = await loadEngine({ parallel: 2, runSteps, prefillShare: 0 });
    const { program } = cardOf(engine);
    const step = program.step.bind(program);
    let steps = 0;
    program.step = async (sequences) => {
      if (++steps === 4 && what === "step") throw new M40Error("internal", "a step failed");
      return await step(sequences);
    };
    const run = program.run.bind(program);
    let runs = 0;
    program.run = (sequences, _, limits, take) => {
      const given = run(sequences, 4, limits, take);
      if (++runs > 1) return given;
      const over = given.over.then(() => {
        throw new M40Error("internal", "a run failed in its fifth step");
      });
      return { ...given, over };
    };
    const answers = await Promise.all(requests.map((request) => collect(engine.generate(request))));
    for (const [i, { error, tokens }] of answers.slice(0, 2).entries()) {
      assertEquals(codeOf(error), "internal");
      assertEquals(tokens, expected[i].tokens.slice(0, tokens.length));
      assert(tokens.length >= (what === "run" ? 5 : 1), "what was sampled before was dropped");
    }
    assertEquals(answers[2], expected[2]);
    await engine.idle();
    assertEquals(engine.status().usedKvBlocks, 0);
  });
}

Deno.test("where the first step of a prompt fails, the other answers to it go on", async () => {
  const request = asking(promptOf(50), 10);
  const [expected] = await alone([request]);
  await using engine = await loadEngine({ parallel: 4 });
  const { program } = cardOf(engine);
  const step = program.step.bind(program);
  let steps = 0;
  program.step = async (sequences) => {
    if (++steps === 1) throw new M40Error("internal", "the first step failed");
    return await step(sequences);
  };
  const [first, ...others] = await Promise.all(
    engine.generateAll([request, request, request]).map(collect),
  );
  assertEquals(codeOf(first.error), "internal");
  assertEquals(others, [expected, expected]);
});

for (const operation of ["save", "restore"] as const) {
  Deno.test(`where KV blocks cannot be moved to host memory or back (${operation}), preempted sequences are recomputed and get the same tokens`, async () => {
    const expected = await alone(CROWD);
    await using engine = await loadEngine({ ...CROWDED, hostCacheBytes: 2 ** 20 });
    const { cache } = cardOf(engine);
    let failures = 0;
    cache[operation] = () => {
      failures++;
      return Promise.reject(new M40Error("internal", "the copy failed"));
    };
    const answers = await Promise.all(CROWD.map((request) => collect(engine.generate(request))));
    assertEquals(answers, expected);
    await engine.idle();
    const { recomputations, usedKvBlocks } = engine.status();
    assert(failures > 0 && recomputations >= failures, `${failures}, ${recomputations}`);
    assertEquals(usedKvBlocks, 0);
  });
}

Deno.test("where a leader's KV block cannot be copied, its followers compute their prompt by themselves", async () => {
  const request = asking(promptOf(50), 10);
  const [expected] = await alone([request]);
  await using engine = await loadEngine({ parallel: 4 });
  let failures = 0;
  cardOf(engine).cache.copyKvBlocks = () => {
    failures++;
    return Promise.reject(new M40Error("internal", "the copy failed"));
  };
  const answers = await Promise.all(engine.generateAll([request, request, request]).map(collect));
  assertEquals(answers, [expected, expected, expected]);
  assertEquals(failures, 1);
});

Deno.test("the log-probabilities of a preempted and recomputed sequence have the same bits", async () => {
  const expected = await alone(CROWD);
  await using engine = await loadEngine({ ...CROWDED, hostCacheBytes: 0 });
  const answers = await Promise.all(CROWD.map((request) => collect(engine.generate(request))));
  assertEquals(answers, expected);
  assert(engine.status().recomputations > 0, "no sequence was recomputed");
});

Deno.test("when the device is lost all requests are notified, those in the middle of a copy too", async () => {
  for (const operation of ["step", "save", "restore"] as const) {
    await using engine = await loadEngine({ ...CROWDED, hostCacheBytes: 2 ** 20 });
    const { program, cache } = cardOf(engine);
    const lose = () => Promise.reject(new M40Error("device", "the device is lost"));
    if (operation !== "step") cache[operation] = lose;
    const decoding = firstToken(engine);
    const answers = CROWD.map((request) => collect(engine.generate(request)));
    await decoding;
    if (operation === "step") program.step = lose;
    for (const { error } of await Promise.all(answers)) {
      // Some may have been done before.
      if (error !== undefined) assertEquals(codeOf(error), "device");
    }
    assertEquals(engine.status().failed, "the device is lost");
    assertEquals(engine.slots(), []);
    assertThrows(() => engine.generate(CROWD[0]), M40Error, "the device is lost");
  }
});
