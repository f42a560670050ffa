// OpenAI's responses with functions: calls as items and events, results in the next turn, what is chosen and refused.
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { FunctionCall } from "../../../server/openai/responses/item_schemas.ts";
import type { ResponseObject } from "../../../server/openai/responses/response_schemas.ts";
import { InputReader } from "../../../server/openai/custom_input.ts";
import { testBadRequests } from "../../fixtures/bad_requests.ts";
import { startChat } from "../../fixtures/server_chat_fixture.ts";
import { answerOf, type TestServer } from "../../fixtures/server_fixture.ts";
import {
  assembled,
  respond,
  responseEvents,
  RESPONSES,
  responsesBody,
  withoutIds,
} from "../../fixtures/server_responses_fixture.ts";

const schemaOf = (properties: Record<string, unknown>) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "The weather in a city",
  parameters: schemaOf({ city: { type: "string", maxLength: 8 }, unit: { enum: ["C", "F"] } }),
  strict: true,
};
const DICE = {
  type: "function",
  name: "roll",
  parameters: schemaOf({ sides: { enum: [6, 20] } }),
};

/** A body whose answer calls a tool. */
const CALLING = {
  tools: [WEATHER, DICE],
  tool_choice: "required",
  parallel_tool_calls: false,
  max_output_tokens: 200,
  temperature: 1.2,
  seed: 3,
  logit_bias: null,
};

/** A template that is short, with calls as Hermes writes them. */
const TEMPLATE = "{% for t in tools or [] %}{{ t.function.name }} {% endfor %}" +
  "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}{% for c in m.tool_calls %}<tool_call>" +
  "{{ c.function.name }} {{ c.function.arguments }}</tool_call>{% endfor %}\n{% endfor %}a:";

function startCaller(): Promise<TestServer> {
  return startChat({ contextLength: 2048 }, TEMPLATE);
}

function callsOf({ output }: ResponseObject): FunctionCall[] {
  return output.flatMap((item) => item.type === "function_call" ? [item] : []);
}

/** A response without what is each call's own, and how much of its prompt was known. */
function withoutCallIds(response: ResponseObject) {
  const { output, usage, ...rest } = withoutIds(response);
  const { input_tokens, output_tokens } = usage!;
  return {
    ...rest,
    output: output.map((item) => ({ ...item, call_id: "" })),
    usage: { input_tokens, output_tokens },
  };
}

const resultOf = ({ call_id }: FunctionCall, output: unknown) => ({
  type: "function_call_output",
  call_id,
  output,
});

Deno.test("a call is an item, whole and streamed alike, with arguments by the function's schema", async () => {
  await using server = await startCaller();
  const whole = await respond(server, CALLING);
  assertEquals([whole.status, whole.output.length], ["completed", 1]);
  const [call] = callsOf(whole);
  assertMatch(call.call_id, /^call_\w+$/);
  assertEquals(call.status, "completed");
  const wanted = call.name === "roll" ? ["sides"] : ["city", "unit"];
  assertEquals(Object.keys(JSON.parse(call.arguments)), wanted);
  const events = await responseEvents(server, CALLING);
  assertEquals(withoutCallIds(assembled(events)), withoutCallIds(whole));
  const deltas = events.filter(({ type }) => type === "response.function_call_arguments.delta");
  assert(deltas.length > 3, "the arguments come in pieces");
  assertEquals(whole.tools, [WEATHER, { ...DICE, description: null, strict: false }]);
  assertEquals([whole.tool_choice, whole.parallel_tool_calls], ["required", false]);
});

Deno.test("the function that is chosen is called: by name, of those allowed, of a namespace, or none", async () => {
  await using server = await startCaller();
  const called = async (more: Record<string, unknown>) =>
    callsOf(await respond(server, { ...CALLING, ...more })).map(({ name }) => name);
  for (const name of ["roll", "get_weather"]) {
    assertEquals(await called({ tool_choice: { type: "function", name } }), [name]);
    const tools = [{ type: "function", name }];
    assertEquals(
      await called({ tool_choice: { type: "allowed_tools", mode: "required", tools } }),
      [
        name,
      ],
    );
  }
  assertEquals(await called({ tool_choice: "none", max_output_tokens: 9 }), []);
  const tools = [{ type: "namespace", name: "games", description: "Games", tools: [DICE] }];
  const made = await respond(server, { ...CALLING, tools });
  const [call] = callsOf(made);
  assertEquals([call.namespace, call.name], ["games", "roll"]);
  const shown = { ...DICE, description: null, strict: false };
  assertEquals(made.tools, [{ ...tools[0], tools: [shown] }]);
  // It is sent back as it came.
  const next = await respond(server, {
    ...CALLING,
    tools,
    tool_choice: "none",
    input: [{ role: "user", content: "Hello" }, call, resultOf(call, "4")],
  });
  assertEquals(next.status === "failed", false);
});

Deno.test("results go back as items or after the response before, and reach the model", async () => {
  await using server = await startCaller();
  const first = await respond(server, CALLING);
  const [call] = callsOf(first);
  const asked = async (more: Record<string, unknown>) =>
    withoutIds(
      await respond(server, {
        ...CALLING,
        tool_choice: "none",
        temperature: 0,
        max_output_tokens: 12,
        ...more,
      }),
    ).output;
  const before = { previous_response_id: first.id };
  const answered = await asked({ ...before, input: [resultOf(call, "sunny")] });
  const items = [{ role: "user", content: "Hello" }, ...first.output, resultOf(call, "sunny")];
  assertEquals(await asked({ input: items }), answered);
  const parts = [{ type: "input_text", text: "sunny" }];
  assertEquals(await asked({ ...before, input: [resultOf(call, parts)] }), answered);
  const tokens = async (output: string) => {
    const body = { ...before, input: [resultOf(call, output)], tools: CALLING.tools };
    const counted = await server.post(RESPONSES + "/input_tokens", body);
    return (await counted.json()).input_tokens as number;
  };
  assert(await tokens("sunny and warm, with little wind") > await tokens("sunny"));
  assertNotEquals(await tokens("sunny"), (await respond(server)).usage!.input_tokens);
});

Deno.test("several calls of one answer are items one after another, and so are their results", async () => {
  await using server = await startCaller();
  let made: ResponseObject | undefined;
  // What a model samples decides whether it calls once more.
  for (let seed = 1; seed <= 20; seed++) {
    made = await respond(server, { ...CALLING, tools: [DICE], parallel_tool_calls: true, seed });
    if (callsOf(made).length > 1) break;
  }
  const calls = callsOf(made!);
  assert(calls.length > 1, "no answer of twenty called twice");
  assertEquals(new Set(calls.map(({ call_id }) => call_id)).size, calls.length);
  const next = await respond(server, {
    ...CALLING,
    tools: [DICE],
    previous_response_id: made!.id,
    input: calls.map((call, index) => resultOf(call, String(index))),
  });
  assertEquals(next.status, "completed");
});

Deno.test("a call that is cut off is incomplete, and no call for those that go on from it", async () => {
  await using server = await startCaller();
  const whole = await respond(server, { ...CALLING, tools: [WEATHER] });
  const max_output_tokens = whole.usage!.output_tokens - 12;
  const more = { ...CALLING, tools: [WEATHER], max_output_tokens };
  const cut = await respond(server, more);
  const [call] = callsOf(cut);
  assertEquals([cut.status, call.status], ["incomplete", "incomplete"]);
  assertEquals(withoutCallIds(assembled(await responseEvents(server, more))), withoutCallIds(cut));
  const goOn = { previous_response_id: cut.id, max_output_tokens: 4 };
  assertEquals((await respond(server, { ...goOn, input: "b" })).output.length, 1);
  const items = [{ role: "user", content: "Hello" }, call, { role: "user", content: "b" }];
  assertEquals((await respond(server, { input: items })).output.length, 1);
});

/** What Codex sends to patch files by. */
const PATCH = {
  type: "custom",
  name: "apply_patch",
  description: "Edits files.",
  format: { type: "grammar", syntax: "lark", definition: 'start: "*** Begin Patch" LF' },
};
const CUSTOM_CALL = {
  type: "custom_tool_call",
  call_id: "call_1",
  name: "apply_patch",
  input: '*** Begin Patch\n*** Add File: a "b" \\ \u{1f600}\n',
};

Deno.test("a custom tool is called with a text, whole and streamed alike, and goes back as it came", async () => {
  await using server = await startCaller();
  const quote = await answerOf(server, "/tokenize", { content: '"' });
  const logit_bias = { [quote.tokens.at(-1)]: 5 };
  const more = { ...CALLING, tools: [PATCH], max_output_tokens: 150, logit_bias };
  let calls = 0;
  // What a model samples decides how long its text is, and whether it is whole.
  for (let seed = 1; seed <= 12; seed++) {
    const whole = await respond(server, { ...more, seed });
    const events = await responseEvents(server, { ...more, seed });
    assertEquals(withoutCallIds(assembled(events)), withoutCallIds(whole));
    const [call] = whole.output;
    assert(call.type === "custom_tool_call", JSON.stringify(call));
    assertEquals(call.name, "apply_patch");
    const deltas = events.flatMap((one) =>
      one.type === "response.custom_tool_call_input.delta" ? [one.delta] : []
    );
    assertEquals(deltas.join(""), call.input);
    if (call.status === "completed" && deltas.length > 3) calls++;
    assertEquals(whole.tools, [PATCH]);
    const goOn = { previous_response_id: whole.id, tools: [PATCH], max_output_tokens: 4 };
    if (call.status !== "completed") {
      assertEquals((await respond(server, { ...goOn, input: "b" })).output.length, 1);
      continue;
    }
    const result = { type: "custom_tool_call_output", call_id: call.call_id, output: "Done!" };
    const next = await respond(server, { ...goOn, input: [result] });
    const items = [{ role: "user", content: "Hello" }, call, result];
    const again = await respond(server, {
      tools: [PATCH],
      max_output_tokens: 4,
      input: items,
    });
    assertEquals(withoutIds(again).output, withoutIds(next).output);
    const { data } = await (await fetch(
      `${server.url}${RESPONSES}/${again.id}/input_items?order=asc`,
    )).json();
    assertEquals(data.slice(1).map(({ type }: { type: string }) => type), [
      "custom_tool_call",
      "custom_tool_call_output",
    ]);
  }
  assert(calls > 0, `${calls} calls came whole and in pieces`);
});

Deno.test("the model gets a custom tool's grammar, and calls as of a function with one text", async () => {
  const template = "{% for t in tools or [] %}{{ t.function | tojson }}{% endfor %}" +
    "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}{% for c in m.tool_calls %}<tool_call>" +
    "{{ c.function.name }} {{ c.function.arguments | tojson }}</tool_call>{% endfor %}\n{% endfor %}a:";
  await using server = await startChat({ contextLength: 4096 }, template);
  const result = { type: "custom_tool_call_output", call_id: "call_1", output: "Done!" };
  const tokens = async (body: unknown, path = RESPONSES + "/input_tokens") =>
    (await answerOf(server, path, body)).input_tokens as number;
  const input = [{ role: "user", content: "Hello" }, CUSTOM_CALL, result];
  const counted = await tokens({ input, tools: [PATCH] });
  const parameters = {
    type: "object",
    properties: { input: { type: "string" } },
    required: ["input"],
    additionalProperties: false,
  };
  const same = await tokens({
    input: [
      input[0],
      {
        type: "function_call",
        call_id: "call_1",
        name: "apply_patch",
        arguments: JSON.stringify({ input: CUSTOM_CALL.input }),
      },
      { ...result, type: "function_call_output" },
    ],
    tools: [{
      type: "function",
      name: "apply_patch",
      description: `Edits files.\n\nThe input matches this grammar:\n${PATCH.format.definition}`,
      parameters,
    }],
  });
  assertEquals(counted, same);
  assert(counted > await tokens({ input, tools: [{ ...PATCH, format: { type: "text" } }] }));
});

Deno.test("OpenAI's own tools are left out, which a header says, and the response shows the others", async () => {
  await using server = await startCaller();
  const tools = [
    { type: "web_search", search_context_size: "low" },
    WEATHER,
    { type: "web_search_preview_2025_03_11" },
    { type: "image_generation" },
  ];
  for (const stream of [false, true]) {
    const body = responsesBody({ ...CALLING, tools, stream });
    const response = await server.post(RESPONSES, body);
    assertEquals(response.status, 200);
    assertEquals(
      response.headers.get("m40-left-out"),
      "web_search, web_search_preview_2025_03_11, image_generation",
    );
    await response.text();
  }
  assertEquals((await respond(server, { ...CALLING, tools })).tools, [WEATHER]);
  const none = await server.post(RESPONSES, responsesBody({ ...CALLING }));
  assertEquals([none.headers.get("m40-left-out"), none.status], [null, 200]);
  await none.text();
});

Deno.test("an input is read out of arguments wherever these are cut", () => {
  const texts = [
    "",
    "a",
    CUSTOM_CALL.input,
    '"\\\n\t\b\f\r/',
    "\u0000\u001f\u2028é",
    "\u{1f600}\u{10ffff}:{",
  ];
  const escaped = (text: string) =>
    [...Array(text.length).keys()].map((i) =>
      "\\u" + text.charCodeAt(i).toString(16).padStart(4, "0")
    ).join("");
  for (const text of texts) {
    const written = [JSON.stringify({ input: text }), `{ "input" :  "${escaped(text)}" }`];
    for (const json of written) {
      for (const size of [1, 2, 3, 5, 7, 1000]) {
        const reader = new InputReader();
        const pieces: string[] = [];
        const characters = [...json];
        for (let at = 0; at < characters.length; at += size) {
          pieces.push(reader.push(characters.slice(at, at + size).join("")));
        }
        assertEquals(pieces.join(""), text, `${json} by ${size}`);
        assert(pieces.every((piece) => piece.isWellFormed()), `${json} by ${size}`);
      }
    }
  }
});

Deno.test("tools, choices, calls and results that cannot be are 400, and named", async () => {
  await using server = await startCaller();
  const call = { type: "function_call", call_id: "a", name: "roll", arguments: "{}" };
  await testBadRequests(server, RESPONSES, responsesBody(), [
    [{ tools: 5 }, "tools"],
    [{ tools: [5] }, "tools.0"],
    [{ tools: [{ name: "f" }] }, "tools.0.type"],
    [{ tools: [{ type: "function" }] }, "tools.0.name"],
    [{ tools: [{ type: "function", name: "two words" }] }, "tools.0"],
    [{ tools: [{ type: "function", name: "f", parameters: "{}" }] }, "tools.0.parameters"],
    [{ tools: [DICE, DICE] }, "tools.1"],
    [{ tools: [{ type: "web_searching" }] }, "tools.0.type", undefined, "unsupported"],
    [{ tools: [{ type: "custom" }] }, "tools.0.name"],
    [{ tools: [{ ...PATCH, format: { type: "lark" } }] }, "tools.0.format.type"],
    [{ tools: [{ ...PATCH, format: { type: "grammar" } }] }, "tools.0.format.definition"],
    [{ tools: [{ type: "web_search" }], tool_choice: "required" }, "tool_choice"],
    [{ input: [{ ...CUSTOM_CALL, input: {} }] }, "input.0.input"],
    [{ tools: [{ type: "namespace", name: "n" }] }, "tools.0.tools"],
    [
      { tools: [{ type: "namespace", name: "n", tools: [{ type: "plugin", name: "f" }] }] },
      "tools.0.tools.0.type",
      undefined,
      "unsupported",
    ],
    [{ tool_choice: "required" }, "tool_choice"],
    [{ tools: [DICE], tool_choice: "sometimes" }, "tool_choice"],
    [{ tools: [DICE], tool_choice: { type: "function", name: "f" } }, "tool_choice.name"],
    [
      { tools: [DICE], tool_choice: { type: "web_search" } },
      "tool_choice.type",
      undefined,
      "unsupported",
    ],
    [
      { tools: [DICE], tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } },
      "tool_choice.tools",
    ],
    [{ input: [{ ...call, call_id: 5 }] }, "input.0.call_id"],
    [{ input: [call, resultOf(call as FunctionCall, null)] }, "input.1.output"],
    [{ input: [call, resultOf(call as FunctionCall, [{ type: 5 }])] }, "input.1.output.0.type"],
  ]);
});
