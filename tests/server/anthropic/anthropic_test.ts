// Anthropic's messages: answers and streams field by field, and what of a request reaches the model.
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { chat, completionOf, HELLO, startChat } from "../../fixtures/server_chat_fixture.ts";
import { MODEL, NO_END, openRequest, RawClient, rawPost } from "../../fixtures/server_fixture.ts";
import {
  assembled,
  message,
  messageEvents,
  MESSAGES,
  messagesBody,
  textOf,
  withoutId,
} from "../../fixtures/server_anthropic_fixture.ts";
import { until } from "../../fixtures/waiting.ts";

const said = (role: string, content: unknown) => ({ role, content });
const text = (text: string) => ({ type: "text", text });

Deno.test("an answer has the text of OpenAI's chat, and the fields that Anthropic sends", async () => {
  await using server = await startChat();
  const { choices: [{ message: { content } }], usage } = await chat(server, { max_tokens: 6 });
  assertEquals(withoutId(await message(server)), {
    type: "message",
    role: "assistant",
    model: MODEL,
    content: [{ type: "text", text: content }],
    stop_reason: "max_tokens",
    stop_sequence: null,
    usage: {
      input_tokens: usage.prompt_tokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 6,
      output_tokens_details: { thinking_tokens: 0 },
      service_tier: "standard",
    },
  });
});

Deno.test("a stream's events are the published ones in their order, and make the whole answer", async () => {
  await using server = await startChat();
  const events = await messageEvents(server);
  const types = events.map(({ type }) => type).filter((one) => one !== "content_block_delta");
  assertEquals(types, [
    "message_start",
    "ping",
    "content_block_start",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
  assert(events.length > types.length + 1, "the text comes in pieces");
  assertEquals(withoutId(assembled(events)), withoutId(await message(server)));
});

Deno.test("stop sequences end the answer wherever pieces are cut, and the first one met is named", async () => {
  await using server = await startChat();
  const whole = textOf(await message(server, { max_tokens: 24 }));
  for (let at = 1; at < whole.length - 3; at += 3) {
    const stop = whole.slice(at, at + 3);
    const first = whole.indexOf(stop);
    const more = { max_tokens: 24, stop_sequences: ["\u0001never", stop] };
    const answer = await message(server, more);
    assertEquals(textOf(answer), whole.slice(0, first));
    assertEquals([answer.stop_reason, answer.stop_sequence], ["stop_sequence", stop]);
    assertEquals(withoutId(assembled(await messageEvents(server, more))).content, answer.content);
  }
});

Deno.test("an end token is end_turn, and the end of the context is distinguished from max_tokens", async () => {
  await using server = await startChat();
  const ended = await message(server, { logit_bias: { "2": 100 } });
  assertEquals([ended.stop_reason, ended.stop_sequence, ended.content], ["end_turn", null, []]);
  const streamed = await messageEvents(server, { logit_bias: { "2": 100 } });
  assertEquals(assembled(streamed).content, []);
  const full = await message(server, { max_tokens: 100_000 });
  assertEquals(full.stop_reason, "model_context_window_exceeded");
});

Deno.test("tokens of the prefix cache are cache_read_input_tokens, and not input_tokens", async () => {
  await using server = await startChat({ contextLength: 1024 });
  const messages = [said("user", "word ".repeat(60))];
  const first = await message(server, { messages });
  const again = assembled(await messageEvents(server, { messages }));
  const { input_tokens, cache_read_input_tokens } = again.usage;
  assert(cache_read_input_tokens >= 32, String(cache_read_input_tokens));
  assertEquals(input_tokens + cache_read_input_tokens, first.usage.input_tokens);
  assertEquals(again.content, first.content);
});

Deno.test("system, blocks, cache_control and turns of one role make the prompt that they say", async () => {
  await using server = await startChat();
  const ephemeral = { cache_control: { type: "ephemeral" } };
  const answer = await message(server, {
    system: [{ ...text("S"), ...ephemeral }],
    messages: [
      said("user", [{ ...text("one"), citations: null, ...ephemeral }]),
      said("user", "two"),
      said("assistant", [{ type: "thinking", thinking: "T", signature: "x" }, text("three")]),
      said("assistant", [{ type: "redacted_thinking", data: "…" }]),
      said("user", [text("four"), text("five")]),
    ],
    ...ephemeral,
    metadata: { user_id: "me" },
    service_tier: "auto",
    tools: [],
    tool_choice: { type: "auto" },
    unknown_field: 1,
  });
  const prompt = "s:S\nu:one\ntwo\na:three\nu:four\nfive\na:";
  assertEquals(textOf(answer), await completionOf(server, prompt));
});

Deno.test("thinking that is given back reaches the template, as the server's own answer has it", async () => {
  const template = "{% for m in messages %}{{ m.role[0] }}[{{ m.reasoning_content }}]" +
    "{{ m.content }}\n{% endfor %}a:";
  await using server = await startChat({}, template);
  const messages = [
    ...HELLO,
    said("assistant", [
      { type: "thinking", thinking: "T", signature: "m40" },
      { type: "thinking", thinking: "U", signature: "" },
      text("A"),
    ]),
    said("user", "B"),
  ];
  const prompt = "u[]Hello\na[T\n\nU]A\nu[]B\na:";
  assertEquals(textOf(await message(server, { messages })), await completionOf(server, prompt));
});

Deno.test("an assistant's last message is continued and not answered", async () => {
  await using server = await startChat();
  for (const content of ["I ", [text("I ")]]) {
    const answer = await message(server, { messages: [...HELLO, said("assistant", content)] });
    assertEquals(textOf(answer), await completionOf(server, "u:Hello\na:I "));
  }
});

Deno.test("sampling fields reach the engine: a seed samples the same, another something else", async () => {
  await using server = await startChat();
  const sampled = async (more: Record<string, unknown>) =>
    textOf(
      await message(server, { temperature: 1, top_k: 50, top_p: 0.95, max_tokens: 12, ...more }),
    );
  assertEquals(await sampled({ seed: 5 }), await sampled({ seed: 5 }));
  assertNotEquals(await sampled({ seed: 5 }), await sampled({ seed: 6 }));
  const greedy = textOf(await message(server, { max_tokens: 12 }));
  assertEquals(await sampled({ top_k: 1 }), greedy);
  assertEquals(await sampled({ top_p: 0 }), greedy);
});

Deno.test("count_tokens says what the prompt of an answer takes, whether max_tokens comes with it or not", async () => {
  await using server = await startChat();
  const counted = async (body: Record<string, unknown>) => {
    const response = await server.post(`${MESSAGES}/count_tokens`, body);
    const answer = await response.json();
    assertEquals([response.status, Object.keys(answer)], [200, ["input_tokens"]]);
    return answer.input_tokens;
  };
  const { usage } = await message(server, { system: "S" });
  const { max_tokens: _, ...body } = messagesBody({ system: "S" });
  assertEquals(await counted(body), usage.input_tokens);
  assertEquals(await counted({ ...body, max_tokens: 5 }), usage.input_tokens);
  assert(await counted({ messages: HELLO }) < usage.input_tokens);
});

Deno.test("an answer in a format of output_config is JSON that its schema accepts", async () => {
  await using server = await startChat();
  const schema = {
    type: "object",
    properties: { a: { enum: [17] } },
    required: ["a"],
    additionalProperties: false,
  };
  const more = {
    output_config: { format: { type: "json_schema", schema } },
    max_tokens: 100,
    logit_bias: {},
  };
  const answer = await message(server, more);
  assertEquals([JSON.parse(textOf(answer)), answer.stop_reason], [{ a: 17 }, "end_turn"]);
  assertEquals(assembled(await messageEvents(server, more)).content, answer.content);
});

Deno.test("a stream that waits for its turn lives on pings", async () => {
  await using server = await startChat({ contextLength: 65_536, app: { commentMs: 20 } });
  const long = messagesBody({ max_tokens: 60_000, stream: true });
  using first = await openRequest(server.port, MESSAGES, long);
  await until("the first runs", () => server.engine.status().running === 1);
  using second = await RawClient.connect(
    server.port,
    rawPost(MESSAGES, { ...long, max_tokens: 4 }),
  );
  await second.until(/: waiting\nevent: ping\ndata: {"type":"ping"}\n\n/);
  assert(!second.text.includes("message_start"));
  first.close();
  await second.until(/event: message_stop\n/);
});

Deno.test("anthropic-version and other headers of Anthropic's are accepted; keys come in x-api-key", async () => {
  await using server = await startChat({ app: { apiKey: "k" } });
  const send = (headers: Record<string, string>) =>
    server.post(MESSAGES, messagesBody(), { headers });
  const good = await send({
    "x-api-key": "k",
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "a,b",
  });
  assertEquals((await good.json()).role, "assistant");
  assertEquals((await (await send({ authorization: "Bearer k" })).json()).role, "assistant");
});

Deno.test("answers of the two dialects are counted together in /metrics", async () => {
  await using server = await startChat();
  await message(server);
  await chat(server, NO_END);
  const page = await (await fetch(server.url + "/metrics")).text();
  assertStringIncludes(page, 'm40_http_responses_total{status="200"} 2');
});
