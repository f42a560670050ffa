// All errors under /v1/messages have Anthropic's shape, with its statuses and types.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { AnthropicError } from "../../../server/anthropic/dialect.ts";
import { type BadRequest, testBadRequests } from "../../fixtures/bad_requests.ts";
import { patiently } from "../../fixtures/patience.ts";
import { HELLO, startChat } from "../../fixtures/server_chat_fixture.ts";
import { openRequest, RawClient, rawPost, startServer } from "../../fixtures/server_fixture.ts";
import { gate, startModels } from "../../fixtures/server_models_fixture.ts";
import {
  MESSAGES,
  messagesBody,
  readAnthropicError,
} from "../../fixtures/server_anthropic_fixture.ts";
import { until } from "../../fixtures/waiting.ts";

const COUNT = `${MESSAGES}/count_tokens`;
const message = (content: unknown, role = "user") => ({ messages: [{ role, content }] });
const block = (type: string, more = {}) => message([{ type, ...more }]);

const TOOL = { name: "f", input_schema: { type: "object" } };
const call = { type: "tool_use", id: "a", name: "f", input: {} };
const nested = (levels: number) => {
  let value = {};
  for (let i = 0; i < levels; i++) value = { a: value };
  return value;
};
const calls = (more: object) => message([{ ...call, ...more }], "assistant");
/** A user's results after a call. */
const results = (...some: object[]) => ({
  messages: [
    ...calls({}).messages,
    {
      role: "user",
      content: some.map((more) => ({ type: "tool_result", tool_use_id: "a", ...more })),
    },
  ],
});

/** What is wrong with a body, and what the message says of it. */
const WRONG: readonly BadRequest[] = [
  [{ max_tokens: undefined }, "max_tokens: wanted an integer from 1"],
  [{ max_tokens: 0 }, "max_tokens: wanted an integer from 1"],
  [{ messages: [] }, "messages: wanted an array of at least one message"],
  [{ messages: undefined }, "messages: wanted"],
  [message("a", "tool"), 'messages.0.role: wanted "user", "assistant", "system"'],
  [message(null), "messages.0.content: wanted a string or an array of blocks; got null"],
  [message(undefined), "messages.0.content: wanted a string or an array of blocks; got nothing"],
  [message([1]), "messages.0.content.0: wanted a block"],
  [block("text"), "messages.0.content.0.text: wanted a string"],
  [block("image", { source: {} }), 'blocks of the type "image" are not supported'],
  [block("document"), '"document" are not supported'],
  [block("thinking", { thinking: "a" }), '"thinking" are not supported'],
  [block("tool_use"), '"tool_use" are not supported here'],
  [block("tool_result"), "messages.0.content.0.tool_use_id: wanted the id of a tool_use block"],
  [calls({ id: "" }), "messages.0.content.0.id: wanted a string"],
  [calls({ name: 5 }), "messages.0.content.0.name: wanted a string"],
  [calls({}), "messages.0.content: the conversation ends with calls of tools"],
  [results({ is_error: "yes" }), "messages.1.content.0.is_error: wanted true or false"],
  [results({ content: 5 }), "messages.1.content.0.content: wanted a string or an array"],
  [results({ content: [{ type: 5 }] }), "messages.1.content.0.content.0.type: wanted a string"],
  [{ system: 5 }, "system: wanted a string or an array of blocks"],
  [{ system: [{ type: "image" }] }, "system.0: blocks of the type"],
  [{ temperature: 1.5 }, "temperature: wanted a number from 0 to 1; got 1.5"],
  [{ stop_sequences: "a" }, "stop_sequences: wanted an array of up to 16 strings"],
  [{ thinking: { type: "sometimes" } }, 'thinking.type: wanted "enabled", "disabled", "adaptive"'],
  [{ thinking: { type: "enabled" } }, "thinking.budget_tokens: wanted a number of tokens"],
  [{ thinking: { type: "enabled", budget_tokens: 0 } }, "thinking.budget_tokens: wanted"],
  [{ tools: [5] }, "tools.0: wanted an object"],
  [{ tools: [{ input_schema: {} }] }, "tools.0.name: wanted the name of a tool"],
  [{ tools: [{ name: "f" }] }, "tools.0.input_schema: wanted a JSON Schema"],
  [{ tools: [{ name: "f g", input_schema: {} }] }, "f g"],
  [{ tools: [TOOL, TOOL] }, "another tool of the name f"],
  [
    { messages: [...calls({ input: nested(100) }).messages, results({}).messages[1]] },
    "nested more than 64 deep",
  ],
  [
    { tools: [TOOL, { type: "web_search_20250305", name: "web_search" }] },
    'tools.1: tools of the type "web_search_20250305" are not supported',
  ],
  [{ tool_choice: { type: "any" } }, 'tool_choice.type: wanted "any" together with tools'],
  [{ tool_choice: { type: "some" } }, 'tool_choice.type: wanted "auto", "any", "tool", "none"'],
  [{ tools: [TOOL], tool_choice: { type: "tool" } }, "tool_choice.name: wanted the name of one"],
  [{ tools: [TOOL], tool_choice: { type: "tool", name: "g" } }, 'the string "g"'],
  [{ mcp_servers: [{}] }, "mcp_servers are not supported"],
  [{ container: "c" }, "container is not supported"],
  [{ output_config: { format: { type: "json_schema" } } }, "format.schema: wanted a JSON Schema"],
  [
    { output_config: { format: { type: "text" } } },
    'output_config.format: the type "text"',
  ],
  [
    { output_config: { format: { type: "json_schema", schema: { type: "strange" } } } },
    "output_config.format.schema",
  ],
  [{ messages: [{ role: "user", content: "word ".repeat(500) }] }, "the context has 128"],
];

Deno.test("a prompt that is too long begins with the words that agents look for, and both numbers", async () => {
  await using server = await startChat();
  const long = (words: number) => messagesBody(message("word ".repeat(words)));
  // The second one's tokens are not all counted.
  for (const words of [100, 2000]) {
    for (const stream of [false, true]) {
      const response = await server.post(MESSAGES, { ...long(words), stream });
      const error = await readAnthropicError(response, 400);
      assertEquals(error.type, "invalid_request_error");
      const [, tokens, most] = /^prompt is too long: (\d+) tokens > (\d+) maximum: /.exec(
        error.message,
      )!;
      assert(Number(tokens) > Number(most), error.message);
      assert(Number(most) === 127 || Number(most) === 128, error.message);
      assertStringIncludes(error.message, "the context has 128");
    }
  }
  const counted = await readAnthropicError(await server.post(COUNT, long(2000)), 400);
  assert(counted.message.startsWith("prompt is too long: "), counted.message);
  // What is wrong with something else has no such words.
  const other = await readAnthropicError(
    await server.post(MESSAGES, messagesBody({ tools: 5 })),
    400,
  );
  assert(!other.message.includes("prompt is too long"), other.message);
});

Deno.test("a wrong field and what is not done are 400 invalid_request_error, and named", async () => {
  await using server = await startChat();
  await testBadRequests(server, MESSAGES, messagesBody(), WRONG);
  for (const [more, says] of WRONG.filter(([more]) => "messages" in more || "tools" in more)) {
    const response = await server.post(COUNT, messagesBody(more));
    // The tokens of a prompt that is too long can be counted, up to a limit.
    if (response.status === 200) {
      assertStringIncludes(says, "context");
      await response.body?.cancel();
    } else assertStringIncludes((await readAnthropicError(response, 400)).message, says);
  }
});

Deno.test("every other refusal has Anthropic's type for its status, and the header request-id", async () => {
  await using server = await startChat({ app: { apiKey: "k", maxBodyBytes: 2000 } });
  const key = { "x-api-key": "k" };
  const send = (body: unknown, headers: Record<string, string> = key, path = MESSAGES) =>
    server.post(path, body, { headers });
  const get = (path: string, method = "GET") => fetch(server.url + path, { method, headers: key });
  const cases: [Promise<Response>, number, string][] = [
    [send(messagesBody(), {}), 401, "authentication_error"],
    [send(messagesBody(), { "x-api-key": "x" }), 401, "authentication_error"],
    [send(messagesBody(), { ...key, origin: "https://evil.example" }), 403, "permission_error"],
    [send(messagesBody({ model: "nobody" })), 404, "not_found_error"],
    [get(`${MESSAGES}/batches`), 404, "not_found_error"],
    [get(MESSAGES), 405, "invalid_request_error"],
    [send(messagesBody({ system: "a".repeat(3000) })), 413, "request_too_large"],
    [send(messagesBody(), { ...key, "Content-Type": "text/plain" }), 415, "invalid_request_error"],
    [send("{"), 400, "invalid_request_error"],
    [send(messagesBody({ model: "nobody" }), key, COUNT), 404, "not_found_error"],
  ];
  for (const [response, status, type] of cases) {
    assertEquals((await readAnthropicError(await response, status)).type, type);
  }
  // What is not under /v1/messages stays OpenAI's.
  const other = await (await get("/v1/messagesx")).json();
  assertEquals(other.error.code, "not_found");
});

Deno.test("a model without a chat template is refused with what to do", async () => {
  await using server = await startServer();
  const error = await readAnthropicError(await server.post(MESSAGES, messagesBody()), 400);
  assertStringIncludes(error.message, "--chat-template");
});

Deno.test("a full queue is 429 rate_limit_error with Retry-After, a server that ends 529 overloaded_error", async () => {
  await using server = await startChat({
    contextLength: 65_536,
    engine: { maxQueue: 0 },
    drainMs: 60_000,
  });
  const long = messagesBody({ max_tokens: 60_000, stream: true });
  using _first = await openRequest(server.port, MESSAGES, long);
  await until("the first runs", () => server.engine.status().running === 1);
  const full = await server.post(MESSAGES, messagesBody());
  assert(Number(full.headers.get("retry-after")) >= 1);
  assertEquals((await readAnthropicError(full, 429)).type, "rate_limit_error");
  server.stop();
  const draining = await server.post(MESSAGES, messagesBody());
  assert(Number(draining.headers.get("retry-after")) >= 1);
  assertEquals((await readAnthropicError(draining, 529)).type, "overloaded_error");
});

Deno.test("an error in a stream is the event error, with the stream's request id, and its end", () =>
  patiently(endsWithError));

async function endsWithError(times: number): Promise<void> {
  await using server = await startChat({ contextLength: 65_536, app: { timeoutMs: 400 * times } });
  // The template's thread is there, so that the deadline passes while tokens are sampled.
  await server.engine.chat!.prompt({ messages: [{ role: "user", content: "Hello" }] });
  const response = await server.post(
    MESSAGES,
    messagesBody({ max_tokens: 60_000, stream: true }),
  );
  const text = await response.text();
  assertEquals(response.status, 200);
  const [, json] = /\n\nevent: error\ndata: (.*)\n\n$/.exec(text)!;
  const { error, request_id } = AnthropicError.parse(JSON.parse(json));
  assertEquals(error.type, "timeout_error");
  assertEquals(request_id, response.headers.get("request-id"));
  assert(!text.includes("message_stop"));
}

Deno.test("while a model is loaded a stream says so in comments and pings; one that there is not is 404", async () => {
  const { wait, open } = gate();
  await using server = await startModels({
    engine: { chatTemplate: "{% for m in messages %}{{ m.content }}{% endfor %}" },
    app: { loadingCommentMs: 20 },
    beforeLoad: wait,
  });
  const body = { model: "qwen3", messages: HELLO, max_tokens: 3, stream: true };
  using client = await RawClient.connect(server.port, rawPost(MESSAGES, body));
  await client.until(/: loading model qwen3\nevent: ping\ndata: {"type":"ping"}\n\n/);
  assertEquals(server.manager.waiting(), 1);
  open();
  await client.until(/event: message_start\ndata: .*"model":"qwen3"/);
  await client.until(/event: message_stop\n/);
  const unknown = await server.post(MESSAGES, { ...body, model: "qwen33" });
  const { type, message } = await readAnthropicError(unknown, 404);
  assertEquals(type, "not_found_error");
  assertStringIncludes(message, "qwen3");
  const counted = await server.post(COUNT, { model: "llama", messages: HELLO });
  assert((await counted.json()).input_tokens > 0);
});
