import { assert, assertEquals } from "@std/assert";
import { InputTokens, ResponseObject } from "../../../server/openai/responses/response_schemas.ts";
import { checkOf, isEventStream } from "../../fixtures/fuzz_answers.ts";
import { CASES as MANY, fuzz, type Seedling } from "../../fixtures/fuzz_bodies.ts";
import { HELLO, startChat } from "../../fixtures/server_chat_fixture.ts";
import { readError } from "../../fixtures/server_fixture.ts";
import { assembled, readResponseEvents } from "../../fixtures/server_responses_fixture.ts";

const RESPONSES = "/v1/responses";
const COUNT = "/v1/responses/input_tokens";

const WHOLE = {
  model: "golden",
  input: [
    { role: "developer", content: "d" },
    { type: "message", role: "user", content: [{ type: "input_text", text: "Hé" }] },
    {
      type: "reasoning",
      id: "rs_1",
      summary: [],
      content: [{ type: "reasoning_text", text: "t" }],
      encrypted_content: "m40:YQ==",
    },
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "c", annotations: [], logprobs: [] }],
    },
    { role: "user", content: "b" },
  ],
  instructions: "I",
  max_output_tokens: 3,
  reasoning: { effort: "low", summary: "auto" },
  text: { format: { type: "json_schema", name: "n", schema: { type: "integer" } } },
  include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
  top_logprobs: 2,
  truncation: "auto",
  metadata: { a: "b" },
  temperature: 0.8,
  top_p: 0.9,
  keep_alive: "5m",
};

const CALL = { type: "function_call", id: "fc_1", call_id: "a", name: "f", arguments: '{"a":1}' };
const PARAMETERS = { type: "object", properties: { a: { enum: [1, 2] } }, required: ["a"] };
const FUNCTION = { type: "function", name: "f", description: "d", parameters: PARAMETERS };

/** A conversation with calls, and one more that is wanted. */
const CALLING = {
  model: "golden",
  input: [
    { role: "user", content: "b" },
    CALL,
    { ...CALL, call_id: "b", namespace: "n", name: "g" },
    { type: "function_call_output", call_id: "a", output: "1" },
    {
      type: "function_call_output",
      call_id: "b",
      output: [{ type: "input_text", text: "2" }],
    },
  ],
  tools: [FUNCTION, { type: "namespace", name: "n", tools: [{ ...FUNCTION, name: "g" }] }],
  tool_choice: { type: "function", name: "f" },
  parallel_tool_calls: true,
  max_output_tokens: 8,
};

/** Bodies that are right, with every field between them. */
const SEEDLINGS: readonly Seedling[] = [
  [RESPONSES, CALLING],
  [RESPONSES, { ...CALLING, tool_choice: "auto", stream: true }],
  [COUNT, CALLING],
  [RESPONSES, { model: "golden", input: "Hello", max_output_tokens: 3 }],
  [RESPONSES, WHOLE],
  [RESPONSES, { ...WHOLE, stream: true, seed: 5 }],
  [RESPONSES, {
    max_output_tokens: 2,
    input: HELLO,
    stream: true,
    store: false,
    chat_template_kwargs: { enable_thinking: true },
    reasoning_budget: 1,
    parallel_tool_calls: false,
    background: false,
    conversation: null,
    previous_response_id: null,
    tool_choice: "auto",
    tools: [],
    user: "me",
  }],
  [COUNT, { model: "golden", input: "Hello" }],
  [COUNT, WHOLE],
];

/** What fields of this dialect may be. */
const VALUES: readonly unknown[] = [
  { type: "input_text", text: "a" },
  [{ type: "input_image", image_url: "data:" }],
  [{ type: "function_call_output", call_id: "a", output: "b" }],
  [{ type: "function_call", call_id: "a", name: "f", arguments: "{}" }],
  [{ type: "reasoning", summary: [{ type: "summary_text", text: "s" }] }],
  [{ type: "item_reference", id: "msg_1" }],
  [{ id: "rs_1" }],
  [{ role: "assistant", content: "" }],
  [{ type: "__proto__", __proto__: { text: "a" } }],
  [{ type: "function", name: "f", parameters: { type: "object" } }],
  [{ type: "web_search" }],
  { type: "function", name: "f" },
  { type: "allowed_tools", mode: "auto", tools: [] },
  { effort: "none" },
  { effort: "max" },
  { format: { type: "json_object" }, verbosity: "low" },
  "required",
  "auto",
  "resp_1",
];

/** An answer that a client of OpenAI's can live with. */
const check = checkOf({
  refusals: [400, 404, 429],
  readRefusal: async (response, status) => (await readError(response, status)).message,
  async readAnswer(response, path, server) {
    if (isEventStream(response)) {
      const { status } = assembled(readResponseEvents(await response.text()));
      assert(status === "completed" || status === "incomplete", status);
      return;
    }
    if (path === COUNT) {
      InputTokens.parse(await response.json());
      return;
    }
    const made = ResponseObject.parse(await response.json());
    if (!made.store) return;
    const kept = await fetch(`${server.url}${RESPONSES}/${made.id}`);
    assertEquals(await kept.json(), made);
  },
});

// Few by default: tests/slow has more of them.
const CASES = Deno.env.has("M40_FUZZ_CASES") ? MANY : 600;

Deno.test(`fuzz: ${CASES} mutated bodies are answered with 2xx or 4xx in the shape of OpenAI's responses`, async () => {
  const template = "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}" +
    "{% for m in messages %}{{ m.role }}{{ m.content }}{% for c in m.tool_calls %}<tool_call>" +
    "{{ c.function.name }}{{ c.function.arguments }}</tool_call>{% endfor %}{% endfor %}" +
    "{% if enable_thinking %}<think>{% endif %}";
  // Some are lost meanwhile.
  const keptResponses = { count: 50, bytes: 2 ** 20 };
  await using server = await startChat({ app: { keptResponses } }, template);
  await fuzz(server, SEEDLINGS, check, VALUES, CASES);
});
