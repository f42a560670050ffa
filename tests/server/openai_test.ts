import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import OpenAI from "openai";
import { exerciseClient } from "../fixtures/openai_exercise.ts";
import { startChat } from "../fixtures/server_chat_fixture.ts";
import { MODEL, NO_END, startServer, type TestServer } from "../fixtures/server_fixture.ts";
import { until } from "../fixtures/waiting.ts";

const KEY = "sk-test";

function clientOf(server: TestServer, apiKey = KEY): OpenAI {
  return new OpenAI({ baseURL: server.url + "/v1", apiKey, maxRetries: 0 });
}

Deno.test("openai client: lists and retrieves models", async () => {
  await using server = await startServer({ app: { apiKey: KEY } });
  const client = clientOf(server);
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assertEquals(ids, [MODEL]);
  assertEquals((await client.models.retrieve(MODEL)).owned_by, "m40");
  const error = await assertRejects(() => client.models.retrieve("gpt-4"), OpenAI.NotFoundError);
  assertEquals([error.status, error.code], [404, "model_not_found"]);
});

Deno.test("openai client in a web page: a request whose deadline has passed is not sent again", async () => {
  const origin = "https://chat.example";
  const app = { timeoutMs: 200, corsOrigins: [origin] };
  await using server = await startServer({ contextLength: 65_536, app });
  let sent = 0;
  const client = new OpenAI({
    baseURL: server.url + "/v1",
    apiKey: KEY,
    maxRetries: 2,
    dangerouslyAllowBrowser: true,
    defaultHeaders: { Origin: origin },
    // As a browser has it: a page of another origin sees no header that is not exposed to it.
    fetch: async (url, init) => {
      sent++;
      const response = await fetch(url, init);
      const exposed = response.headers.get("access-control-expose-headers")!.toLowerCase();
      const seen = ["content-type", "content-length", ...exposed.split(/, ?/)];
      const shown = [...response.headers].filter(([name]) => seen.includes(name));
      return new Response(response.body, { status: response.status, headers: shown });
    },
  });
  const endless = { model: MODEL, prompt: "Hello", max_tokens: 60_000, ...NO_END };
  const error = await assertRejects(() => client.completions.create(endless), OpenAI.APIError);
  assertEquals([error.status, error.code, sent], [504, "timeout", 1]);
});

Deno.test("openai client: a completion, whole and streamed, is the same text", async () => {
  await using server = await startServer({ app: { apiKey: KEY } });
  const client = clientOf(server);
  const body = { model: MODEL, prompt: "Once upon a time", max_tokens: 12, ...NO_END };
  const whole = await client.completions.create(body);
  assertEquals(whole.usage?.completion_tokens, 12);
  assertEquals(whole.choices[0].finish_reason, "length");
  const stream = await client.completions.create({
    ...body,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let total: number | undefined;
  let finish: string | undefined;
  for await (const { choices, usage } of stream) {
    text += choices[0]?.text ?? "";
    finish = choices[0]?.finish_reason ?? finish;
    total = usage?.total_tokens ?? total;
  }
  assertEquals(text, whole.choices[0].text);
  assertEquals([finish, total], ["length", whole.usage?.total_tokens]);
});

Deno.test("openai client: aborting a stream frees the engine", async () => {
  await using server = await startServer({ contextLength: 65_536 });
  const stream = await clientOf(server).completions.create({
    model: MODEL,
    prompt: "Hello",
    max_tokens: 60_000,
    ...NO_END,
    stream: true,
  });
  let events = 0;
  for await (const _ of stream) {
    if (++events === 5) stream.controller.abort();
  }
  assert(events >= 5 && events < 60_000);
  await until("the engine is free", () => server.engine.status().running === 0);
});

Deno.test("openai client: errors are its own classes, with param and code", async () => {
  await using server = await startServer({ app: { apiKey: KEY } });
  const client = clientOf(server);
  const create = (more: Record<string, unknown>) =>
    client.completions.create({ model: MODEL, prompt: "Hello", max_tokens: 2, ...more });
  const range = await assertRejects(() => create({ temperature: 900 }), OpenAI.BadRequestError);
  assertEquals([range.param, range.type], ["temperature", "invalid_request_error"]);
  const long = await assertRejects(
    () => create({ prompt: Array(200).fill(5) }),
    OpenAI.BadRequestError,
  );
  assertEquals(long.code, "context_length_exceeded");
  const model = await assertRejects(() => create({ model: "gpt-4" }), OpenAI.NotFoundError);
  assertEquals(model.code, "model_not_found");
  const key = await assertRejects(
    () => clientOf(server, "wrong").models.list(),
    OpenAI.AuthenticationError,
  );
  assertEquals(key.code, "invalid_api_key");
});

Deno.test("openai client: an error in mid-stream is thrown as an APIError", async () => {
  await using server = await startServer({ contextLength: 65_536, drainMs: 0 });
  const stream = await clientOf(server).completions.create({
    model: MODEL,
    prompt: "Hello",
    max_tokens: 60_000,
    ...NO_END,
    stream: true,
  });
  const error = await assertRejects(async () => {
    for await (const _ of stream) server.stop();
  });
  assertInstanceOf(error, OpenAI.APIError);
  assertEquals(error.code, "cancelled");
});

Deno.test("openai client: a stream that waits for its turn lives on comments, which the client passes over", async () => {
  await using server = await startServer({ contextLength: 65_536, app: { commentMs: 20 } });
  const client = clientOf(server);
  const body = { model: MODEL, prompt: "Hello", max_tokens: 60_000, ...NO_END };
  const first = await client.completions.create({ ...body, stream: true });
  await until("the first runs", () => server.engine.status().running === 1);
  const second = await client.completions.create({ ...body, max_tokens: 4, stream: true });
  await until("the second waits", () => server.engine.status().waiting === 1);
  setTimeout(() => first.controller.abort(), 200);
  const finishes = [];
  for await (const { choices } of second) finishes.push(choices[0].finish_reason);
  assertEquals(finishes.at(-1), "length");
});

Deno.test("openai client: everything about text, chat, completions and responses, whole and streamed", async () => {
  await using server = await startChat({ contextLength: 4096, app: { apiKey: KEY } });
  await exerciseClient({ baseURL: server.url + "/v1", model: MODEL, apiKey: KEY });
});
