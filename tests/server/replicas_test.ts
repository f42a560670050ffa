/**
 * What a server does for a load balancer in front of several: names of prompts, notice of its end, agent checks, held
 * streams.
 */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { FixedModel } from "../fixtures/fixed_model.ts";
import { agentLine, serveAgentCheck } from "../../server/mod.ts";
import { prefixOf, promptPrefix } from "../../server/request/prefix.ts";
import { HELLO, startChat } from "../fixtures/server_chat_fixture.ts";
import {
  NO_END,
  openRequest,
  RawClient,
  rawPost,
  readError,
  startServer,
} from "../fixtures/server_fixture.ts";
import { soon, until } from "../fixtures/waiting.ts";

const SYSTEM = { role: "system", content: "You are brief." };
const FIRST = { role: "user", content: "What is a card?" };
const LATER = [{ role: "assistant", content: "A board." }, { role: "user", content: "And a bus?" }];
const HEADER = "X-M40-Prefix";

Deno.test("the prefix of a conversation is the same over its turns, in every dialect", () => {
  const expected = "You are brief.What is a card?";
  const part = (text: string, more = {}) => [{ type: "text", text, ...more }];
  const bodies = [
    { messages: [SYSTEM, FIRST] },
    { messages: [SYSTEM, FIRST, ...LATER] },
    { messages: [{ role: "developer", content: part(SYSTEM.content) }, FIRST] },
    { system: SYSTEM.content, messages: [FIRST, ...LATER] },
    // The mark of what is to be cached goes to the last message, so it moves with every turn.
    { system: part(SYSTEM.content), messages: [{ role: "user", content: part(FIRST.content) }] },
    {
      system: part(SYSTEM.content, { cache_control: { type: "ephemeral" } }),
      messages: [{ role: "user", content: part(FIRST.content, { cache_control: {} }) }],
    },
    { instructions: SYSTEM.content, input: FIRST.content },
    { instructions: SYSTEM.content, input: [FIRST, ...LATER] },
  ];
  for (const body of bodies) assertEquals(promptPrefix(body), expected, JSON.stringify(body));
});

Deno.test("the prefix of a prompt is its first characters or tokens", () => {
  const long = "a".repeat(256);
  assertEquals(promptPrefix({ prompt: long + "b" }), long);
  assertEquals(promptPrefix({ prompt: [long + "c", "another"] }), long);
  const ids = Array.from({ length: 100 }, (_, i) => i);
  assertEquals(
    promptPrefix({ prompt: ids }),
    promptPrefix({ prompt: [ids.slice(0, 64), [1]] }),
  );
  for (
    const body of [{}, { prompt: [] }, { messages: [] }, { messages: [null, 3] }, { input: null }]
  ) {
    assertEquals(promptPrefix(body), "");
  }
});

Deno.test("answers name what their prompt begins with, streams and refusals too", async () => {
  await using server = await startChat({});
  const { post } = server;
  const chat = "/v1/chat/completions";
  const short = { max_tokens: 2, ...NO_END };
  const expected = await prefixOf(SYSTEM.content + FIRST.content);
  assertMatch(expected, /^[0-9a-f]{16}$/);
  const bodies: [string, unknown][] = [
    [chat, { messages: [SYSTEM, FIRST], ...short }],
    [chat, { messages: [SYSTEM, FIRST, ...LATER], ...short, stream: true }],
    ["/v1/messages", { system: SYSTEM.content, messages: [FIRST], max_tokens: 2 }],
    ["/v1/responses", { instructions: SYSTEM.content, input: [FIRST], max_output_tokens: 16 }],
    ["/api/chat", { messages: [SYSTEM, FIRST], options: { num_predict: 2 } }],
    [chat, { messages: [SYSTEM, FIRST], max_tokens: 2, temperature: 0, model: "none" }],
  ];
  for (const [path, body] of bodies) {
    const answer = await post(path, body);
    await answer.body?.cancel();
    assertEquals(answer.headers.get(HEADER), expected, `${path} ${JSON.stringify(body)}`);
  }
  const other = await post(chat, { messages: [SYSTEM, LATER[1]], ...short });
  await other.body?.cancel();
  assertNotEquals(other.headers.get(HEADER), expected);
  const health = await fetch(server.url + "/health");
  await health.body?.cancel();
  assertEquals(health.headers.get(HEADER), null);
});

Deno.test("a name that a request brings comes back as it is, unless it could be anything", async () => {
  await using server = await startServer();
  const name = async (brought: string) => {
    const headers = { [HEADER]: brought };
    const answer = await server.post("/v1/generate", { prompt: "a", max_tokens: 1 }, { headers });
    await answer.body?.cancel();
    return answer.headers.get(HEADER);
  };
  assertEquals(await name("session-42.a~b_c"), "session-42.a~b_c");
  const own = await prefixOf("a");
  for (const brought of ["", "a b", "a,b", "ü", "x".repeat(65)]) {
    assertEquals(await name(brought), own);
  }
});

Deno.test("a server with a notice says at once that it drains, takes requests until it is over, and then no more", async () => {
  await using server = await startServer({
    contextLength: 65_536,
    drainMs: 60_000,
    noticeMs: 2000,
    engine: { parallel: 2 },
  });
  using kept = await RawClient.connect(
    server.port,
    "GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n",
  );
  await kept.until(/"status":"ok"/);
  server.stop();
  const ready = await fetch(server.url + "/ready");
  assertEquals([ready.status, (await ready.json()).status], [503, "draining"]);
  // One that was sent before the balancer noticed: answered, and the connection with it.
  await kept.send(rawPost("/v1/generate", { prompt: "a", max_tokens: 2, ...NO_END }));
  assertMatch(
    await kept.rest(),
    /HTTP\/1.1 200 OK\r\n[^]*Connection: close\r\n[^]*"completion_tokens":2/,
  );
  // What begins within the notice may end within the time of the drain.
  const long = await openRequest(server.port, "/v1/generate", {
    prompt: "a",
    max_tokens: 60_000,
    ...NO_END,
  });
  await until("it runs", () => server.engine.status().running === 1);
  for (let refused = false; !refused;) {
    const answer = await server.post("/v1/generate", { prompt: "a", max_tokens: 1 });
    refused = answer.status === 503;
    if (refused) assertEquals((await readError(answer, 503)).code, "draining");
    else await answer.body?.cancel();
  }
  long.close();
  await soon("the end", server.finished);
});

Deno.test("an agent check reads how much a server can take, and that it is about to end", async () => {
  await using server = await startServer({ contextLength: 65_536 });
  const models = new FixedModel(server.engine, "golden");
  let draining = false;
  using agent = serveAgentCheck("127.0.0.1", 0, () => agentLine(models, draining));
  const ask = async () => {
    using client = await RawClient.connect(agent.port);
    return await client.rest();
  };
  assertEquals(await ask(), "up 100%\n");
  const body = { prompt: "a", max_tokens: 60_000, ...NO_END };
  const clients: Deno.Conn[] = [];
  for (let i = 0; i < 4; i++) clients.push(await openRequest(server.port, "/v1/generate", body));
  await until("they wait", () => server.engine.status().waiting === 3);
  assertEquals(await ask(), "up 25%\n");
  draining = true;
  assertEquals(await ask(), "down #draining\n");
  draining = false;
  // Checks that leave before their answer, and any number of them, do not block the next.
  for (let i = 0; i < 50; i++) (await Deno.connect({ port: agent.port })).close();
  assertMatch(await ask(), /^up \d+%\n$/);
  for (const client of clients) client.close();
});

/** Streams of each shape: what is asked, what its events begin with, and what says that it was ended. */
const STREAMS: Record<string, [body: unknown, begins: RegExp, cancelled: RegExp]> = {
  "/v1/generate": [{ prompt: "a", max_tokens: 3 }, /^data: {"output"/, /"code":"cancelled"/],
  "/v1/chat/completions": [
    { messages: HELLO, max_tokens: 3 },
    /^data: {"id":"chatcmpl-/,
    /"code":"cancelled"/,
  ],
  "/v1/responses": [
    { input: HELLO, max_output_tokens: 16 },
    /^event: response.created\n[^]*event: response.in_progress\n[^]*event: response.output_item.added/,
    /"code":"cancelled"/,
  ],
  "/v1/messages": [
    { messages: HELLO, max_tokens: 3 },
    /^event: message_start\n[^]*event: content_block_start/,
    /"type":"error"/,
  ],
  "/api/chat": [{ messages: HELLO, options: { num_predict: 3 } }, /^{"model":/, /{"error":/],
};

for (const [path, [body, begins, cancelled]] of Object.entries(STREAMS)) {
  Deno.test(`a held stream of ${path} has its head with its first event, an error before that its status`, async () => {
    const app = { holdStreamsMs: 60_000 };
    await using server = await startChat({ contextLength: 65_536, app, drainMs: 200 });
    const long = { prompt: "a", max_tokens: 60_000, ...NO_END };
    const running = await openRequest(server.port, "/v1/generate", long);
    await until("it runs", () => server.engine.status().running === 1);
    let headCame = false;
    const asked = { ...body as object, temperature: 0, stream: true };
    const stream = server.post(path, asked).finally(() => headCame = true);
    await until("it waits", () => server.engine.status().waiting === 1);
    await (await fetch(server.url + "/health")).body?.cancel();
    assertEquals(headCame, false);
    running.close();
    const response = await stream;
    assertEquals(response.status, 200);
    assertMatch(await response.text(), begins);
    // Two more, of which the second waits until the server ends.
    const more = await openRequest(server.port, "/v1/generate", long);
    await until("it runs", () => server.engine.status().running === 1);
    using ended = await RawClient.connect(server.port, rawPost(path, asked));
    await until("it waits", () => server.engine.status().waiting === 1);
    server.stop();
    const text = await ended.rest();
    assertMatch(text, /^HTTP\/1.1 [45]\d\d /);
    assertMatch(text, cancelled);
    more.close();
  });
}

Deno.test("a held stream's head leaves when its time is up, and its client may leave before", async () => {
  await using server = await startServer({ contextLength: 65_536, app: { holdStreamsMs: 300 } });
  const long = { prompt: "a", max_tokens: 60_000, ...NO_END, stream: true };
  const running = await openRequest(server.port, "/v1/generate", { ...long, stream: false });
  await until("it runs", () => server.engine.status().running === 1);
  using client = await RawClient.connect(server.port, rawPost("/v1/generate", long));
  await client.until(/^HTTP\/1.1 200 OK\r\n/);
  const left = await openRequest(server.port, "/v1/generate", long);
  await until("it waits", () => server.engine.status().waiting === 2);
  left.close();
  await until("it has left", () => server.engine.status().waiting === 1);
  running.close();
  await client.until(/data: {"output"/);
  assert(!client.text.includes("error"), client.text);
});

Deno.test("a held stream of responses says that it begins when its time is up, and what becomes of it after", async () => {
  const app = { holdStreamsMs: 300 };
  await using server = await startChat({ contextLength: 65_536, app, drainMs: 200 });
  const long = { prompt: "a", max_tokens: 60_000, ...NO_END };
  const running = await openRequest(server.port, "/v1/generate", long);
  await until("it runs", () => server.engine.status().running === 1);
  const body = { input: HELLO, stream: true };
  using client = await RawClient.connect(server.port, rawPost("/v1/responses", body));
  await client.until(/^HTTP\/1.1 200 OK\r\n[^]*event: response.created\n/);
  assertEquals(server.engine.status().waiting, 1);
  server.stop();
  assertMatch(await client.rest(), /event: response.in_progress\n[^]*event: response.failed\n/);
  running.close();
});
