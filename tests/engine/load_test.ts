import { assert, assertEquals } from "@std/assert";
import { load, LOAD_DEFAULTS } from "../../tools/load.ts";
import { type LoadRequest, RequestSource } from "../../tools/load/requests.ts";
import { Samples } from "../../tools/load/results.ts";
import { patiently } from "../fixtures/patience.ts";
import { startServer } from "../fixtures/server_fixture.ts";
import { until } from "../fixtures/waiting.ts";

Deno.test("two seconds of load: all kinds of clients are served without an error, and nothing is left", () =>
  patiently(servesAll));

async function servesAll(times: number): Promise<void> {
  await using server = await startServer({ engine: { parallel: 4, maxQueue: 64 } });
  const options = { ...LOAD_DEFAULTS, url: server.url, clients: 12, seconds: 2 * times };
  const report = await load(options);
  assertEquals(report.errors, {});
  assertEquals(report.refused, 0);
  assert(report.completed > 0 && report.left > 0, JSON.stringify(report));
  assert(report.generatedTokens >= report.completed && report.promptTokens > 0);
  const { firstTokenMs, perTokenMs, requestMs } = report;
  assertEquals(requestMs!.count, report.completed);
  for (const row of [firstTokenMs!, perTokenMs!, requestMs!]) {
    assert(row.count > 0 && row.p50 > 0);
    assert(row.p50 <= row.p90 && row.p90 <= row.p99 && row.p99 <= row.max);
  }
  await until("the engine is free", () => {
    const { running, waiting } = server.engine.status();
    return running + waiting === 0;
  });
  await server.engine.idle();
  const { usedKvBlocks, cachedTokens } = server.engine.status();
  assertEquals(usedKvBlocks, 0);
  assert(cachedTokens > 0, "no prompt began like another");
}

Deno.test("a full queue is counted apart from errors, and its clients come back", async () => {
  await using server = await startServer({ engine: { parallel: 1, maxQueue: 1 } });
  const options = { ...LOAD_DEFAULTS, url: server.url, clients: 8, seconds: 2, leaving: 0 };
  const report = await load(options);
  assertEquals(report.errors, {});
  assert(report.refused > 0 && report.completed > 0, JSON.stringify(report));
});

Deno.test("answers that are wrong are errors by their kind", async () => {
  const answers: Record<string, (body: { stream: boolean }) => Response> = {
    "status 500 internal": () => Response.json({ error: { code: "internal" } }, { status: 500 }),
    "429 without Retry-After": () => new Response("", { status: 429 }),
    "a stream that was cut off": ({ stream }) =>
      new Response(
        stream ? 'data: {"choices":[{"text":"a","finish_reason":null}]}\n\n' : "{}",
      ),
    "an error in a stream: device": () => new Response('data: {"error":{"code":"device"}}\n\n'),
  };
  for (const [kind, answer] of Object.entries(answers)) {
    let requests = 0;
    await using server = Deno.serve({ port: 0, onListen() {} }, async (request) => {
      if (request.method === "GET") return Response.json({ data: [{ context_length: 128 }] });
      const body = await request.json();
      // The first one is the generator's own, to see how long words are.
      return requests++ === 0 ? Response.json({ usage: { prompt_tokens: 9 } }) : answer(body);
    });
    const url = `http://127.0.0.1:${server.addr.port}`;
    const report = await load({
      ...LOAD_DEFAULTS,
      url,
      clients: 1,
      seconds: 1,
      streamed: 1,
      leaving: 0,
    });
    assertEquals(Object.keys(report.errors), [kind]);
    assertEquals(report.completed, 0);
  }
});

Deno.test("the same seed sends the same requests, of all kinds, that fit into the context", () => {
  const options = { ...LOAD_DEFAULTS, contextTokens: 1000, tokensPerWord: 1.5, leaving: 0.3 };
  const draw = (seed: number) => {
    const source = new RequestSource(seed, options);
    return Array.from({ length: 300 }, () => source.next());
  };
  const requests = draw(5);
  assertEquals(requests, draw(5));
  assert(JSON.stringify(requests) !== JSON.stringify(draw(6)));
  const count = (is: (request: LoadRequest) => boolean) => requests.filter(is).length;
  for (const kind of ["short", "shared", "long"]) assert(count((one) => one.kind === kind) > 20);
  for (const ending of ["read", "cancel", "disconnect"]) {
    assert(count((one) => one.ending === ending) > 10);
  }
  // Prompts of one kind begin alike, and those of other clients too.
  const shared = [...requests, ...draw(6)].filter(({ kind }) => kind === "shared")
    .map(({ body }) => String(body.prompt).slice(0, 500));
  assertEquals(new Set(shared).size, 3);
  for (const { body } of requests) {
    const words = String(body.prompt).split(" ").length;
    assert(words * 1.5 + Number(body.max_tokens) < 1000);
  }
});

Deno.test("percentiles are of the values, and of a random part of too many", () => {
  const samples = new Samples();
  assertEquals(samples.summary(), undefined);
  for (let i = 100; i >= 1; i--) samples.add(i);
  assertEquals(samples.summary(), { count: 100, p50: 50, p90: 90, p99: 99, max: 100 });
  const many = new Samples();
  for (let i = 0; i < 600_000; i++) many.add(i % 1000);
  const { count, p50, max } = many.summary()!;
  assertEquals([count, max], [600_000, 999]);
  assert(p50 > 480 && p50 < 520);
});
