// How long and how much a client may: connections, heads, bodies, and answers that are not read.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { patiently } from "../fixtures/patience.ts";
import { NO_END, RawClient, rawPost, readError, startServer } from "../fixtures/server_fixture.ts";
import { soon, until } from "../fixtures/waiting.ts";

const LONG = { contextLength: 65_536 };
const SHORT = { prompt: "Hello", max_tokens: 2, ...NO_END };
const ENDLESS = { ...SHORT, max_tokens: 60_000 };
const GET = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** Sends a text a few bytes at a time until the server ends the connection, and gives what it said. */
async function drip(port: number, text: string, pauseMs = 20): Promise<string> {
  using client = await RawClient.connect(port);
  const rest = client.rest();
  let ended = false;
  rest.finally(() => ended = true);
  for (let at = 0; at < text.length && !ended; at += 4) {
    await client.send(text.slice(at, at + 4)).catch(() => ended = true);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return await rest;
}

Deno.test("a head that is not complete in time is answered with 408, a silent connection is closed", () =>
  patiently(endsHeads));

async function endsHeads(times: number): Promise<void> {
  await using server = await startServer({ limits: { headMs: 300 * times } });
  using silent = await RawClient.connect(server.port);
  assertEquals(await silent.rest(), "");
  using half = await RawClient.connect(server.port, GET.slice(0, 20));
  assertMatch(await half.rest(), /^HTTP\/1\.1 408 [^]*head[^]*request_timeout/);
  // Bytes that keep coming give no more time.
  const slow = await drip(
    server.port,
    `${GET.slice(0, -2)}X: ${"a".repeat(2000)}\r\n\r\n`,
    20 * times,
  );
  assertMatch(slow, /^HTTP\/1\.1 408 [^]*head[^]*request_timeout/);
  // The time of a further request begins with it.
  using kept = await RawClient.connect(server.port, GET);
  await kept.until(/"status":"ok"/);
  await new Promise((resolve) => setTimeout(resolve, 600 * times));
  await kept.send(GET);
  await kept.until(/"status":"ok"[^]*"status":"ok"/);
  await kept.send("\r\n" + GET.slice(0, 10));
  assertMatch(await kept.rest(), /HTTP\/1\.1 408 [^]*request_timeout/);
}

Deno.test("a body that does not come, or too slowly, is answered with 408; one that comes is waited for", () =>
  patiently(endsBodies));

async function endsBodies(times: number): Promise<void> {
  const limits = { bodyMs: 300 * times, bodyBytesPerSecond: 1e9 };
  await using server = await startServer({ limits });
  const request = rawPost("/v1/generate", { ...SHORT, user: "x".repeat(2000) });
  const head = request.slice(0, request.indexOf("{"));
  const chunked = head.replace(/Content-Length: \d+/, "Transfer-Encoding: chunked");
  for (const text of [head, request.slice(0, -1), chunked, chunked + "5\r\n12"]) {
    using client = await RawClient.connect(server.port, text);
    assertMatch(await client.rest(), /^HTTP\/1\.1 408 [^]*body[^]*request_timeout/);
  }
  assertMatch(
    await drip(server.port, request, 20 * times),
    /^HTTP\/1\.1 408 [^]*body[^]*request_timeout/,
  );

  await using patient = await startServer({
    limits: { bodyMs: 600 * times, bodyBytesPerSecond: 1 },
  });
  // It takes longer than a body may that has no bytes.
  const slow = { ...SHORT, user: "x".repeat(150) };
  const post = rawPost("/v1/generate", slow, "Connection: close\r\n");
  assertMatch(await drip(patient.port, post, 20 * times), /^HTTP\/1\.1 200 /);
}

Deno.test("a connection that is not used again is closed", async () => {
  await using server = await startServer({ limits: { keepAliveMs: 200 } });
  using client = await RawClient.connect(server.port, GET);
  assertMatch(await client.rest(), /^HTTP\/1\.1 200 [^]*"status":"ok"[^]*}$/);
});

Deno.test("a client that stops reading loses its connection, and what it asked for ends", async () => {
  // Every event has the model's name: soon there is more than the buffers on the way hold.
  const app = { modelName: "m".repeat(20_000) };
  await using server = await startServer({ ...LONG, app, limits: { writeMs: 300 } });
  const body = { ...ENDLESS, logprobs: 0, stream: true };
  using client = await RawClient.connect(server.port, rawPost("/v1/completions", body));
  await until("it runs", () => server.engine.status().running === 1);
  await until("the engine is free", () => server.engine.status().running === 0);
  const text = await client.rest();
  assert(text.includes("data: ") && !text.includes("[DONE]"));
});

Deno.test("when there are too many connections, the one that was idle the longest is closed", async () => {
  await using server = await startServer({ ...LONG, maxConnections: 3 });
  using stream = await RawClient.connect(
    server.port,
    rawPost("/v1/generate", { ...ENDLESS, stream: true }),
  );
  await stream.until(/data: /);
  using half = await RawClient.connect(server.port, GET.slice(0, 20));
  using kept = await RawClient.connect(server.port, GET);
  await kept.until(/"status":"ok"/);
  // One between two requests goes before one that is in the middle of sending one.
  using third = await RawClient.connect(server.port, GET);
  await third.until(/"status":"ok"/);
  assertMatch(await kept.rest(), /"status":"ok"[^]*}$/);
  await half.send(GET.slice(20));
  await half.until(/"status":"ok"/);
  // Every silent connection is closed for the next; a request is always answered.
  for (let i = 0; i < 100; i++) {
    using _silent = await RawClient.connect(server.port);
    const response = await fetch(server.url + "/health");
    assertEquals(response.status, 200, await response.text());
  }
  assertEquals(server.engine.status().running, 1, "what is being answered is left alone");
});

Deno.test("when all connections are being answered, a new one is answered with 503, and there is room again", async () => {
  await using server = await startServer({ ...LONG, maxConnections: 2 });
  const request = rawPost("/v1/generate", { ...ENDLESS, stream: true });
  const clients = [];
  for (let i = 0; i < 2; i++) {
    const client = await RawClient.connect(server.port, request);
    await client.until(/^HTTP\/1\.1 200/);
    clients.push(client);
  }
  for (let i = 0; i < 20; i++) {
    using client = await RawClient.connect(server.port, GET);
    const text = await client.rest();
    assertMatch(text, /^HTTP\/1\.1 503 [^]*retry-after: 1\r\n/i);
    const error = await readError(new Response(text.split("\r\n\r\n")[1], { status: 503 }), 503);
    assertEquals(error.code, "too_many_connections");
  }
  for (const client of clients) client.close();
  await until("the engine is free", () => server.engine.status().running === 0);
  const response = await soon("an answer", fetch(server.url + "/health"));
  assertEquals(response.status, 200, await response.text());
});
