// What schemas of answers leave open, and what is left out of them, by every field that brings one.
import { assert, assertMatch } from "@std/assert";
import { MOST_LEVELS } from "../../engine/json/parse_json.ts";
import { answerOf, readError, type TestServer } from "../fixtures/server_fixture.ts";
import { startTools } from "../fixtures/server_tools_fixture.ts";

const MESSAGES = [{ role: "user", content: "Hello" }];
const SCHEMA = { type: "object", properties: { a: { const: 1 } }, required: ["a"] };
const OPEN = { ...SCHEMA, additionalProperties: true };
const CLOSED = { ...SCHEMA, additionalProperties: false };

/**
 * Tokens with a brace that closes: any client that may write another member may write these, as they are as good as
 * forbidden.
 */
function noBraces({ engine: { tokenizer } }: TestServer): Record<string, number> {
  const tokens = Array.from({ length: tokenizer.vocabSize }, (_, token) => token)
    .filter((token) => /\}|^<0x7D>$/.test(tokenizer.tokenText(token)));
  return Object.fromEntries(tokens.map((token) => [token, -100]));
}

/** The text that a request is answered with. */
async function said(server: TestServer, path: string, body: object): Promise<string> {
  const answer = await answerOf(server, path, body);
  return answer.choices?.[0].message?.content ?? answer.message?.content ?? answer.response ??
    answer.content?.[0].text ?? answer.output.at(-1).content[0].text;
}

Deno.test("members that no schema names are forbidden in every dialect, unless the schema or a switch allows them", async () => {
  await using server = await startTools();
  const logit_bias = noBraces(server);
  const options = { num_predict: 12, temperature: 0 };
  const chat = { messages: MESSAGES, max_tokens: 12, temperature: 0, logit_bias };
  const format = (schema: unknown) => ({ type: "json_schema", json_schema: { schema } });
  const without = (disable_additional_properties: boolean) => ({
    structured_outputs: { disable_additional_properties },
  });
  const cases: [path: string, body: Record<string, unknown>, isClosed: boolean][] = [
    ["/v1/chat/completions", { response_format: format(SCHEMA) }, true],
    ["/v1/chat/completions", { response_format: format(OPEN) }, false],
    ["/v1/chat/completions", { response_format: format(SCHEMA), ...without(false) }, false],
    ["/v1/chat/completions", { response_format: format(CLOSED) }, true],
    ["/v1/chat/completions", { response_format: format(SCHEMA), ...without(true) }, true],
    ["/v1/chat/completions", { guided_json: SCHEMA }, true],
    ["/v1/chat/completions", { json_schema: SCHEMA }, true],
    ["/v1/chat/completions", { json_schema: SCHEMA, ...without(false) }, false],
    ["/v1/chat/completions", { json_schema: OPEN }, false],
    ["/v1/chat/completions", { response_format: { type: "json_object", schema: SCHEMA } }, true],
    ["/v1/chat/completions", { response_format: { type: "json_object", value: SCHEMA } }, true],
    ["/v1/chat/completions", { structured_outputs: { json: SCHEMA } }, true],
    ["/v1/chat/completions", {
      structured_outputs: { json: SCHEMA, disable_additional_properties: false },
    }, false],
    ["/v1/messages", { output_config: { format: { type: "json_schema", schema: SCHEMA } } }, true],
    ["/v1/responses", {
      input: "Hello",
      max_output_tokens: 16,
      text: { format: { type: "json_schema", name: "n", schema: SCHEMA } },
    }, true],
    ["/v1/responses", {
      input: "Hello",
      max_output_tokens: 16,
      text: { format: { type: "json_schema", name: "n", schema: OPEN } },
    }, false],
    ["/api/chat", { format: SCHEMA, stream: false, options: { ...options, logit_bias } }, true],
    ["/api/chat", { format: OPEN, stream: false, options: { ...options, logit_bias } }, false],
    ["/api/generate", {
      prompt: "Hello",
      format: SCHEMA,
      stream: false,
      options: { ...options, logit_bias },
    }, true],
  ];
  for (const [path, body, isClosed] of cases) {
    const text = await said(server, path, { ...chat, ...body, model: "golden" });
    const what = `${path} ${JSON.stringify(body).slice(0, 200)}: ${text}`;
    assert(/^\{"a": ?1/.test(text), what);
    if (isClosed) assertMatch(text, /^\{"a": ?1\}$/, what);
    else assertMatch(text, /^\{"a": ?1, ?"?/, what);
  }
});

Deno.test("what no grammar can enforce is left to the model, in every dialect, unless strict", async () => {
  await using server = await startTools();
  const schema = {
    type: "object",
    properties: {
      tags: { type: "array", items: { enum: ["a"] }, maxItems: 1, uniqueItems: true },
      path: { type: "string", format: "path", maxLength: 4 },
      url: { type: "string", format: "uri", minLength: 1, maxLength: 2083 },
    },
    required: ["tags"],
  };
  const chat = { messages: MESSAGES, max_tokens: 1 };
  const strict = (strict: boolean) => ({
    response_format: { type: "json_schema", json_schema: { schema, strict } },
  });
  const cases: [path: string, body: Record<string, unknown>][] = [
    ["/v1/chat/completions", strict(false)],
    ["/v1/chat/completions", { json_schema: schema }],
    ["/v1/messages", { output_config: { format: { type: "json_schema", schema } } }],
    ["/v1/responses", {
      input: "Hello",
      max_output_tokens: 16,
      text: { format: { type: "json_schema", name: "n", schema } },
    }],
    ["/api/chat", { format: schema, stream: false, options: { num_predict: 1 } }],
  ];
  for (const [path, body] of cases) {
    assert((await said(server, path, { ...chat, ...body, model: "golden" })).length > 0);
  }
  const path = "/v1/chat/completions";
  // Types of pydantic and zod: formats that the specification does not know ask for nothing.
  const own = {
    type: "object",
    properties: { a: { type: "string", format: "path", maxLength: 4 } },
  };
  const named = {
    response_format: { type: "json_schema", json_schema: { schema: own, strict: true } },
  };
  assert((await said(server, path, { ...chat, ...named, model: "golden" })).length > 0);
  const refused = await readError(await server.post(path, { ...chat, ...strict(true) }), 400);
  assertMatch(refused.message, /response_format: JSON Schema at "#\/properties\/url\/format"/);
  const text = { format: { type: "json_schema", name: "n", schema, strict: true } };
  await readError(await server.post("/v1/responses", { input: "Hello", text }), 400);
  const none = { ...chat, json_schema: { type: "text" } };
  assertMatch((await readError(await server.post(path, none), 400)).message, /#\/type/);
});

Deno.test("schemas and values as deep as a body may be are answered, wherever they stand", async () => {
  await using server = await startTools();
  for (const keyword of ["x", "properties", "items", "allOf", "const"]) {
    const levels = MOST_LEVELS - 8;
    const deep = `{"${keyword}":`.repeat(levels) + "1.0" + "}".repeat(levels);
    const fields = [
      `"json_schema":${deep}`,
      `"response_format":{"type":"json_object","value":${deep}}`,
      `"structured_outputs":{"json":${deep}}`,
      `"tools":[{"type":"function","function":{"name":"f","parameters":${deep}}}]`,
      `"chat_template_kwargs":${deep}`,
    ];
    for (const field of fields) {
      const body = `{"max_tokens":1,"messages":${JSON.stringify(MESSAGES)},${field}}`;
      const response = await server.post("/v1/chat/completions", body);
      const text = await response.text();
      assert([200, 400].includes(response.status), `${field.slice(0, 60)}: ${text.slice(0, 300)}`);
    }
  }
});
