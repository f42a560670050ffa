// What OpenAI's responses refuse: in OpenAI's shape, by the name of the field.
import { MOST_LEVELS } from "../../../engine/json/parse_json.ts";
import { assert, assertEquals } from "@std/assert";
import { z } from "zod";
import { type BadRequest, testBadRequests } from "../../fixtures/bad_requests.ts";
import { HELLO, startChat } from "../../fixtures/server_chat_fixture.ts";
import { answerOf, readError, startServer } from "../../fixtures/server_fixture.ts";
import { gate, startModels } from "../../fixtures/server_models_fixture.ts";
import {
  assembled,
  readResponseEvents,
  RESPONSES,
  responsesBody,
} from "../../fixtures/server_responses_fixture.ts";

const user = (content: unknown) => ({ input: [{ role: "user", content }] });
const tool = { type: "function", name: "f", parameters: { type: "object" } };

const REFUSED: readonly BadRequest[] = [
  [{ background: true }, "background", undefined, "unsupported"],
  [{ conversation: "conv_1" }, "conversation", undefined, "unsupported"],
  [{ prompt: { id: "pmpt_1" } }, "prompt", undefined, "unsupported"],
  [{ moderation: { model: "m" } }, "moderation", undefined, "unsupported"],
  [
    { context_management: [{ type: "compaction" }] },
    "context_management",
    undefined,
    "unsupported",
  ],
  [{ include: ["everything"] }, "include.0"],
  [{ input: undefined }, "input"],
  [{ input: null }, "input"],
  [{ input: [] }, "input"],
  [{ input: 5 }, "input"],
  [{ input: ["a"] }, "input.0"],
  [{ input: [{}] }, "input.0.type"],
  [{ input: [{ type: "mesage" }] }, "input.0.type", undefined, "unsupported"],
  [{ input: [{ role: "tool", content: "a" }] }, "input.0.role"],
  [user(null), "input.0.content"],
  [
    user([{ type: "input_image", image_url: "data:" }]),
    "input.0.content.0.type",
    undefined,
    "unsupported",
  ],
  [
    user([{ type: "input_file", file_id: "f" }]),
    "input.0.content.0.type",
    undefined,
    "unsupported",
  ],
  [user([{ type: "input_text" }]), "input.0.content.0.text"],
  [user([{ text: "a" }]), "input.0.content.0.type"],
  [
    { input: [{ type: "reasoning", content: [null] }] },
    "input.0.content.0.text",
  ],
  [{ input: [{ type: "reasoning", content: 5 }] }, "input.0.content"],
  [{ previous_response_id: "r" }, "previous_response_id", undefined, "previous_response_not_found"],
  [{ previous_response_id: 5 }, "previous_response_id"],
  [{ max_output_tokens: 0 }, "max_output_tokens"],
  [{ top_logprobs: 21 }, "top_logprobs"],
  [{ truncation: "middle" }, "truncation"],
  [{ reasoning: { effort: "most" } }, "reasoning.effort"],
  [{ metadata: { a: 1 } }, "metadata"],
  [{ metadata: { ["k".repeat(65)]: "" } }, "metadata"],
  [{ text: { format: { type: "xml" } } }, "text.format.type"],
  [{ text: { format: { type: "json_schema" } } }, "text.format.schema"],
  [
    { text: { format: { type: "json_schema", schema: { type: "thing" } } } },
    "text.format.schema",
  ],
];

Deno.test("what is not done, and what is wrong, is a 400 that names the field", async () => {
  await using server = await startChat();
  for (const stream of [false, true]) {
    await testBadRequests(server, RESPONSES, responsesBody({ stream }), REFUSED);
  }
});

Deno.test("fields that have no effect here are accepted, whatever they are", async () => {
  await using server = await startChat();
  const idle = {
    service_tier: "flex",
    prompt_cache_options: { mode: "explicit" },
    prompt_cache_retention: "24h",
    stream_options: { include_obfuscation: false },
    max_tool_calls: 3,
    client_metadata: { a: "b" },
    reasoning: { summary: "auto" },
    background: false,
    conversation: null,
    context_management: [],
    include: ["file_search_call.results"],
    tools: [],
  };
  const response = await server.post(RESPONSES, responsesBody(idle));
  assertEquals(response.status, 200, await response.text());
});

Deno.test("a model without a template, no route", async () => {
  await using server = await startServer();
  const plain = await server.post(RESPONSES, responsesBody());
  assertEquals((await readError(plain, 400)).code, "no_chat_template");
  for (const path of ["/x/cancel", "/compact/y"]) {
    assertEquals((await readError(await server.post(RESPONSES + path, {}), 404)).code, "not_found");
  }
  for (const query of ["limit=0", "limit=x", "limit=101", "order=up"]) {
    const unknown = await fetch(`${server.url}${RESPONSES}/resp_1/input_items?${query}`);
    assertEquals((await readError(unknown, 404)).code, "response_not_found");
  }
});

Deno.test("pages of items that there cannot be, and streams of what is done, are refused by name", async () => {
  await using server = await startChat();
  const made = await answerOf(server, RESPONSES, responsesBody());
  for (
    const [rest, param] of [
      ["/input_items?limit=0", "limit"],
      ["/input_items?limit=1e9", "limit"],
      ["/input_items?order=up", "order"],
      ["/input_items?after=msg_1", "after"],
      ["?stream=true", "stream"],
    ]
  ) {
    const response = await fetch(`${server.url}${RESPONSES}/${made.id}${rest}`);
    assertEquals((await readError(response, 400)).param, param);
  }
});

/** The event of an error before there is a response. */
const ErrorEvent = z.strictObject({
  type: z.literal("error"),
  sequence_number: z.literal(0),
  code: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  error: z.looseObject({ code: z.string(), message: z.string() }),
});

Deno.test("what goes wrong before there is a response is an error event, flat as published and nested as sent", async () => {
  const loading = gate();
  await using server = await startModels({
    engine: { chatTemplate: "{{ messages[0].content }}" },
    beforeLoad: () => loading.wait(),
  });
  const response = await server.post(
    RESPONSES,
    responsesBody({ model: "llama", input: "word ".repeat(500), stream: true }),
  );
  loading.open();
  const text = await response.text();
  const [, json] = /^event: error\ndata: (.*)$/m.exec(text)!;
  const { code, error } = ErrorEvent.parse(JSON.parse(json));
  assertEquals([response.status, code], [200, "context_length_exceeded"]);
  assertEquals(error.code, code);
  assert(text.startsWith(": "), "comments say what is waited for");
});

Deno.test("a hundred thousand items, parts, tools or wrong elements are answered soon", async () => {
  await using server = await startChat();
  const many = <T>(value: T, count: number) => Array<T>(count).fill(value);
  const bodies: Record<string, unknown>[] = [
    { input: many(1, 100_000) },
    { input: many({ role: "user", content: "" }, 20_000) },
    { input: [{ role: "user", content: many({ type: "input_text", text: "" }, 20_000) }] },
    { input: HELLO, tools: many({ ...tool, type: "web_searching" }, 10_000) },
    { input: HELLO, tools: many(1, 100_000) },
    { input: HELLO, include: many("x", 100_000) },
    { input: "x", metadata: Object.fromEntries(many(0, 20_000).map((_, i) => [`k${i}`, ""])) },
  ];
  for (const body of bodies) {
    const error = await readError(await server.post(RESPONSES, responsesBody(body)), 400);
    assert(error.message.length < 1000);
  }
});

Deno.test("what is nested as deeply as JSON can be is answered, wherever it stands", async () => {
  await using server = await startChat({ contextLength: 2048 });
  const levels = MOST_LEVELS - 10;
  const deep = "[".repeat(levels) + "]".repeat(levels);
  const named = '"type":"function","name":"f"';
  const cases: [string, number][] = [
    [`"tools":[{${named},"x":${deep}}]`, 200],
    [`"tools":[{${named},"parameters":{"x":${deep}}}]`, 400],
    [
      `"tools":[{"type":"namespace","name":"n","x":${deep},"tools":[{${named},"strict":${deep},"x":${deep}}]}]`,
      200,
    ],
    [`"tools":[{${named}}],"tool_choice":{${named},"x":${deep}}`, 200],
    [
      `"tools":[{${named}}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{${named},` +
      `"x":${deep}}]}`,
      200,
    ],
    [`"tool_choice":${deep}`, 400],
    [`"text":{"format":{"type":"text","x":${deep}}}`, 200],
    [`"text":{"format":{"type":"json_schema","schema":{"x":${deep}}}}`, 400],
    [`"reasoning":{"x":${deep}},"stream_options":${deep},"y":${deep}`, 200],
    [`"metadata":{"x":${deep}}`, 400],
    [`"input":[{"role":"user","content":"a","x":${deep}}]`, 200],
    [`"input":[{"role":"user","content":${deep}}]`, 400],
    [`"input":${deep}`, 400],
  ];
  for (const [more, status] of cases) {
    for (const stream of [false, true]) {
      const body =
        `{"model":"golden","input":"a","max_output_tokens":2,"stream":${stream},${more}}`;
      const response = await server.post(RESPONSES, body);
      const text = await response.text();
      assertEquals(
        [response.status, text.includes('"server_error"')],
        [status, false],
        more.slice(0, 99),
      );
      if (stream && status === 200) assembled(readResponseEvents(text));
    }
  }
});
