// Numbers keep their digits and keys their order, through every dialect and both ways.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { TestServer } from "../fixtures/server_fixture.ts";
import { startTools, TOOL_TEMPLATE } from "../fixtures/server_tools_fixture.ts";

/** What JavaScript's JSON would write as {"2":0,"10":1,"b":1234567890123456800,"o":…}. */
const EXACT = '{"b":1234567890123456789,"10":1.0,"2":-0.0,"o":{"9":[1e400,0.10],"1":"x"}}';
/** The same as Python's json gives it back, which is what transformers shows to a model. */
const PYTHON =
  '{"b": 1234567890123456789, "10": 1.0, "2": -0.0, "o": {"9": [Infinity, 0.1], "1": "x"}}';
const SCHEMA = '{"type":"object","properties":{"b":{"const":1234567890123456789},' +
  '"10":{"const":1.0},"2":{"enum":[-0.0]},"o":{"const":{"9":[1e400,0.10],"1":"x"}}},' +
  '"required":["o","2","10","b"]}';
/** What a template sees of that schema: without white space. */
const SHOWN_SCHEMA = SCHEMA.replace("1e400,0.10", "Infinity,0.1");

/**
 * Makes more text than the context holds of tools, calls and variables that do not come as Python would have read them.
 * It refuses nothing: what a template refuses may be shown to it in another way.
 */
const CHECKING = `{%- macro same(name, value, wanted) %}{% if value != wanted %}` +
  "{{ (name ~ ' is ' ~ value) * 99 }}{% endif %}{% endmacro %}" +
  "{%- for t in tools or [] if t.function.parameters.required %}{{ same('schema', t.function.parameters | tojson(separators=(',', ':')), " +
  `'${SHOWN_SCHEMA}') }}{% endfor %}` +
  "{%- for m in messages %}{% for c in m.tool_calls or [] if 'b' in c.function.arguments %}{{ same('call', c.function.arguments | tojson, " +
  `'${PYTHON}') }}{% endfor %}{% endfor %}` +
  `{%- if extra %}{{ same('extra', extra | tojson, '${PYTHON}') }}{% endif %}`;

const bare = (text: string) => text.replace(/\s/g, "");

/** Sends a body as it is and gives the answer's text. */
async function answer(server: TestServer, path: string, body: string): Promise<string> {
  const response = await server.post(path, body);
  const text = await response.text();
  assertEquals(response.status, 200, `${path}: ${text}`);
  return text;
}

const USER = '{"role":"user","content":"Hello"}';
const FUNCTION = `"name":"f","parameters":${SCHEMA}`;
const OPENAI_TOOLS = `"tools":[{"type":"function","function":{${FUNCTION}}}]`;
const ANTHROPIC_TOOLS = `"tools":[{"name":"f","input_schema":${SCHEMA}}]`;
const RESPONSES_TOOLS = `"tools":[{"type":"function",${FUNCTION}}]`;
const MODEL = '"model":"golden","temperature":1.0';
/** The arguments as the text that some dialects have them as. */
const TEXT = JSON.stringify(EXACT);

Deno.test("numbers of a call and the order of its keys come to the client, whole and streamed", async () => {
  await using server = await startTools();
  const forced: [path: string, body: string, wanted: string][] = [
    [
      "/v1/chat/completions",
      `{${MODEL},"messages":[${USER}],${OPENAI_TOOLS},"tool_choice":"required"`,
      `"arguments":${TEXT}`,
    ],
    [
      "/v1/responses",
      `{${MODEL},"input":"Hello",${RESPONSES_TOOLS},"tool_choice":"required","parallel_tool_calls":false`,
      `"arguments":${TEXT}`,
    ],
    [
      "/v1/messages",
      `{${MODEL},"max_tokens":300,"messages":[${USER}],${ANTHROPIC_TOOLS},"tool_choice":{"type":"any"}`,
      `"input":${EXACT}`,
    ],
  ];
  for (const [path, body, wanted] of forced) {
    const whole = await answer(server, path, `${body}}`);
    assertStringIncludes(whole.replaceAll(/(?<=[:,]) /g, ""), wanted, path);
    const streamed = await answer(server, path, `${body},"stream":true}`);
    const pieces = [...streamed.matchAll(/"(?:partial_json|arguments|delta)":("(?:[^"\\]|\\.)*")/g)]
      .map(([, text]) => JSON.parse(text)).join("");
    assertStringIncludes(bare(pieces), EXACT, `${path}, streamed`);
  }
  // Ollama has no word for a call that must be: a format that leaves the model nothing else.
  const format = `"format":{"const":9007199254740993}`;
  for (const stream of [false, true]) {
    const body = `{"model":"golden","stream":${stream},"messages":[${USER}],${format}}`;
    const text = await answer(server, "/api/chat", body);
    const pieces = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece);
    assertEquals(pieces.join(""), "9007199254740993");
  }
});

Deno.test("numbers of calls that come back, of tools and of variables stand in the prompt as in Python", async () => {
  await using server = await startTools({}, CHECKING + TOOL_TEMPLATE);
  const few = '"max_tokens":1';
  const call = `{"id":"c","type":"function","function":{"name":"f","arguments":${TEXT}}}`;
  const messages = `[${USER},{"role":"assistant","content":null,"tool_calls":[${call}]},` +
    `{"role":"tool","tool_call_id":"c","content":"ok"}]`;
  const variables = `"chat_template_kwargs":{"extra":${EXACT}}`;
  const block = `{"type":"tool_use","id":"c","name":"f","input":${EXACT}}`;
  const result = '{"type":"tool_result","tool_use_id":"c","content":"ok"}';
  const history = `[${USER},{"role":"assistant","content":[${block}]},` +
    `{"role":"user","content":[${result}]}]`;
  const ollama = `[${USER},{"role":"assistant","tool_calls":[{"function":{"name":"f",` +
    `"arguments":${EXACT}}}]},{"role":"tool","tool_name":"f","content":"ok"}]`;
  const items = `[${USER},{"type":"function_call","call_id":"c","name":"f","arguments":${TEXT}},` +
    '{"type":"function_call_output","call_id":"c","output":"ok"}]';
  const chat = `"messages":${messages},${OPENAI_TOOLS},${variables}`;
  await answer(server, "/v1/chat/completions", `{${MODEL},${few},${chat}}`);
  await answer(
    server,
    "/v1/messages",
    `{${MODEL},${few},"messages":${history},${ANTHROPIC_TOOLS}}`,
  );
  await answer(
    server,
    "/v1/responses",
    `{${MODEL},"max_output_tokens":1,"input":${items},${RESPONSES_TOOLS},${variables}}`,
  );
  await answer(
    server,
    "/api/chat",
    `{"model":"golden","stream":false,"options":{"num_predict":1.0},"messages":${ollama},${OPENAI_TOOLS}}`,
  );
  const { prompt } = JSON.parse(await answer(server, "/apply-template", `{${MODEL},${chat}}`));
  assertStringIncludes(prompt, `"arguments": ${PYTHON}`);
  // The check itself: one digit less is reported.
  const other = `{${MODEL},${few},${chat.replace("123456789,", "123456788,")}}`;
  const refused = await server.post("/v1/chat/completions", other);
  assertEquals(refused.status, 400);
  assertMatch(await refused.text(), /context_length_exceeded/);
});

Deno.test("bounds, constants and lists of a schema are exact, by every field that brings one", async () => {
  await using server = await startTools();
  const cases: [schema: string, right: RegExp][] = [
    ['{"const":9007199254740993}', /^9007199254740993$/],
    ['{"const":1e400}', /^1e400$/],
    ['{"enum":[12345678901234567890]}', /^12345678901234567890$/],
    [
      '{"type":"integer","minimum":9223372036854775807,"maximum":9223372036854775807.0}',
      /^9223372036854775807$/,
    ],
    [
      '{"type":"integer","minimum":12345678901234567890,"maximum":12345678901234567891}',
      /^1234567890123456789[01]$/,
    ],
    [
      '{"type":"integer","exclusiveMinimum":9007199254740992,"exclusiveMaximum":9007199254740994}',
      /^9007199254740993$/,
    ],
    [
      `{"const":{"b":1,"10":-0.0,"2":${"7".repeat(60)}}}`,
      new RegExp(`^{"b":1,"10":-0.0,"2":7{60}}$`),
    ],
  ];
  for (const [schema, right] of cases) {
    const fields = [
      `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`,
      `"json_schema":${schema}`,
      `"guided_json":${JSON.stringify(schema)}`,
      `"structured_outputs":{"json":${schema}}`,
    ];
    for (const field of fields) {
      const body = `{${MODEL},"max_tokens":150,"messages":[${USER}],${field}}`;
      const { choices } = JSON.parse(await answer(server, "/v1/chat/completions", body));
      assertMatch(bare(choices[0].message.content), right, field);
    }
  }
});

Deno.test("settings are numbers, however they are written", async () => {
  await using server = await startTools();
  const body = (more: string) => `{"model":"golden","prompt":"a","max_tokens":1e1,${more}}`;
  const text = async (more: string) =>
    JSON.parse(await answer(server, "/v1/completions", body(more))).choices[0].text;
  const seeds = ["18446744073709551615", "18446744073709551614", "9007199254740993"];
  const sampled = [];
  for (const seed of seeds) {
    sampled.push(await text(`"temperature":1.50,"top_p":1.0,"seed":${seed}`));
  }
  assert(new Set(sampled).size > 1, "seeds that differ in their last digit sample the same");
  assertEquals(
    await text(`"seed":7.0,"logit_bias":{"9":1.0,"3":-1.0}`),
    await text(`"seed":7,"logit_bias":{"3":-1,"9":1}`),
  );
});
