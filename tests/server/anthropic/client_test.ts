import Anthropic from "@anthropic-ai/sdk";
import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { exerciseClient } from "../../fixtures/anthropic_exercise.ts";
import { MESSAGES, messagesBody } from "../../fixtures/server_anthropic_fixture.ts";
import { HELLO, startChat } from "../../fixtures/server_chat_fixture.ts";
import { MODEL, NO_END, openRequest } from "../../fixtures/server_fixture.ts";
import { until } from "../../fixtures/waiting.ts";

const KEY = "sk-ant-test";

Deno.test("anthropic client: everything about text, whole and streamed", async () => {
  await using server = await startChat({ contextLength: 8192, app: { apiKey: KEY } });
  await exerciseClient({ baseURL: server.url, model: MODEL, apiKey: KEY });
});

Deno.test("anthropic client: pings while a stream waits for its turn are passed over", async () => {
  await using server = await startChat({ contextLength: 65_536, app: { commentMs: 20 } });
  const client = new Anthropic({ baseURL: server.url, apiKey: KEY, maxRetries: 0 });
  const asked = { model: MODEL, messages: HELLO as Anthropic.MessageParam[], ...NO_END };
  const long = messagesBody({ max_tokens: 60_000, stream: true });
  using first = await openRequest(server.port, MESSAGES, long);
  await until("the first runs", () => server.engine.status().running === 1);
  const second = client.messages.stream({ ...asked, max_tokens: 4 });
  await until("the second waits", () => server.engine.status().waiting === 1);
  setTimeout(() => first.close(), 200);
  assertEquals((await second.finalMessage()).stop_reason, "max_tokens");
});

Deno.test("anthropic client: an error in mid-stream is thrown as an APIError of its type", async () => {
  await using server = await startChat({ contextLength: 65_536, drainMs: 0 });
  const client = new Anthropic({ baseURL: server.url, apiKey: KEY, maxRetries: 0 });
  const body = messagesBody({ max_tokens: 60_000 }) as unknown as Anthropic.MessageCreateParams;
  const stream = await client.messages.create({ ...body, stream: true });
  const error = await assertRejects(async () => {
    for await (const _ of stream) server.stop();
  });
  assertInstanceOf(error, Anthropic.APIError);
  assert(JSON.stringify(error.error).includes("overloaded_error"), JSON.stringify(error.error));
});
