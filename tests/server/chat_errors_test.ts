import { assertEquals, assertMatch } from "@std/assert";
import { testBadRequests } from "../fixtures/bad_requests.ts";
import { patiently } from "../fixtures/patience.ts";
import { CHAT, chat, HELLO, startChat } from "../fixtures/server_chat_fixture.ts";
import {
  MODEL,
  NO_END,
  openRequest,
  RawClient,
  rawPost,
  readError,
  startServer,
} from "../fixtures/server_fixture.ts";
import { ENDLESS_TEMPLATE } from "../fixtures/render_jobs.ts";
import { soon, until } from "../fixtures/waiting.ts";

/** A user's message with this content. */
const says = (content: unknown) => ({ messages: [{ role: "user", content }] });

Deno.test("a chat's field of a wrong kind or out of range is answered with 400 by its name", async () => {
  await using server = await startChat();
  await testBadRequests(server, CHAT, { messages: HELLO, max_tokens: 2 }, [
    [{ messages: undefined }, "messages", /got nothing/],
    [{ messages: null }, "messages", /got null/],
    [{ messages: "Hello" }, "messages", /wanted an array.*"Hello"/],
    [{ messages: [] }, "messages", /at least one message/],
    [{ messages: {} }, "messages"],
    [{ messages: ["Hello"] }, "messages.0", /wanted an object/],
    [{ messages: [...HELLO, null] }, "messages.1"],
    [{ messages: [{ content: "a" }] }, "messages.0.role", /got nothing/],
    [{ messages: [{ role: "robot", content: "a" }] }, "messages.0.role", /"robot"/],
    [{ messages: [{ role: "user" }] }, "messages.0.content", /got nothing/],
    [says(null), "messages.0.content", /got null/],
    [says(5), "messages.0.content", /string or an array.*got 5/],
    [says(["Hello"]), "messages.0.content.0", /a part such as/],
    [says([{ text: "a" }]), "messages.0.content.0.type"],
    [says([{ type: "text" }]), "messages.0.content.0.text"],
    [says([{ type: "text", text: "a" }, { type: "text", text: 1 }]), "messages.0.content.1.text"],
    [{ messages: [{ ...HELLO[0], name: 5 }] }, "messages.0.name"],
    [
      { messages: [...HELLO, { role: "assistant", content: "a", reasoning_content: 1 }] },
      "messages.1.reasoning_content",
    ],
    [{ n: 0 }, "n"],
    [{ n: 9 }, "n", /from 1 to 8; got 9/],
    [{ max_completion_tokens: "5" }, "max_completion_tokens"],
    [{ max_completion_tokens: -2 }, "max_completion_tokens"],
    [{ reasoning_budget: -2 }, "reasoning_budget"],
    [{ reasoning_budget: "none" }, "reasoning_budget"],
    [{ reasoning_effort: 5 }, "reasoning_effort"],
    [{ chat_template: 5 }, "chat_template"],
    [{ chat_template: "{{ x }}" }, "chat_template", /no chat template/],
    [{ chat_template_kwargs: [] }, "chat_template_kwargs"],
    [{ chat_template_kwargs: "enable_thinking" }, "chat_template_kwargs"],
    [{ continue_final_message: "yes" }, "continue_final_message"],
    [{ add_generation_prompt: 0 }, "add_generation_prompt"],
    [{ logprobs: 5 }, "logprobs"],
    [{ logprobs: true, top_logprobs: 21 }, "top_logprobs"],
    [{ top_logprobs: 2 }, "top_logprobs", /needs logprobs/],
    [{ logprobs: false, top_logprobs: 2 }, "top_logprobs"],
    [{ stream_options: [] }, "stream_options"],
    [{ stream_options: { include_usage: 1 } }, "stream_options.include_usage"],
    [{ tools: {} }, "tools"],
    [{ functions: "f" }, "functions"],
    [{ response_format: "text" }, "response_format"],
    [{ response_format: {} }, "response_format.type"],
    [{ modalities: "text" }, "modalities"],
    [{ modalities: [1] }, "modalities.0"],
    [{ user: 5 }, "user"],
  ]);
});

Deno.test("what a chat cannot do is refused by name, rather than done otherwise", async () => {
  await using server = await startChat();
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  const audio = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
  const tool = { type: "function", function: { name: "f", parameters: {} } };
  const calls = [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }];
  const cases: [Record<string, unknown>, string, RegExp][] = [
    [says([{ type: "text", text: "a" }, image]), "messages.0.content.1", /"image_url".*text alone/],
    [says([audio]), "messages.0.content.0", /"input_audio"/],
    [{ tools: [tool, { type: "plugin" }] }, "tools.1.type", /"plugin".*Send functions/],
    [{ functions: [tool.function] }, "functions", /older form of tools. Send tools/],
    [{ tools: [tool], tool_choice: { type: "allowed_tools" } }, "tool_choice", /"allowed_tools"/],
    [{ function_call: { name: "f" } }, "function_call", /not supported/],
    [{ modalities: ["text", "audio"] }, "modalities", /"audio"/],
    [{ audio: { voice: "alloy" } }, "audio", /not supported/],
    [{ web_search_options: {} }, "web_search_options", /not supported/],
    [
      {
        messages: [...HELLO, { role: "assistant", tool_calls: [{ ...calls[0], type: "plugin" }] }],
      },
      "messages.1.tool_calls.0.type",
      /calls of the type "plugin"|the string "plugin"/,
    ],
    [
      {
        messages: [...HELLO, {
          role: "assistant",
          function_call: calls[0].function,
          tool_calls: calls,
        }],
      },
      "messages.1.function_call",
      /Send tool_calls alone/,
    ],
  ];
  const rows = cases.map((row) => [...row, "unsupported"] as const);
  await testBadRequests(server, CHAT, { messages: HELLO }, rows);
});

Deno.test("roles, names, absent content, refusals and tool messages of text reach the template", async () => {
  const template = "{% for m in messages %}[{{ m.role }}|{{ m.name }}|{{ m.content }}]{% endfor %}";
  await using server = await startChat(
    {},
    template + "{{ raise_exception(messages[-1].content) }}",
  );
  const messages = [
    { role: "developer", content: "D" },
    { role: "user", name: "Ann", content: "U" },
    { role: "assistant", content: null, refusal: "No.", tool_calls: [] },
    { role: "assistant", content: [{ type: "refusal", refusal: "Never." }] },
    { role: "tool", tool_call_id: "1", content: [{ type: "text", text: "the last" }] },
  ];
  const error = await readError(await server.post(CHAT, { messages }), 400);
  assertEquals(error.param, "messages");
  assertMatch(error.message, /the last/, "the template's own words");
});

Deno.test("the error of a model without a template says so, and what to do", async () => {
  await using server = await startServer();
  const error = await readError(await server.post(CHAT, { messages: HELLO }), 400);
  assertEquals([error.code, error.param], ["no_chat_template", "model"]);
  assertMatch(error.message, new RegExp(`"${MODEL}".*--chat-template.*/v1/completions`));
});

Deno.test("a template that never ends is ended, and others are served meanwhile", async () => {
  const loop = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
  await using server = await startChat(
    {},
    `{% if loop %}${loop}{% endif %}{{ messages[0].content }}`,
  );
  const endless = server.post(CHAT, { messages: HELLO, chat_template_kwargs: { loop: true } });
  const completion = await server.post("/v1/completions", { prompt: "Hi", max_tokens: 2 });
  assertEquals(completion.status, 200, await completion.text());
  const error = await readError(await soon("the template is ended", endless), 400);
  assertEquals([error.code, error.param], ["invalid_request", "messages"]);
  assertMatch(error.message, /template/);
  await chat(server, {});
});

Deno.test("a conversation beyond the context is answered with both numbers, streamed or not", async () => {
  await using server = await startChat();
  for (const stream of [false, true]) {
    const body = { ...says("word ".repeat(200)), stream };
    const error = await readError(await server.post(CHAT, body), 400);
    assertEquals(error.code, "context_length_exceeded");
    assertMatch(error.message, /\b128\b/);
  }
});

Deno.test("a client that leaves while its template runs starts no generation", async () => {
  const loop = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
  await using server = await startChat(
    {},
    `{% if loop %}${loop}{% endif %}{{ messages[0].content }}`,
  );
  const body = { messages: HELLO, chat_template_kwargs: { loop: true } };
  const client = await RawClient.connect(server.port, rawPost(CHAT, body));
  await new Promise((resolve) => setTimeout(resolve, 50));
  client.close();
  // Another conversation has its turn all the same.
  await soon("its turn", chat(server, { max_tokens: 1 }));
  assertEquals(server.engine.status().generatedTokens, 1);
});

Deno.test("a deadline counts the time of the template, and the error says what was under way", () =>
  patiently(endsTemplates));

async function endsTemplates(times: number): Promise<void> {
  await using server = await startChat({ app: { timeoutMs: 60 * times } }, ENDLESS_TEMPLATE);
  for (const path of [CHAT, "/apply-template"]) {
    const error = await readError(await server.post(path, { messages: HELLO }), 504);
    assertEquals(error.code, "timeout");
    assertMatch(error.message, /prompt was still being made/);
  }
}

Deno.test("a draining server refuses chats and ends those that take too long", async () => {
  await using server = await startChat({ contextLength: 65_536, drainMs: 300 });
  const body = { messages: HELLO, max_tokens: 60_000, ...NO_END, stream: true };
  const running = await server.post(CHAT, body);
  await until("it runs", () => server.engine.status().running === 1);
  server.stop();
  const error = await readError(await server.post(CHAT, { messages: HELLO }), 503);
  assertEquals(error.code, "draining");
  const events = (await soon("its end", running.text())).trimEnd().split("\n\n");
  assertEquals(JSON.parse(events.at(-1)!.slice("data: ".length)).error.code, "cancelled");
  await server.finished;
});

Deno.test("when too many wait a chat is 429 with Retry-After, all answers or none", async () => {
  await using server = await startChat({
    contextLength: 65_536,
    engine: { maxQueue: 1, chatTemplate: "{{ messages[0].content }}" },
  });
  using _first = await openRequest(server.port, CHAT, {
    messages: HELLO,
    max_tokens: 60_000,
    ...NO_END,
  });
  await until("it runs", () => server.engine.status().running === 1);
  const response = await server.post(CHAT, { messages: HELLO, n: 2 });
  assertMatch(response.headers.get("retry-after")!, /^\d+$/);
  assertEquals((await readError(response, 429)).code, "queue_full");
  assertEquals(server.engine.status().waiting, 0);
});
