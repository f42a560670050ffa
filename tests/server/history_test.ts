/** What clients send back of a conversation, in each dialect: it reaches the prompt, and nothing of it is refused. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { MESSAGES, messagesBody } from "../fixtures/server_anthropic_fixture.ts";
import { startChat } from "../fixtures/server_chat_fixture.ts";
import { answerOf } from "../fixtures/server_fixture.ts";
import { CUT, promptOf, TEMPLATE, USER } from "../fixtures/server_history_fixture.ts";

Deno.test("chat: calls of any name and arguments, and reasoning by whichever name, are in the prompt", async () => {
  await using server = await startChat({}, TEMPLATE);
  const calling = (fields: object) => ({
    messages: [
      USER,
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", type: "function", function: fields }],
      },
      { role: "tool", tool_call_id: "a", content: "R" },
      { role: "user", content: "V" },
    ],
  });
  for (
    const [fields, shown] of [
      [{ name: "get weather", arguments: "{}" }, '"get weather"'],
      [{ name: "", arguments: "{}" }, '"name": ""'],
      [{ name: null, arguments: null }, '"arguments": {}'],
      [{ name: "f", arguments: { a: 1 } }, '"arguments": {"a": 1}'],
      [{ name: "f", arguments: "null" }, '"arguments": {}'],
      [{ name: "f", arguments: "[]" }, '"arguments": {}'],
      [{ name: "f", arguments: '{"a": NaN}' }, "NaN"],
      [{ name: "f", arguments: CUT }, "city"],
    ] as const
  ) {
    const prompt = await promptOf(server, calling(fields));
    assertStringIncludes(prompt, shown);
    assertStringIncludes(prompt, "tool:R|assistant:|user:V|");
  }
  for (
    const message of [
      { content: "A", reasoning: "B" },
      { content: "A", reasoning_content: "B", reasoning: "other" },
      {
        content: [{ type: "thinking", thinking: "B", signature: "x" }, { type: "text", text: "A" }],
      },
      {
        content: [{ type: "thinking", thinking: [{ type: "text", text: "B" }] }, {
          type: "text",
          text: "A",
        }],
      },
      { content: [{ type: "reasoning", text: "B" }, { type: "text", text: "A" }] },
    ]
  ) {
    const messages = [USER, { role: "assistant", ...message }, USER];
    assertEquals(
      await promptOf(server, { messages }),
      "user:U|assistant<think>B</think>:A|user:U|",
      JSON.stringify(message),
    );
  }
});

Deno.test("anthropic: a result and a text in one turn, tools that are referred to, and what a search has found", async () => {
  await using server = await startChat({}, TEMPLATE);
  const turn = (...content: object[]) => ({
    messages: [
      USER,
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] },
      { role: "user", content },
    ],
  });
  const result = (content: unknown) => ({ type: "tool_result", tool_use_id: "a", content });
  assertStringIncludes(
    await promptOf(server, turn(result("R"), { type: "text", text: "V" })),
    "tool:R|assistant:|user:V|",
  );
  const found = {
    type: "search_result",
    source: "https://a.example",
    title: "T",
    content: [{ type: "text", text: "F" }],
    citations: { enabled: true },
  };
  assertStringIncludes(
    await promptOf(server, turn(result([{ type: "tool_reference", tool_name: "g" }, found]))),
    "tool:There is the tool g.\nT\nhttps://a.example\nF|",
  );
  assertStringIncludes(
    await promptOf(server, turn(result("R"), found)),
    "user:T\nhttps://a.example\nF|",
  );
});

Deno.test("anthropic: output_format is output_config.format by its first name", async () => {
  await using server = await startChat({ contextLength: 256 }, TEMPLATE);
  const format = { type: "json_schema", schema: { const: "yes" } };
  const answer = async (body: Record<string, unknown>) =>
    (await answerOf(server, MESSAGES, messagesBody({ max_tokens: 20, ...body }))).content[0].text;
  assertEquals(await answer({ output_format: format }), '"yes"');
  const other = { type: "json_schema", schema: { const: "no" } };
  assertEquals(await answer({ output_format: other, output_config: { format } }), '"yes"');
});

Deno.test("ollama: think none, off and nothing are no thinking, and other words are efforts", async () => {
  await using server = await startChat({}, TEMPLATE);
  const prompt = (think: unknown) =>
    promptOf(server, { messages: [USER], think, options: { seed: 1 } });
  for (const think of ["none", "off", "", "OFF", false]) {
    assertEquals(await prompt(think), "user:U|", String(think));
  }
  assertEquals(await prompt(true), "user:U|<think>");
  assertEquals(await prompt("max"), "user:U|<think>effort high");
});

Deno.test("later system messages become what the user says, alike in all dialects", async () => {
  await using server = await startChat({}, TEMPLATE);
  const said = (role: string, content: string) => ({ role, content });
  const turns = [said("user", "A"), said("assistant", "B"), said("system", "L"), said("user", "C")];
  const wanted = "system:S|user:A|assistant:B|user:<system-reminder>\nL\n</system-reminder>\n\nC|";
  for (
    const body of [
      { messages: [said("system", "S"), ...turns] },
      { messages: [said("system", "S"), ...turns], options: {} },
      { system: "S", messages: turns },
      { instructions: "S", input: turns },
    ]
  ) {
    assertEquals(await promptOf(server, body), wanted);
  }
  // Two in front are one.
  assertEquals(
    await promptOf(server, { system: "S", messages: [said("system", "T"), said("user", "A")] }),
    "system:S\n\nT|user:A|",
  );
});

Deno.test("an assistant that says nothing at the end is no reason to refuse a conversation, in every dialect", async () => {
  const template = "{% for m in messages %}" +
    "{% if m.role == 'assistant' and not m.content %}{{ raise_exception('says nothing') }}{% endif %}" +
    "{{ m.role }}:{{ m.content }}|{% endfor %}";
  await using server = await startChat({}, template);
  const messages = [USER, { role: "assistant", content: "" }];
  for (
    const body of [{ messages }, { messages, options: {} }, { messages, stop_sequences: [] }, {
      input: messages,
    }]
  ) {
    assertEquals(await promptOf(server, body), "user:U|");
  }
});

Deno.test("a text that the template leaves out is named by its path in the body, as each dialect has it", async () => {
  const template =
    "{% for m in messages if 'secret' not in m.content %}{{ m.role }}:{{ m.content }}|{% endfor %}";
  await using server = await startChat({}, template);
  const secret = "a secret, and more of what no error may show";
  const messages = [USER, { role: "assistant", content: "A" }, { role: "user", content: secret }];
  const chat = { messages: [{ role: "system", content: "S" }, ...messages] };
  for (
    const [body, place] of [
      [chat, "messages.3.content"],
      [{ ...chat, options: {} }, "messages.3.content"],
      [{ system: "S", messages }, "messages.2.content"],
      [{ system: secret, messages: [USER] }, "system"],
      [{ instructions: "S", input: messages }, "input.2"],
      [{ input: secret }, "input"],
      [{ instructions: secret, input: "x" }, "instructions"],
    ] as const
  ) {
    const response = await server.post("/apply-template", body);
    const { error } = await response.json();
    assertEquals([response.status, error.param], [400, place]);
    assertStringIncludes(error.message, `what ${place}, message `);
  }
});
