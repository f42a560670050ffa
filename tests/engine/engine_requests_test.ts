import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import {
  Engine,
  type EngineObserver,
  Generation,
  type GenerationReport,
  M40Error,
} from "../../engine/mod.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import {
  asking,
  cardOf,
  collect,
  firstToken,
  limitSteps,
  loadEngine,
  promptOf,
  withEngine,
} from "../fixtures/engine_fixture.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import { sleep, until } from "../fixtures/waiting.ts";

Deno.test("an observer that throws at every call is reported once, and stops nothing", async () => {
  const request = asking(promptOf(40), 20);
  const expected = await withEngine({}, (engine) => collect(engine.generate(request)));
  const reported: unknown[] = [];
  await using engine = await loadEngine({ onObserverError: (error) => reported.push(error) });
  const fail = () => {
    throw new Error("an observer");
  };
  const kinds: (keyof EngineObserver)[] = ["step", "firstToken", "token", "generation"];
  for (const [i, kind] of kinds.entries()) {
    engine.observer = { [kind]: fail };
    const before = engine.status().observerErrors;
    assertEquals(await collect(engine.generate(request)), expected, kind);
    assert(engine.status().observerErrors > before, `${kind} was not reported`);
    assertEquals(reported.length, 1, `${i}`);
  }
  assertEquals(String(reported[0]), "Error: an observer");
});

Deno.test("a request whose report is received by what throws has its whole answer, and ends at its deadline", async () => {
  const request = asking(promptOf(20), 10);
  await using engine = await loadEngine();
  const expected = await collect(engine.generate(request));
  let reports = 0;
  const onReport = () => {
    reports++;
    throw new Error("a report");
  };
  assertEquals(await collect(engine.generate({ ...request, onReport })), expected);
  const deadline = { timeoutMs: 1, timeoutFrom: performance.now() - 1000 };
  const late = await collect(engine.generate({ ...request, ...deadline, onReport }));
  assert(late.error instanceof M40Error && late.error.code === "timeout");
  assertEquals([reports, engine.status().observerErrors], [2, 2]);
  await engine.idle();
});

Deno.test("a reader gets chunks that are there together, up to a number", async () => {
  await using engine = await loadEngine();
  const request = asking(promptOf(20), 100);
  const expected = await collect(engine.generate(request));
  const generation = engine.generate(request);
  await generation.done;
  const read = await Array.fromAsync(Generation.together([generation]));
  const together = read.map(({ chunks }) => chunks);
  assertEquals(together.map(({ length }) => length), [64, 36]);
  const tokens = together.flat().flatMap((chunk) => chunk.tokens.map(({ token }) => token));
  assertEquals(tokens, expected.tokens);
});

Deno.test("one whose text cannot be made ends with an error, and the others lose no token", async () => {
  const requests = [0, 1, 2].map((i) => asking(promptOf(20, i), 30));
  const expected = await withEngine({}, async (engine) => {
    const answers = [];
    for (const request of requests) answers.push(await collect(engine.generate(request)));
    return answers;
  });
  await using engine = await loadEngine({ parallel: 3 });
  const { tokenizer } = engine;
  const make = tokenizer.decoder.bind(tokenizer);
  let decoders = 0;
  tokenizer.decoder = (options) => {
    const decoder = make(options);
    if (decoders++ === 1) {
      let pushed = 0;
      const push = decoder.push.bind(decoder);
      decoder.push = (token) => {
        if (++pushed === 5) throw new TypeError("a decoder");
        return push(token);
      };
    }
    return decoder;
  };
  const reports: GenerationReport[] = [];
  engine.observer = { generation: (report) => reports.push(report) };
  const answers = await Promise.all(requests.map((request) => collect(engine.generate(request))));
  assertEquals([answers[0], answers[2]], [expected[0], expected[2]]);
  assertEquals(answers[1].tokens, expected[1].tokens.slice(0, 4));
  assert(answers[1].error instanceof M40Error && answers[1].error.code === "internal");
  assertEquals(reports.map(({ outcome }) => outcome).sort(), ["error", "length", "length"]);
  await engine.idle();
  assertEquals(engine.status().usedKvBlocks, 0);
});

Deno.test("a library says of its device what it is, and in what tiles it computes prompts", async () => {
  await using engine = await loadEngine();
  const { kind, tileTokens } = engine.device;
  assertEquals(kind, BACKEND === "cuda" ? "gpu" : "cpu");
  assertEquals(tileTokens, BACKEND === "cpu" ? [] : [32, 64, 128]);
  return Promise.resolve();
});

Deno.test("max_tokens 0 checks the prompt and ends at once, without a step", async () => {
  await using engine = await loadEngine({ contextTokens: 64 });
  const reports: GenerationReport[] = [];
  engine.observer = { generation: (report) => reports.push(report) };
  const chunks = await Array.fromAsync(engine.generate({ prompt: promptOf(64), maxTokens: 0 }));
  assertEquals(chunks, [{
    reasoning: "",
    text: "",
    tokens: [],
    finishReason: "length",
    usage: { promptTokens: 64, completionTokens: 0, reasoningTokens: 0, cachedTokens: 0 },
  }]);
  assertEquals(engine.status().steps, 0);
  assertEquals(reports.map(({ outcome }) => outcome), ["length"]);
  const tooLong = () => engine.generate({ prompt: promptOf(65), maxTokens: 0 });
  await assertRejects(async () => await collect(tooLong()), M40Error, "65 tokens");
  // It has no followers.
  const request = asking(promptOf(20), 5);
  const answers = await Promise.all(
    engine.generateAll([{ ...request, maxTokens: 0 }, request, request]).map(collect),
  );
  assertEquals(answers.map(({ tokens }) => tokens.length), [0, 5, 5]);
});

Deno.test("a prompt of several answers is encoded once", async () => {
  await using engine = await loadEngine({ parallel: 4 });
  const { tokenizer } = engine;
  const encode = tokenizer.encode.bind(tokenizer);
  let encoded = 0;
  tokenizer.encode = (text, options) => {
    encoded++;
    return encode(text, options);
  };
  const request = { prompt: "one two three four", maxTokens: 4, sampling: { temperature: 0 } };
  const other = { ...request, prompt: "one two" };
  const answers = await Promise.all(
    engine.generateAll([request, { ...request }, other, request]).map(collect),
  );
  assertEquals(encoded, 2);
  assertEquals(answers[1], answers[0]);
  assertEquals(answers[3], answers[0]);
  const { promptTokens } = engine.status();
  // The followers of the first compute its last token again.
  assertEquals(promptTokens, encode(request.prompt).length + 2 + encode(other.prompt).length);
});

Deno.test("a seed's streams sample other tokens, the same in each run; a seed may have 64 bits", async () => {
  await using engine = await loadEngine({ parallel: 4 });
  const sample = async (seed: number | bigint, stream?: number) => {
    const sampling = { temperature: 1.5, seed, ...(stream === undefined ? {} : { stream }) };
    const request = { ...asking(promptOf(10), 30), sampling };
    return (await collect(engine.generate(request))).tokens;
  };
  const first = await sample(7);
  assertEquals(await sample(7, 0), first);
  const second = await sample(7, 1);
  assertEquals(await sample(7, 1), second);
  const others = [second, await sample(8), await sample(7, 2), await sample(7n + 2n ** 63n)];
  for (const other of others) assertNotEquals(other, first);
  assertEquals(await sample(2n ** 64n - 5n), await sample(-5));
});

Deno.test("one call at a time uses the device, and what needs it waits its turn", async () => {
  // Sequences are preempted, resume and share a KV block, concurrently with evaluations and exclusive work.
  await using engine = await loadEngine({ parallel: 4, kvBlocks: 8, hostCacheBytes: 2 ** 20 });
  const { program, cache } = cardOf(engine);
  let busy = 0;
  const calls: Record<string, number> = {};
  const watch =
    <A extends unknown[], R>(name: string, call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      assertEquals(busy++, 0, `${name} while another call was under way`);
      calls[name] = (calls[name] ?? 0) + 1;
      try {
        // Others would have time to come in between.
        await sleep(0);
        return await call(...args);
      } finally {
        busy--;
      }
    };
  program.step = watch("step", program.step.bind(program));
  for (const name of ["copyKvBlocks", "save", "restore"] as const) {
    cache[name] = watch(name, cache[name].bind(cache) as () => Promise<void>);
  }
  const crowd = [0, 1, 2].flatMap((i) => [asking(promptOf(30 + 5 * i, i), 60)]);
  const shared = asking(promptOf(20, 9), 20);
  const answers = [
    ...crowd.map((request) => engine.generate(request)),
    ...engine.generateAll([shared, shared]),
  ].map(collect);
  const evaluate = async () => {
    for await (const _ of engine.evaluate(promptOf(10, 4)));
  };
  const own = engine.exclusive(async (device) => {
    const kvBlocks = device.allocate(2)!;
    await device.step([{
      tokens: [5, 6],
      position: 0,
      kvBlocks: [kvBlocks],
      outputs: [{ row: 1 }],
    }]);
    await device.copyKvBlocks(Uint32Array.of(kvBlocks[0]), Uint32Array.of(kvBlocks[1]));
    device.release(kvBlocks);
  });
  const evaluations = [evaluate(), evaluate()].map((one) =>
    one.catch((error) => assertEquals((error as M40Error).code, "queue_full"))
  );
  for (const { error, tokens } of await Promise.all(answers)) {
    assertEquals(error, undefined);
    assert(tokens.length > 0);
  }
  await Promise.all([own, ...evaluations]);
  for (const name of ["step", "copyKvBlocks", "save", "restore"]) {
    assert(calls[name] > 0, `no ${name}`);
  }
  await engine.idle();
  assertEquals(engine.status().usedKvBlocks, 0);
});

Deno.test("evaluations at the same time, and concurrent requests, do not change each other's logits", async () => {
  const texts = [0, 1].map((seed) => promptOf(20, seed));
  await using engine = await loadEngine({ parallel: 2, logitsOutputs: 7 });
  const evaluate = async (tokens: number[]) => {
    const all: number[][] = [];
    for await (const { logits } of engine.evaluate(tokens)) {
      await sleep(0);
      all.push([...logits]);
    }
    return all;
  };
  const alone = [await evaluate(texts[0]), await evaluate(texts[1])];
  const request = asking(promptOf(30, 5), 20);
  const expected = await collect(engine.generate(request));
  const answer = collect(engine.generate(request));
  assertEquals(await Promise.all(texts.map(evaluate)), alone);
  assertEquals(await answer, expected);
});

Deno.test("a sequence goes from waiting to prefilling to decoding, and is gone when it is finished", async () => {
  await using engine = await loadEngine({ parallel: 1, contextTokens: 128, chunkMs: 1 });
  const seen = new Map<number, string[]>();
  engine.observer = {
    step() {
      for (const { id, state } of engine.slots()) {
        const states = seen.get(id) ?? [];
        if (states.at(-1) !== state) seen.set(id, [...states, state]);
      }
    },
  };
  limitSteps(engine, 32);
  const requests = [asking(promptOf(100), 10), asking(promptOf(90, 1), 10)];
  await Promise.all(requests.map((request) => collect(engine.generate(request))));
  assertEquals(seen.get(0), ["prefilling", "decoding"]);
  assertEquals(seen.get(1), ["waiting", "prefilling", "decoding"]);
  assertEquals(engine.slots(), []);
});

Deno.test("closing ends an evaluation that is between two steps, and requests that waited for its KV blocks go on", async () => {
  const engine = await Engine.load(GOLDEN, { device: BACKEND, threads: 1, kvBlocks: 4 });
  const evaluation = engine.evaluate(promptOf(100));
  await evaluation.next();
  const answer = collect(engine.generate(asking(promptOf(30), 5)));
  await sleep(1);
  const closed = engine.close();
  const error = await assertRejects(() => evaluation.next(), M40Error);
  assertEquals(error.code, "cancelled");
  await closed;
  assertEquals((await answer).tokens.length, 5);
  // One that was never asked for more, and one that is asked when all is over.
  const late = await Engine.load(GOLDEN, { device: BACKEND, threads: 1 });
  const begun = late.evaluate(promptOf(100));
  await begun.next();
  await late.close();
  await assertRejects(() => begun.next(), M40Error, "was closed");
  await assertRejects(() => late.evaluate(promptOf(3)).next(), M40Error, "closed");
});

Deno.test("closing waits for steps that go on and for work that has begun, and no work begins after it", async () => {
  const engine = await Engine.load(GOLDEN, { device: BACKEND, threads: 1 });
  const decoding = firstToken(engine);
  const answer = collect(engine.generate(asking(promptOf(30), 40)));
  // It waits until nothing runs, and closing comes first.
  const late = assertRejects(
    () => engine.exclusive(() => Promise.reject(new Error("it has begun"))),
    M40Error,
    "closed",
  );
  await decoding;
  const [first, second] = [engine.close(), engine.close()];
  await Promise.all([first, second, late]);
  assertEquals((await answer).tokens.length, 40);

  const other = await Engine.load(GOLDEN, { device: BACKEND, threads: 1 });
  const events: string[] = [];
  const work = other.exclusive(async (device) => {
    events.push("begun");
    await sleep(20);
    const kvBlocks = device.allocate(1)!;
    await device.step([{ tokens: [5], position: 0, kvBlocks: [kvBlocks], outputs: [{ row: 0 }] }]);
    device.release(kvBlocks);
    events.push("done");
  });
  await until("it has begun", () => events.length > 0);
  await other.close();
  events.push("closed");
  await work;
  assertEquals(events, ["begun", "done", "closed"]);
});
