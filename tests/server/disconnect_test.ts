import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { bodyWith, DIALECTS } from "../fixtures/dialects.ts";
import { startChat } from "../fixtures/server_chat_fixture.ts";
import {
  NO_END,
  openRequest,
  RawClient,
  rawPost,
  readError,
  startServer,
  type TestServer,
} from "../fixtures/server_fixture.ts";
import { until } from "../fixtures/waiting.ts";

/** A generation that lasts until someone ends it. */
const ENDLESS = { prompt: "Hello", max_tokens: 60_000, ...NO_END };
const LONG = { contextLength: 65_536 };

/** Whether the engine has nothing to do. */
function idle(server: TestServer): boolean {
  const { running, waiting } = server.engine.status();
  return running === 0 && waiting === 0;
}

for (const dialect of DIALECTS) {
  const { path } = dialect;

  Deno.test(`a client that leaves ends what it asked for, or leaves the queue: ${path}`, async () => {
    await using server = await startChat(LONG);
    for (const stream of [true, false]) {
      const body = { ...bodyWith(dialect, { max_tokens: 60_000, ...NO_END }), stream };
      const first = await openRequest(server.port, path, body);
      await until("tokens are sampled", () => server.engine.slots()[0]?.generatedTokens > 3);
      const second = await openRequest(server.port, path, body);
      await until("the second waits", () => server.engine.status().waiting === 1);
      second.close();
      await until("no request waits", () => server.engine.status().waiting === 0);
      assertEquals(server.engine.status().running, 1, "the first goes on");
      first.close();
      await until("the engine is free", () => idle(server));
    }
    const short = { ...bodyWith(dialect, { max_tokens: 2, ...NO_END }), stream: false };
    const response = await server.post(path, short);
    assertEquals(response.status, 200, await response.text());
  });
}

Deno.test("a client that leaves ends all of its choices", async () => {
  await using server = await startServer(LONG);
  const client = await openRequest(server.port, "/v1/completions", {
    ...ENDLESS,
    n: 4,
    stream: true,
  });
  await until("one runs, three wait", () => server.engine.status().waiting === 3);
  client.close();
  await until("the engine is free", () => idle(server));
});

Deno.test("a client that leaves as soon as it has asked leaves nothing behind, not even a timer", async () => {
  await using server = await startServer({ ...LONG, engine: { maxQueue: 200 } });
  const health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (let i = 0; i < 200; i++) {
    const request = rawPost("/v1/completions", { ...ENDLESS, stream: i % 2 === 0 });
    // An answer that has come and was not read has the client's system send a reset.
    const client = await RawClient.connect(server.port, (i & 2) === 0 ? request : health + request);
    for (let turns = i % 7; turns > 0; turns--) await new Promise((done) => setTimeout(done, 0));
    client.close();
  }
  await until("the engine is free", () => idle(server));
});

Deno.test("a full queue is answered with 429 and Retry-After, and nothing is left behind", async () => {
  await using server = await startServer({ ...LONG, engine: { maxQueue: 2 } });
  const clients = [];
  for (const [running, waiting] of [[1, 0], [1, 1], [1, 2]]) {
    clients.push(await openRequest(server.port, "/v1/completions", { ...ENDLESS, stream: true }));
    await until("the request has its place", () => {
      const status = server.engine.status();
      return status.running === running && status.waiting === waiting;
    });
  }
  for (const stream of [true, false]) {
    const response = await server.post("/v1/completions", { ...ENDLESS, stream });
    assertMatch(response.headers.get("retry-after") ?? "", /^\d+$/);
    const error = await readError(response, 429);
    assertEquals(error.code, "queue_full");
  }
  clients.pop()!.close();
  await until("a slot is free", () => server.engine.status().waiting === 1);
  // Two choices, one place: none of them stays.
  await readError(await server.post("/v1/completions", { ...ENDLESS, n: 2 }), 429);
  assertEquals(server.engine.status().waiting, 1);
  for (const client of clients) client.close();
  await until("the engine is free", () => idle(server));
});

Deno.test("a client that does not read blocks no other, and leaves nothing behind", async () => {
  await using server = await startServer(LONG);
  // More than the buffers between server and client hold.
  const body = { ...ENDLESS, max_tokens: 1000, n: 8, logprobs: 5, stream: true };
  const connection = await openRequest(server.port, "/v1/completions", body);
  await until("the generation runs", () => server.engine.status().running === 1);
  // Another client is served while (or after) the first one's answer waits to be read.
  const response = await server.post("/v1/generate", { ...ENDLESS, max_tokens: 2 });
  assertEquals(response.status, 200, await response.text());
  connection.close();
  await until("the engine is free", () => idle(server));
});

Deno.test("a server that ends lets short answers finish", async () => {
  await using server = await startServer(LONG);
  const response = server.post("/v1/completions", { ...ENDLESS, max_tokens: 2000 });
  await until("the generation runs", () => server.engine.status().running === 1);
  server.stop();
  const { usage } = await (await response).json();
  assertEquals(usage.completion_tokens, 2000);
  await server.finished;
});

Deno.test("a server that ends notifies clients of long answers, and then ends", async () => {
  await using server = await startServer({ ...LONG, drainMs: 50 });
  const streamed = server.post("/v1/completions", { ...ENDLESS, stream: true });
  // Requests that are sent together may arrive in any order.
  await until("the stream runs", () => server.engine.status().running === 1);
  const whole = server.post("/v1/completions", ENDLESS);
  await until("two are there", () => server.engine.status().waiting === 1);
  const unbegun = server.post("/v1/completions", { ...ENDLESS, stream: true });
  const unstartedWhole = server.post("/v1/completions", ENDLESS);
  await until("all are there", () => server.engine.status().waiting === 3);
  await until("the first is under way", () => server.engine.status().generatedTokens > 8);
  server.stop();
  const events = (await (await streamed).text()).trimEnd().split("\n\n");
  const last = events.at(-1)!;
  assert(events.length > 1);
  assertStringIncludes(last, 'data: {"error":{"message":');
  assertEquals(JSON.parse(last.slice(6)).error.code, "cancelled");
  // The head of a stream is out before its first token: the error is its only event.
  const only = await unbegun;
  assertEquals(only.status, 200);
  assertMatch(await only.text(), /^data: {"error":{"message":.*"code":"cancelled"}}\n\n$/);
  for (const answer of [whole, unstartedWhole]) {
    assertEquals((await readError(await answer, 503)).code, "cancelled");
  }
  await server.finished;
  await until("the engine is free", () => idle(server));
});
