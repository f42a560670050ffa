import { assertEquals, assertMatch } from "@std/assert";
import { POISON, promptOf, withPoison } from "../fixtures/engine_fixture.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { startServer } from "../fixtures/server_fixture.ts";
import { until } from "../fixtures/waiting.ts";

// What a client does to itself through HTTP, it does to no other client.

const ENGINE = { device: BACKEND, parallel: 4 };

/** A body that no end token cuts short. */
function bodyOf(prompt: readonly number[], maxTokens: number, more: Record<string, unknown> = {}) {
  return {
    prompt,
    max_tokens: maxTokens,
    temperature: 0,
    logit_bias: { 2: -100, [POISON]: -100 },
    ...more,
  };
}

async function textOf(response: Promise<Response>): Promise<string> {
  const body = await (await response).json();
  assertEquals(body.error, undefined);
  return body.choices[0].text;
}

Deno.test("a request whose logits are not finite is answered with that, and the others as if it were not there", async () => {
  await withPoison(async (path) => {
    await using server = await startServer({ path, engine: ENGINE });
    const healthy = [0, 1, 2].map((i) => bodyOf(promptOf(10 + 20 * i, i), 30));
    const expected = [];
    for (const body of healthy) expected.push(await textOf(server.post("/v1/completions", body)));
    const answers = healthy.map((body) => textOf(server.post("/v1/completions", body)));
    await until("one runs", () => server.engine.status().running > 0);
    for (const n of [1, 3]) {
      const bad = await server.post("/v1/completions", bodyOf([20, POISON, 30], 5, { n }));
      const { error } = await bad.json();
      assertEquals([bad.status, error.code], [500, "not_finite"]);
      assertMatch(error.message, /--kv-type f32/);
    }
    const streamed = await server.post(
      "/v1/completions",
      bodyOf([20, POISON, 30], 5, { stream: true }),
    );
    assertMatch(await streamed.text(), /"code":"not_finite"/);
    assertEquals(await Promise.all(answers), expected);
    assertEquals((await (await fetch(`${server.url}/health`)).json()).status, "ok");
  });
});

Deno.test("a client that hangs up on several answers before they begin leaves nothing behind", async () => {
  await using server = await startServer({
    engine: { ...ENGINE, parallel: 1 },
    contextLength: 16_384,
  });
  const body = bodyOf(promptOf(40), 20);
  const expected = await textOf(server.post("/v1/completions", body));
  // Longer than the test, on any device.
  const firstController = new AbortController();
  const first = server.post("/v1/completions", bodyOf(promptOf(10), 16_000), {
    signal: firstController.signal,
  }).catch(() => {});
  await until("one decodes", () => server.engine.slots()[0]?.state === "decoding");
  const controller = new AbortController();
  const { signal } = controller;
  const left = server.post("/v1/completions", { ...body, n: 3 }, { signal }).catch(() => {});
  await until("they wait", () => server.engine.status().waiting === 3);
  controller.abort();
  await left;
  await until("they are gone", () => server.engine.status().waiting === 0);
  firstController.abort();
  await first;
  assertEquals(await textOf(server.post("/v1/completions", body)), expected);
  await server.engine.idle();
  assertEquals(server.engine.status().usedKvBlocks, 0);
});

Deno.test("a request that needs KV blocks of another waits, and the server answers meanwhile", async () => {
  await using server = await startServer({ engine: { ...ENGINE, kvBlocks: 4 } });
  const evaluation = server.engine.evaluate(promptOf(100));
  await evaluation.next();
  const answer = textOf(server.post("/v1/completions", bodyOf(promptOf(50), 10)));
  await until("it waits", () => server.engine.status().waiting === 1);
  const health = await (await fetch(`${server.url}/health`)).json();
  assertEquals([health.status, health.waiting], ["ok", 1]);
  await evaluation.return(undefined);
  assertEquals((await answer).length > 0, true);
});
