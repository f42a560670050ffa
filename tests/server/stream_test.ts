// Streams while there is no event: their head, their comments, their readers.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Piece, piecesOf } from "../../server/http/mod.ts";
import {
  MODEL,
  NO_END,
  RawClient,
  rawPost,
  readError,
  startServer,
} from "../fixtures/server_fixture.ts";
import { appOf } from "../fixtures/fixed_model.ts";
import { until } from "../fixtures/waiting.ts";

const LONG = { contextLength: 65_536 };
const ENDLESS = { prompt: "Hello", max_tokens: 60_000, ...NO_END };
const EVENT_STREAM = /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n/;

for (const path of ["/v1/completions", "/v1/generate"]) {
  Deno.test(`a stream's head comes at once, and comments while it waits for its turn: ${path}`, async () => {
    await using server = await startServer({ ...LONG, app: { commentMs: 50 } });
    using first = await RawClient.connect(server.port, rawPost(path, { ...ENDLESS, stream: true }));
    await until("the first runs", () => server.engine.status().running === 1);
    const body = { ...ENDLESS, max_tokens: 2, stream: true };
    using second = await RawClient.connect(server.port, rawPost(path, body));
    const [head] = await second.until(EVENT_STREAM);
    assertStringIncludes(head.toLowerCase(), "\r\nx-accel-buffering: no\r\n");
    assertStringIncludes(head.toLowerCase(), "\r\ncontent-type: text/event-stream\r\n");
    await second.until(/(: waiting\n\n[^]*){3}/);
    assertEquals(server.engine.status().waiting, 1);
    assert(!second.text.includes("data:"), second.text);
    first.close();
    // Comments are lines of their own, before the first event and never within one.
    const [text] = await second.until(/data: [^]*data: \[DONE\]\n\n\r\n0\r\n\r\n$/);
    const events = text.replaceAll(/\r\n[0-9a-f]+\r\n/g, "").split("\n\n");
    for (const event of events) assertMatch(event, /^(data: |: waiting$|\r\n|$)/);
  });
}

Deno.test("a stream whose client reads no event for a while gets no comments instead", async () => {
  await using server = await startServer(LONG);
  const app = appOf({ engine: server.engine, modelName: MODEL, commentMs: 1 });
  const response = await app.request("/v1/generate", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...ENDLESS, max_tokens: 300, stream: true }),
  });
  const pieces = piecesOf(response.body as ReadableStream<Piece>);
  const read = async () => await new Blob([...await pieces.next() ?? []]).text();
  // Before the first event there may be comments.
  while (!(await read()).includes("data: "));
  // Many times as long as a stream may be silent, the others are there and nobody reads.
  await server.engine.idle();
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 1));
  assertMatch(await read(), /^data: /);
  await pieces.cancel();
});

Deno.test("what is refused is refused before the head of a stream, with its own status", async () => {
  await using server = await startServer({ ...LONG, engine: { maxQueue: 0 } });
  using first = await RawClient.connect(
    server.port,
    rawPost("/v1/generate", { ...ENDLESS, stream: true }),
  );
  await first.until(/data: /);
  const post = (body: unknown) => server.post("/v1/completions", body);
  await readError(await post({ ...ENDLESS, stream: true }), 429);
  await readError(await post({ ...ENDLESS, stream: true, prompt: Array(70_000).fill(5) }), 400);
  await readError(await post({ ...ENDLESS, stream: true, temperature: 900 }), 400);
  await readError(await post({ ...ENDLESS, stream: true, model: "gpt-4" }), 404);
});

const TOKENS = 24;
const MESSAGES = [{ role: "user", content: "Hello" }];
/** A streamed answer of so many tokens, in every dialect. */
const STREAMS: Readonly<Record<string, object>> = {
  "/v1/chat/completions": { messages: MESSAGES, max_tokens: TOKENS, ...NO_END },
  "/v1/completions": { prompt: "Hello", max_tokens: TOKENS, ...NO_END },
  "/v1/generate": { prompt: "Hello", max_tokens: TOKENS, ...NO_END },
  "/v1/responses": { input: "Hello", max_output_tokens: TOKENS, ...NO_END },
  "/v1/messages": { messages: MESSAGES, max_tokens: TOKENS, ...NO_END },
  "/api/chat": { messages: MESSAGES, options: { num_predict: TOKENS, ...NO_END } },
  "/completion": { prompt: "Hello", n_predict: TOKENS, ...NO_END },
};

Deno.test("tokens that are there together leave together, in every dialect", async (t) => {
  await using server = await startServer({
    engine: { chatTemplate: "{{ messages[0].content }}" },
  });
  const { engine } = server;
  const app = appOf({ engine, modelName: MODEL });
  for (const [path, body] of Object.entries(STREAMS)) {
    await t.step(path, async () => {
      const response = await app.request(path, {
        method: "POST",
        headers: { "Content-Type": "application/json", "anthropic-version": "2023-06-01" },
        body: JSON.stringify({ ...body, stream: true }),
      });
      assertEquals(response.status, 200);
      // All that there is to read is there before the reader begins.
      await engine.idle();
      const pieces = piecesOf(response.body as ReadableStream<Piece>);
      const writes: number[] = [];
      for (let next; (next = await pieces.next()) !== undefined;) writes.push(next.length);
      assert(Math.max(...writes) > TOKENS / 2, `pieces of each write: ${writes}`);
    });
  }
});
