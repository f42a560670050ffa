// Calls of tools and their results, in Anthropic's shape.
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ContentBlock } from "../../../server/anthropic/answer_schemas.ts";
import {
  assembled,
  message,
  messageEvents,
  MESSAGES,
  messagesBody,
  readAnthropicError,
} from "../../fixtures/server_anthropic_fixture.ts";
import { HELLO, startChat } from "../../fixtures/server_chat_fixture.ts";
import { answerOf, type TestServer } from "../../fixtures/server_fixture.ts";
import { checkCall, TIME, WEATHER } from "../../fixtures/weather_tool.ts";

/** Shows tools and results as the template of a model does that knows them. */
const TEMPLATE = "{% for t in tools or [] %}T:{{ t.function | tojson }}\n{% endfor %}" +
  "{% for m in messages %}{{ m.role[0] }}:{{ m.content or '' }}" +
  "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}\n{% endfor %}" +
  "{% if add_generation_prompt %}a:{% if enable_thinking %}<think>{% endif %}{% endif %}";

const TOOLS = [
  { name: WEATHER.name, description: WEATHER.description, input_schema: WEATHER.parameters },
  { type: "custom", name: TIME.name, input_schema: TIME.parameters },
];
const ASKED = {
  tools: TOOLS,
  tool_choice: { type: "any" },
  max_tokens: 400,
  temperature: 0,
  logit_bias: {},
};

type ToolUse = ContentBlock & { type: "tool_use" };

function start(): Promise<TestServer> {
  return startChat({ contextLength: 4096 }, TEMPLATE);
}

/** The calls of a message, each of which fits its tool. */
function callsOf(content: readonly ContentBlock[]): ToolUse[] {
  const calls = content.filter((block) => block.type === "tool_use");
  for (const { name, input } of calls) checkCall(name, input);
  return calls;
}

/** Content without the ids of calls, which are each answer's own. */
function withoutIds(content: readonly ContentBlock[]): unknown[] {
  return content.map((block) => block.type === "tool_use" ? { ...block, id: "" } : block);
}

Deno.test("a call that must be is a block with its input, stop_reason tool_use, whole and streamed", async () => {
  await using server = await start();
  const whole = await message(server, ASKED);
  assertEquals(whole.stop_reason, "tool_use");
  const calls = callsOf(whole.content);
  assert(calls.length >= 1);
  for (const { id, caller } of calls) {
    assertMatch(id, /^[A-Za-z0-9_-]+$/);
    assertEquals(caller, { type: "direct" });
  }
  const events = await messageEvents(server, ASKED);
  const streamed = assembled(events);
  assertEquals(withoutIds(streamed.content), withoutIds(whole.content));
  assertEquals(streamed.stop_reason, "tool_use");
  const pieces = events.flatMap((event) =>
    event.type === "content_block_delta" && event.delta.type === "input_json_delta"
      ? [event.delta.partial_json]
      : []
  );
  assert(pieces.length > calls.length, "an input comes as it is sampled");
});

Deno.test("tool_choice: the one of a name, none, and one call at most", async () => {
  await using server = await start();
  for (const seed of [1, 2, 3]) {
    const body = { ...ASKED, temperature: 1, seed };
    const named = await message(server, { ...body, tool_choice: { type: "tool", name: "time" } });
    assert(callsOf(named.content).every(({ name }) => name === "time"));
    const one = { type: "any", disable_parallel_tool_use: true };
    assertEquals(callsOf((await message(server, { ...body, tool_choice: one })).content).length, 1);
    const none = await message(server, { ...body, max_tokens: 20, tool_choice: { type: "none" } });
    assertEquals(callsOf(none.content), []);
    const auto = await message(server, { ...body, max_tokens: 20, tool_choice: null });
    assert(["end_turn", "max_tokens", "tool_use"].includes(auto.stop_reason!));
  }
});

Deno.test("an answer that is cut within a call says so, and has nothing of its input", async () => {
  await using server = await start();
  const whole = await message(server, { ...ASKED, tool_choice: { type: "tool", name: "weather" } });
  const [first] = callsOf(whole.content);
  for (let most = 1; most < whole.usage.output_tokens; most += 11) {
    const body = { ...ASKED, tool_choice: { type: "tool", name: "weather" }, max_tokens: most };
    const cut = await message(server, body);
    assertEquals(cut.stop_reason, "max_tokens");
    for (const block of cut.content) {
      if (block.type === "tool_use") {
        assert(Object.keys(block.input).length === 0 || block.input.city === first.input.city);
      }
    }
    assertEquals(
      withoutIds(assembled(await messageEvents(server, body)).content),
      withoutIds(cut.content),
    );
  }
});

Deno.test("calls and results reach the template: texts of results, errors, what the user says next to them", async () => {
  await using server = await start();
  const call = (id: string, name: string, input: object) => ({ type: "tool_use", id, name, input });
  const result = (id: string, content?: unknown, more = {}) => ({
    type: "tool_result",
    tool_use_id: id,
    content,
    ...more,
  });
  const text = (text: string) => ({ type: "text", text });
  const messages = [
    ...HELLO,
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "T", signature: "x" },
        text("A"),
        call("a", "weather", { city: "Rome", days: 2 }),
        call("b", "time", {}),
        call("c", "time", {}),
        call("d", "time", {}),
      ],
    },
    {
      role: "user",
      content: [
        text("B"),
        result("b", [text("one"), text("two")]),
        result("a", "lost", { is_error: true }),
        result("c", undefined, { is_error: true }),
        result("d", "ERROR: gone", { is_error: true, cache_control: { type: "ephemeral" } }),
      ],
    },
    { role: "user", content: "C" },
  ];
  const tools = TOOLS.map(({ name, description, input_schema }) => ({
    type: "function",
    function: { name, description, parameters: input_schema },
  }));
  const asCall = (id: string, name: string, input: object) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  });
  const wanted = {
    max_tokens: 1,
    tools,
    messages: [
      ...HELLO,
      {
        role: "assistant",
        content: "A",
        reasoning_content: "T",
        tool_calls: [
          asCall("a", "weather", { city: "Rome", days: 2 }),
          asCall("b", "time", {}),
          asCall("c", "time", {}),
          asCall("d", "time", {}),
        ],
      },
      { role: "tool", tool_call_id: "b", content: "one\ntwo" },
      { role: "tool", tool_call_id: "a", content: "Error: lost" },
      { role: "tool", tool_call_id: "c", content: "Error" },
      { role: "tool", tool_call_id: "d", content: "ERROR: gone" },
      { role: "user", content: "B\nC" },
    ],
  };
  const answer = await message(server, { tools: TOOLS, messages });
  const { input_tokens, cache_read_input_tokens } = answer.usage;
  const { usage } = await answerOf(server, "/v1/chat/completions", wanted);
  assertEquals(usage.prompt_tokens, input_tokens + cache_read_input_tokens);
  const whole = usage.prompt_tokens - 1;
  assertEquals(
    usage.prompt_tokens_details.cached_tokens,
    whole - whole % 32,
    "it is the same prompt",
  );
  const body = messagesBody({ tools: TOOLS, messages });
  const counted = await answerOf(server, `${MESSAGES}/count_tokens`, body);
  assertEquals(counted.input_tokens, usage.prompt_tokens);
});

Deno.test("a schema that calls cannot be held to is an error that names it where it is strict", async () => {
  await using server = await start();
  const input_schema = { type: "object", properties: { a: { type: "strange" } } };
  const odd = { name: "odd", input_schema };
  const strict = messagesBody({ tools: [TOOLS[0], { ...odd, strict: true }] });
  const refused = await readAnthropicError(await server.post(MESSAGES, strict), 400);
  assertMatch(refused.message, /odd.*strange|strange.*odd|tools.1/);
  assertEquals((await message(server, { tools: [TOOLS[0], odd] })).stop_reason, "max_tokens");
});

Deno.test("thinking stays before the calls", async () => {
  await using server = await start();
  const answer = await message(server, {
    ...ASKED,
    thinking: { type: "enabled", budget_tokens: 8 },
  });
  assertEquals(answer.content[0].type, "thinking");
  assert(callsOf(answer.content).length >= 1);
  assertEquals(answer.stop_reason, "tool_use");
  const events = await messageEvents(server, {
    ...ASKED,
    thinking: { type: "enabled", budget_tokens: 8 },
  });
  assertEquals(withoutIds(assembled(events).content), withoutIds(answer.content));
});

Deno.test("what counts a client's requests is no part of the prompt: the same prompt is found again", async () => {
  await using server = await start();
  const billing = (count: string) => ({
    type: "text",
    text: `x-anthropic-billing-header: cc_version=2.1; cch=${count};`,
  });
  const system = { type: "text", text: "You are an agent. ".repeat(20) };
  await message(server, { system: [billing("a"), system], tools: TOOLS });
  const { usage } = await message(server, { system: [billing("b"), system], tools: TOOLS });
  assert(usage.input_tokens <= 32, `${usage.input_tokens} tokens were computed again`);
});

Deno.test("system messages between others are what the user says, where a template wants them first alone", async () => {
  const template = "{% for m in messages %}{% if m.role == 'system' and not loop.first %}" +
    "{{ raise_exception('System messages come first.') }}{% endif %}{{ m.role[0] }}:{{ m.content }}\n{% endfor %}a:";
  await using server = await startChat({}, template);
  const said = (role: string, content: string) => ({ role, content });
  const tokensOf = async (body: Record<string, unknown>) =>
    (await answerOf(server, `${MESSAGES}/count_tokens`, messagesBody(body))).input_tokens;
  const tagged = "A\n\n<system-reminder>\nB\n</system-reminder>\n\nC";
  assertEquals(
    await tokensOf({
      system: "S",
      messages: [said("user", "A"), said("system", "B"), said("user", "C")],
    }),
    await tokensOf({ system: "S", messages: [said("user", tagged)] }),
  );
  const body = { messages: [said("user", "A"), said("assistant", "D"), said("system", "B")] };
  assert((await message(server, body)).usage.output_tokens > 0);
});
