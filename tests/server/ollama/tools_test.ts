// Calls of tools and their results, in Ollama's shape.
import { assert, assertEquals } from "@std/assert";
import { OllamaChat, OllamaChatPiece } from "../../../server/ollama/chat.ts";
import type { AnsweredCall } from "../../../server/ollama/tools.ts";
import { readLines } from "../../fixtures/ollama_fixture.ts";
import { HELLO, startChat } from "../../fixtures/server_chat_fixture.ts";
import { answerOf, MODEL, type TestServer } from "../../fixtures/server_fixture.ts";
import { checkCall, TIME, WEATHER } from "../../fixtures/weather_tool.ts";

/** Shows tools and results as the template of a model does that knows them. */
const TEMPLATE = "{% for t in tools or [] %}T:{{ t.function | tojson }}\n{% endfor %}" +
  "{% for m in messages %}{{ m.role[0] }}{{ m.name or '' }}:{{ m.content or '' }}" +
  "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}\n{% endfor %}" +
  "{% if add_generation_prompt %}a:{% if enable_thinking %}<think>{% endif %}{% endif %}";

const TOOLS = [
  { type: "function", function: WEATHER },
  { type: "function", function: { name: TIME.name } },
];

function start(): Promise<TestServer> {
  return startChat({ contextLength: 4096 }, TEMPLATE);
}

async function whole(server: TestServer, body: Record<string, unknown>) {
  const asked = { messages: HELLO, tools: TOOLS, ...body, stream: false };
  return OllamaChat.parse(await answerOf(server, "/api/chat", asked));
}

async function lines(server: TestServer, body: Record<string, unknown>) {
  const all = await readLines(
    await server.post("/api/chat", { messages: HELLO, tools: TOOLS, ...body }),
  );
  return [OllamaChat.parse(all.pop()), all.map((line) => OllamaChatPiece.parse(line))] as const;
}

/** Calls without their ids; each fits its tool. */
function checked(calls: readonly AnsweredCall[] = []): unknown[] {
  return calls.map(({ function: { index, name, arguments: given } }) => {
    checkCall(name, given);
    return { index, name, given };
  });
}

/**
 * What leaves a model nothing but calls, which this dialect has no word for: a format that wants a 7, and no token
 * that begins with one.
 */
function onlyCalls({ engine: { tokenizer } }: TestServer, seed: number) {
  const tokens = Array.from({ length: tokenizer.vocabSize }, (_, token) => token)
    .filter((token) => /^\W*7|^<0x37>$/.test(tokenizer.tokenText(token)));
  const logit_bias = Object.fromEntries(tokens.map((token) => [token, -100]));
  return { temperature: 1, seed, logit_bias };
}
const SEVEN = { enum: [7] };

Deno.test("calls come whole, with arguments as objects, and are those of OpenAI's shape; done_reason is stop", async () => {
  await using server = await start();
  for (let seed = 0; seed < 4; seed++) {
    const how = onlyCalls(server, seed);
    const body = { format: SEVEN, options: { ...how, num_predict: 400 } };
    const answer = await whole(server, body);
    assertEquals([answer.done_reason, answer.message.content], ["stop", ""]);
    const calls = checked(answer.message.tool_calls);
    assert(calls.length > 0);
    const [end, pieces] = await lines(server, body);
    assertEquals(checked(pieces.flatMap(({ message }) => message.tool_calls ?? [])), calls);
    assertEquals([end.done_reason, end.message.tool_calls], ["stop", undefined]);
    const { choices: [{ message }] } = await answerOf(server, "/v1/chat/completions", {
      messages: HELLO,
      tools: TOOLS,
      response_format: { type: "json_schema", json_schema: { name: "seven", schema: SEVEN } },
      ...how,
      max_tokens: 400,
    });
    const openai = message.tool_calls.map((
      { function: { name, arguments: text } }: { function: { name: string; arguments: string } },
      index: number,
    ) => ({ index, name, given: JSON.parse(text) }));
    assertEquals(calls, openai);
  }
});

Deno.test("a call that was cut is none", async () => {
  await using server = await start();
  const how = onlyCalls(server, 1);
  const { eval_count, message } = await whole(server, {
    format: SEVEN,
    options: { ...how, num_predict: 400 },
  });
  for (let num_predict = 1; num_predict < eval_count; num_predict += 17) {
    const body = { format: SEVEN, options: { ...how, num_predict } };
    const cut = await whole(server, body);
    assertEquals(cut.done_reason, "length");
    const calls = checked(cut.message.tool_calls);
    assertEquals(calls, checked(message.tool_calls).slice(0, calls.length));
    const [end, pieces] = await lines(server, body);
    assertEquals(end.done_reason, "length");
    assertEquals(checked(pieces.flatMap(({ message }) => message.tool_calls ?? [])), calls);
  }
});

Deno.test("calls and results of a conversation make the prompt that OpenAI's shape makes of them", async () => {
  await using server = await start();
  const call = (name: string, given?: object, id?: string) => ({
    id,
    function: { name, arguments: given },
  });
  const options = { num_predict: 1 };
  const messages = [
    ...HELLO,
    {
      role: "assistant",
      content: "A",
      tool_calls: [call("weather", { city: "Rome", days: 2 }), call("time"), call("time", {}, "x")],
    },
    { role: "tool", content: "noon", tool_name: "time" },
    { role: "tool", content: "midnight", tool_call_id: "x" },
    { role: "tool", content: "sunny" },
    { role: "assistant", content: "", tool_calls: [call("time", {})] },
    { role: "tool", content: "one", tool_name: "time" },
    { role: "user", content: "C" },
  ];
  const answer = await whole(server, { messages, options });
  const asCall = (id: string, name: string, given: object) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(given) },
  });
  const { usage } = await answerOf(server, "/v1/chat/completions", {
    max_tokens: 1,
    tools: TOOLS,
    messages: [
      ...HELLO,
      {
        role: "assistant",
        content: "A",
        tool_calls: [
          asCall("a", "weather", { city: "Rome", days: 2 }),
          asCall("b", "time", {}),
          asCall("x", "time", {}),
        ],
      },
      { role: "tool", tool_call_id: "b", content: "noon" },
      { role: "tool", tool_call_id: "x", content: "midnight" },
      { role: "tool", tool_call_id: "a", content: "sunny" },
      { role: "assistant", content: null, tool_calls: [asCall("c", "time", {})] },
      { role: "tool", tool_call_id: "c", content: "one" },
      { role: "user", content: "C" },
    ],
  });
  assertEquals(usage.prompt_tokens, answer.prompt_eval_count);
  const all = usage.prompt_tokens - 1;
  assertEquals(usage.prompt_tokens_details.cached_tokens, all - all % 32, "it is the same prompt");
});

Deno.test("a result that answers no call is shown as it is", async () => {
  await using server = await start();
  const messages = [...HELLO, { role: "tool", content: "noon", tool_name: "time" }];
  assert((await whole(server, { messages, options: { num_predict: 2 } })).eval_count > 0);
});

Deno.test("/api/show says that a model with a template calls tools", async () => {
  await using server = await startChat();
  const { capabilities } = await answerOf(server, "/api/show", { model: MODEL });
  assert(capabilities.includes("tools"));
});
