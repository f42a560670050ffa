import { assert, assertEquals, assertThrows } from "@std/assert";
import { testBadRequests } from "../fixtures/bad_requests.ts";
import { CHAT } from "../fixtures/server_chat_fixture.ts";
import { promptOf } from "../fixtures/server_history_fixture.ts";
import {
  checkCall,
  LESS_THAN_LONG,
  LONG,
  NOW,
  startTools,
  streamedToolChat,
  toolChat,
  WEATHER,
} from "../fixtures/server_tools_fixture.ts";

Deno.test("required calls come whole and streamed alike, with arguments by their tools' schemas", async () => {
  await using server = await startTools();
  const names = new Set<string>();
  for (let seed = 0; seed < 4; seed++) {
    const body = { tool_choice: "required", seed };
    const { choices: [{ message, finish_reason }] } = await toolChat(server, body);
    const calls = message.tool_calls!;
    assertEquals([message.content, finish_reason], [null, "tool_calls"]);
    for (const call of calls) {
      checkCall(call);
      names.add(call.function.name);
    }
    const [streamed] = await streamedToolChat(server, body);
    assertEquals([streamed.content, streamed.finish], ["", "tool_calls"]);
    assertEquals(streamed.calls.map((one) => one.function), calls.map((one) => one.function));
    assert(streamed.pieces > calls.length, "arguments come as they are sampled");
  }
  assertEquals(names.size, 2, "one of the tools is never called");
});

Deno.test("one by its name is one call of it; without parallel calls there is one", async () => {
  await using server = await startTools();
  for (const name of ["get_weather", "now"]) {
    const choice = { type: "function", function: { name } };
    const { choices: [{ message }] } = await toolChat(server, { tool_choice: choice });
    assertEquals(message.tool_calls!.map((one) => one.function.name), [name]);
  }
  for (let seed = 0; seed < 4; seed++) {
    const body = { tool_choice: "required", parallel_tool_calls: false, seed };
    const { choices: [{ message }] } = await toolChat(server, body);
    assertEquals(message.tool_calls!.length, 1);
  }
});

Deno.test("several answers each call by themselves, with ids of their own", async () => {
  await using server = await startTools();
  const body = { tool_choice: "required", n: 3 };
  const { choices } = await toolChat(server, body);
  const calls = choices.flatMap(({ message }) => message.tool_calls!);
  calls.forEach(checkCall);
  assertEquals(new Set(calls.map(({ id }) => id)).size, calls.length);
  const streamed = await streamedToolChat(server, body);
  assertEquals(
    streamed.map(({ calls }) => calls.map((one) => one.function)),
    choices.map(({ message }) => message.tool_calls!.map((one) => one.function)),
  );
});

Deno.test("a model that may call says what it likes, as without tools, and calls nothing it does not begin", async () => {
  await using server = await startTools();
  for (const tool_choice of ["auto", undefined]) {
    const { choices: [{ message, finish_reason }] } = await toolChat(server, {
      tool_choice,
      max_tokens: 20,
    });
    assertEquals([message.tool_calls, finish_reason], [undefined, "length"]);
    assert(message.content!.length > 10);
  }
});

Deno.test("a call that max_tokens cuts has the start of its arguments, and ends by length", async () => {
  await using server = await startTools();
  const body = {
    tool_choice: { type: "function", function: { name: "get_weather" } },
    parallel_tool_calls: false,
  };
  const { choices: [{ message: whole }] } = await toolChat(server, body);
  const [{ function: { arguments: all } }] = whole.tool_calls!;
  for (const max_tokens of [1, 3, 10, 20, 30]) {
    const { choices: [{ message, finish_reason }] } = await toolChat(server, {
      ...body,
      max_tokens,
    });
    if (finish_reason === "tool_calls") continue;
    assertEquals(finish_reason, "length");
    const [call] = message.tool_calls ?? [];
    assert(all.startsWith(call?.function.arguments ?? ""), call?.function.arguments);
    const [streamed] = await streamedToolChat(server, { ...body, max_tokens });
    assertEquals(streamed.finish, "length");
    assertEquals(streamed.calls[0]?.function, call?.function);
  }
});

Deno.test("stop strings end content, and no call: its arguments may have them", async () => {
  await using server = await startTools();
  const stop = ['"', "city", "{", "tool_call"];
  const { choices: [{ message, finish_reason }] } = await toolChat(server, {
    tool_choice: { type: "function", function: { name: "get_weather" } },
    stop,
  });
  assertEquals(finish_reason, "tool_calls");
  message.tool_calls!.forEach(checkCall);
  const plain = await toolChat(server, { stop: [" "], tool_choice: "auto" });
  assertEquals(plain.choices[0].finish_reason, "stop");
  assert(!plain.choices[0].message.content!.includes(" "));
});

Deno.test("reasoning before a call stays reasoning, and its budget ends it", async () => {
  await using server = await startTools();
  const body = {
    tool_choice: "required",
    chat_template_kwargs: { enable_thinking: true },
    reasoning_budget: 12,
  };
  const { choices: [{ message, finish_reason }], usage } = await toolChat(server, body);
  assertEquals([message.content, finish_reason], [null, "tool_calls"]);
  assert(message.reasoning_content!.length > 5);
  assert((usage.completion_tokens_details?.reasoning_tokens ?? 0) >= 12);
  message.tool_calls!.forEach(checkCall);
  const [streamed] = await streamedToolChat(server, body);
  assertEquals(streamed.reasoning, message.reasoning_content);
  assertEquals(streamed.calls.length, message.tool_calls!.length);
});

Deno.test("with tools, response_format is what an answer without calls is like", async () => {
  await using server = await startTools();
  const response_format = {
    type: "json_schema",
    json_schema: {
      schema: {
        type: "object",
        properties: { ok: { type: "boolean" } },
        required: ["ok"],
        additionalProperties: false,
      },
    },
  };
  const { choices: [{ message, finish_reason }] } = await toolChat(server, { response_format });
  assertEquals(finish_reason, "stop");
  assertEquals(typeof JSON.parse(message.content!).ok, "boolean");
  // A model that wants to call begins with the tag.
  const open = server.engine.tokenizer.encode("<", { addSpecial: false }).at(-1)!;
  const logit_bias = { [open]: 100 };
  const { choices: [called] } = await toolChat(server, {
    response_format,
    logit_bias,
    parallel_tool_calls: false,
  });
  assertEquals([called.message.content, called.finish_reason], [null, "tool_calls"]);
  called.message.tool_calls!.forEach(checkCall);
});

Deno.test("tokens of calls have no log-probabilities; those of content do", async () => {
  await using server = await startTools();
  const { choices: [{ logprobs }] } = await toolChat(server, {
    tool_choice: { type: "function", function: { name: "get_weather" } },
    logprobs: true,
  });
  // The tag is known for one when it is complete.
  assert(logprobs!.content.map(({ token }) => token).join("").length < "<tool_call>".length);
});

Deno.test("calls and their results are in the next turn's prompt", async () => {
  await using server = await startTools();
  const call = {
    id: "call_1",
    type: "function",
    function: { name: "get_weather", arguments: '{"city":"Paris","unit":"celsius"}' },
  };
  const messages = [
    { role: "user", content: "Paris?" },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: "Rain" },
  ];
  const response = await server.post("/apply-template", { messages, tools: [WEATHER] });
  const { prompt } = await response.json();
  assert(
    prompt.endsWith(
      '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}}\n' +
        "</tool_call>\ntool: Rain\nassistant: ",
    ),
    prompt,
  );
  await toolChat(server, { messages, tool_choice: "required" });
  await toolChat(server, { messages, tools: undefined, max_tokens: 3 });
});

Deno.test("a call that was cut off is left out of the next turn's prompt, which goes on", async () => {
  await using server = await startTools();
  const { choices: [{ message }] } = await toolChat(server, {
    tools: [LONG],
    tool_choice: "required",
    max_tokens: LESS_THAN_LONG,
  });
  const { tool_calls: [cut] = [] } = message;
  assertEquals(cut.function.name, "note");
  assertThrows(() => JSON.parse(cut.function.arguments), SyntaxError);
  const asked = { role: "user", content: "Paris?" };
  const next = { role: "user", content: "Well?" };
  const promptAfter = async (calls: unknown, content: string | null, ...more: unknown[]) => {
    const messages = [asked, { role: "assistant", content, tool_calls: calls }, ...more, next];
    return await promptOf(server, { messages });
  };
  for (const content of [null, "So"]) {
    assertEquals(await promptAfter([cut], content), await promptAfter(undefined, content));
  }
  // The whole one next to it stays.
  const whole = { id: "1", type: "function", function: { name: "now", arguments: "{}" } };
  const result = { role: "tool", tool_call_id: "1", content: "Noon" };
  assertEquals(
    await promptAfter([whole, cut], null, result),
    await promptAfter([whole], null, result),
  );
  await toolChat(server, { messages: [asked, message, next], max_tokens: 3 });
});

Deno.test("tools, choices and calls that cannot be are answered with 400 by their names", async () => {
  await using server = await startTools();
  const named = (more: Record<string, unknown>) => ({
    tools: [{ type: "function", function: { name: "f", ...more } }],
  });
  const calling = (call: unknown) => ({
    messages: [{ role: "user", content: "a" }, { role: "assistant", tool_calls: call }],
  });
  const right = { messages: [{ role: "user", content: "a" }], tools: [NOW], max_tokens: 5 };
  await testBadRequests(server, CHAT, right, [
    [{ tools: "f" }, "tools", /wanted an array/],
    [{ tools: [5] }, "tools.0", /wanted an object; got 5/],
    [{ tools: [{ function: { name: "f" } }] }, "tools.0.type", /got nothing/],
    [{ tools: [{ type: "function" }] }, "tools.0.function", /wanted an object/],
    [named({ name: 5 }), "tools.0.function.name", /wanted a string/],
    [named({ name: "a b" }), "tools.0", /letters, digits/],
    [named({ description: 5 }), "tools.0.function.description", /wanted a string/],
    [named({ strict: "yes" }), "tools.0.function.strict", /true or false/],
    [named({ parameters: "object" }), "tools.0.function.parameters", /wanted an object/],
    [named({ parameters: { type: "string" } }), "tools", /f have another type than "object"/],
    [
      named({ strict: true, parameters: { properties: { a: { uniqueItems: true } } } }),
      "tools",
      /parameters of f: JSON Schema at "#\/properties\/a\/uniqueItems"/,
    ],
    [named({ strict: true, parameters: { $ref: "http://x/y" } }), "tools", /JSON Schema at/],
    [{ tools: [NOW, NOW] }, "tools.1", /another tool of the name now/],
    [{ tools: [], tool_choice: "required" }, "tool_choice", /no tools to call/],
    [{ tool_choice: "any" }, "tool_choice", /got the string "any"/],
    [{ tool_choice: 5 }, "tool_choice", /got 5/],
    [{ tool_choice: { type: "function" } }, "tool_choice.function", /wanted an object/],
    [
      { tool_choice: { type: "function", function: { name: "g" } } },
      "tool_choice",
      /asks for "g"/,
    ],
    [{ parallel_tool_calls: "no" }, "parallel_tool_calls", /true or false/],
    [{ ignore_eos: true, tool_choice: "required" }, "tools", /ignore_eos/],
    [calling({}), "messages.1.tool_calls", /wanted an array/],
    [
      calling([{ function: { name: "f", arguments: "{}" } }]),
      "messages.1.tool_calls.0.id",
      /string/,
    ],
    [
      { messages: [{ role: "tool", content: "a" }] },
      "messages.0.tool_call_id",
      /id of the call/,
    ],
  ]);
});

Deno.test("a keyword that no grammar can enforce is left to the model, unless the tool is strict", async () => {
  await using server = await startTools();
  const parameters = {
    type: "object",
    properties: {
      tags: { type: "array", items: { enum: ["a", "b"] }, uniqueItems: true, maxItems: 3 },
      when: { type: "string", format: "no-format", maxLength: 5 },
    },
    required: ["tags"],
  };
  const tools = [{ type: "function", function: { name: "f", parameters } }];
  const { choices: [{ message }] } = await toolChat(server, { tools, tool_choice: "required" });
  const { tags } = JSON.parse(message.tool_calls![0].function.arguments);
  assert(tags.every((tag: string) => ["a", "b"].includes(tag)) && tags.length <= 3);
});

Deno.test("hostile lists of tools are answered, and the server goes on", async () => {
  await using server = await startTools();
  const many = (count: number, parameters: (index: number) => unknown) =>
    Array.from({ length: count }, (_, index) => ({
      type: "function",
      function: { name: `tool_${index}`, parameters: parameters(index) },
    }));
  const properties = (count: number, of: (index: number) => unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, of(index)]));
  const nested = (levels: number): unknown =>
    levels === 0 ? {} : { type: "object", properties: { a: nested(levels - 1) } };
  const lists: Record<string, unknown[]> = {
    "too many": many(513, () => ({})),
    "as many as can be": many(512, () => ({})),
    "different ones": many(
      300,
      (k) => ({ properties: properties(9, (i) => ({ minimum: k + i })) }),
    ),
    "long lists of values": many(40, (k) => ({
      properties: { a: { enum: Array.from({ length: 900 }, (_, i) => `${k} ${i}`) } },
    })),
    patterns: many(60, () => ({ properties: { a: { pattern: "^((a+b?){1,50}c){1,50}$" } } })),
    alternatives: many(60, (k) => ({
      allOf: Array.from({ length: 5 }, (_, i) => ({
        anyOf: Array.from(
          { length: 4 },
          (_, j) => ({ properties: { [`a${i}`]: { const: j + k } } }),
        ),
      })),
    })),
    depth: many(2, () => nested(70)),
    "depth that can be": many(20, () => nested(25)),
    recursion: many(
      50,
      () => ({ properties: { a: { $ref: "#" }, b: { $ref: "#/properties/a" } } }),
    ),
    "circles of nothing": many(9, () => ({ $ref: "#" })),
    length: many(1, () => ({ description: "x".repeat(2 ** 20) })),
  };
  for (const [name, tools] of Object.entries(lists)) {
    for (const tool_choice of ["auto", "required"]) {
      const body = {
        messages: [{ role: "user", content: "a" }],
        tools,
        tool_choice,
        max_tokens: 2,
      };
      const response = await server.post(CHAT, body);
      const text = await response.text();
      assert([200, 400].includes(response.status), `${name}: ${text}`);
      if (response.status === 400) assert(text.length < 1500, text);
    }
  }
  await toolChat(server, { tool_choice: "required", max_tokens: 5 });
});
