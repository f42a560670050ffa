/** OpenAI's custom tools in chat: functions with one text to the model, texts to the client. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ChatCompletion, ChatCompletionChunk } from "../../server/openai/chat_schemas.ts";
import { testBadRequests } from "../fixtures/bad_requests.ts";
import { CHAT } from "../fixtures/server_chat_fixture.ts";
import { readEvents } from "../fixtures/server_fixture.ts";
import { promptOf } from "../fixtures/server_history_fixture.ts";
import { NOW, startTools } from "../fixtures/server_tools_fixture.ts";

const PATCH = {
  type: "custom",
  custom: {
    name: "apply_patch",
    description: "Edits files.",
    format: { type: "grammar", grammar: { syntax: "lark", definition: 'start: "Begin" LF' } },
  },
};
const ASKED = {
  messages: [{ role: "user", content: "Hello" }],
  tools: [PATCH],
  tool_choice: { type: "custom", custom: { name: "apply_patch" } },
  temperature: 1.2,
  max_tokens: 150,
};

Deno.test("a custom tool's call has its text as its input, whole and streamed alike", async () => {
  await using server = await startTools();
  let inputs = "";
  for (let seed = 1; seed <= 6; seed++) {
    const whole = await server.post(CHAT, { ...ASKED, seed });
    const text = await whole.text();
    assertEquals(whole.status, 200, text);
    const [{ message }] = ChatCompletion.parse(JSON.parse(text)).choices;
    const [call] = message.tool_calls!;
    assert(call.type === "custom", text);
    assertEquals([message.content, call.custom.name], [null, "apply_patch"]);
    const stream = await server.post(CHAT, { ...ASKED, seed, stream: true });
    const pieces = (await readEvents(stream)).map((one) => ChatCompletionChunk.parse(one))
      .flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []));
    const [first, ...others] = pieces;
    assertEquals([first.index, first.type, first.custom?.name], [0, "custom", "apply_patch"]);
    assert(others.every((one) => one.id === undefined && one.function === undefined));
    assert(others.every(({ custom }) => custom!.name === undefined && custom!.input !== ""));
    assertEquals(pieces.map(({ custom }) => custom!.input).join(""), call.custom.input);
    inputs += call.custom.input;
  }
  assert(inputs.length > 0);
});

Deno.test("a custom tool next to functions, and its call in a history, are what one text is to the model", async () => {
  await using server = await startTools();
  const messages = (call: object) => [
    ...ASKED.messages,
    { role: "assistant", content: null, tool_calls: [{ id: "a", ...call }] },
    { role: "tool", tool_call_id: "a", content: "Done!" },
  ];
  const input = 'Add: a "b" \\ \u{1f600}\n';
  const custom = await promptOf(server, {
    tools: [PATCH, NOW],
    messages: messages({ type: "custom", custom: { name: "apply_patch", input } }),
  });
  const parameters = {
    type: "object",
    properties: { input: { type: "string" } },
    required: ["input"],
    additionalProperties: false,
  };
  const description = 'Edits files.\n\nThe input matches this grammar:\nstart: "Begin" LF';
  const same = await promptOf(server, {
    tools: [
      { type: "function", function: { name: "apply_patch", description, parameters } },
      NOW,
    ],
    messages: messages({
      type: "function",
      function: { name: "apply_patch", arguments: JSON.stringify({ input }) },
    }),
  });
  assertEquals(custom, same);
  assertStringIncludes(custom, "Done!");
});

Deno.test("custom tools, choices and calls that cannot be are 400, and named", async () => {
  await using server = await startTools();
  const { messages } = ASKED;
  const format = (value: unknown) => ({
    tools: [{ type: "custom", custom: { name: "p", format: value } }],
  });
  const calls = (custom: unknown) => ({
    messages: [...messages, {
      role: "assistant",
      tool_calls: [{ id: "a", type: "custom", custom }],
    }],
  });
  await testBadRequests(server, CHAT, { messages }, [
    [{ tools: [{ type: "custom" }] }, "tools.0.custom"],
    [{ tools: [{ type: "custom", custom: {} }] }, "tools.0.custom.name"],
    [format("text"), "tools.0.custom.format"],
    [format({ type: "lark" }), "tools.0.custom.format.type"],
    [format({ type: "grammar" }), "tools.0.custom.format.grammar"],
    [format({ type: "grammar", grammar: {} }), "tools.0.custom.format.grammar.definition"],
    [{ tool_choice: { type: "custom" } }, "tool_choice.custom"],
    [calls(undefined), "messages.1.tool_calls.0.custom"],
    [calls({ input: "a" }), "messages.1.tool_calls.0.custom.name"],
  ]);
});
