import { MessageObject, TokenCount } from "../../../server/anthropic/answer_schemas.ts";
import { checkOf, isEventStream } from "../../fixtures/fuzz_answers.ts";
import { CASES, fuzz, type Seedling, SHORT_TEMPLATE } from "../../fixtures/fuzz_bodies.ts";
import { readAnthropicError, readMessageEvents } from "../../fixtures/server_anthropic_fixture.ts";
import { HELLO, startChat } from "../../fixtures/server_chat_fixture.ts";

const COUNT = "/v1/messages/count_tokens";
const TEXT = { type: "text", text: "Hé" };

const WHOLE = {
  model: "golden",
  max_tokens: 3,
  messages: [
    { role: "user", content: [TEXT, { ...TEXT, cache_control: { type: "ephemeral" } }] },
    {
      role: "assistant",
      content: [{ type: "thinking", thinking: "t", signature: "m40" }, TEXT],
    },
    { role: "user", content: "b" },
  ],
  system: [TEXT],
  thinking: { type: "enabled", budget_tokens: 2, display: "omitted" },
  output_config: { effort: "low", format: { type: "json_schema", schema: { type: "integer" } } },
  metadata: { user_id: "me" },
  stop_sequences: ["\n", "é"],
  temperature: 0.8,
  top_p: 0.9,
  top_k: 40,
  tools: [],
  tool_choice: { type: "auto", disable_parallel_tool_use: false },
  keep_alive: "5m",
};

const TOOLS = [
  { name: "look", description: "Looks.", input_schema: { type: "object" }, strict: true },
  {
    type: "custom",
    name: "pick",
    cache_control: { type: "ephemeral" },
    input_schema: {
      type: "object",
      properties: { a: { enum: [1, "b"] } },
      required: ["a"],
      additionalProperties: false,
    },
  },
];
const CALL = { type: "tool_use", id: "c", name: "pick", input: { a: 1 } };
const RESULT = { type: "tool_result", tool_use_id: "c", content: [TEXT], is_error: true };

const AGENT = {
  max_tokens: 12,
  messages: [
    ...HELLO,
    { role: "assistant", content: [TEXT, CALL] },
    { role: "user", content: [RESULT, TEXT] },
  ],
  tools: TOOLS,
  tool_choice: { type: "any", disable_parallel_tool_use: true },
};

/** Bodies that are right, with every field between them. */
const SEEDLINGS: readonly Seedling[] = [
  ["/v1/messages", { model: "golden", messages: HELLO, max_tokens: 3 }],
  ["/v1/messages", WHOLE],
  ["/v1/messages", { ...WHOLE, stream: true, seed: 5 }],
  ["/v1/messages", {
    max_tokens: 2,
    messages: [...HELLO, { role: "assistant", content: "I" }],
    system: "S",
    thinking: { type: "disabled" },
    stream: true,
    service_tier: "auto",
    mcp_servers: [],
    container: null,
  }],
  ["/v1/messages", AGENT],
  ["/v1/messages", { ...AGENT, stream: true, tool_choice: { type: "tool", name: "pick" } }],
  [COUNT, AGENT],
  [COUNT, { model: "golden", messages: HELLO }],
  [COUNT, WHOLE],
];

/** What fields of this dialect may be. */
const VALUES: readonly unknown[] = [
  TEXT,
  [TEXT],
  [{ type: "image", source: { type: "base64", data: "" } }],
  [{ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: [] }] }],
  [{ role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] }],
  [{ role: "assistant", content: [{ type: "redacted_thinking", data: "a" }] }],
  [{ role: "assistant", content: "" }],
  [{ role: "user", content: [] }],
  [{ role: "user", content: [{ type: "__proto__", __proto__: { text: "a" } }] }],
  { type: "enabled" },
  { type: "adaptive" },
  { type: "disabled", budget_tokens: -1 },
  { type: "any" },
  { type: "tool", name: "look" },
  TOOLS,
  TOOLS[1],
  CALL,
  [CALL, { ...CALL, id: "d" }],
  [RESULT],
  [{ type: "bash_20250124", name: "bash" }],
  { type: "object", properties: { a: { $ref: "#" } } },
  { effort: "max", format: null },
  { format: { type: "json_schema", schema: {} } },
];

/** An answer that a client of Anthropic's can live with. */
const check = checkOf({
  refusals: [400, 404, 429],
  readRefusal: async (response, status) => (await readAnthropicError(response, status)).message,
  async readAnswer(response, path) {
    if (isEventStream(response)) readMessageEvents(await response.text());
    else (path === COUNT ? TokenCount : MessageObject).parse(await response.json());
  },
});

Deno.test(`fuzz: ${CASES} mutated bodies are answered with 2xx or 4xx in Anthropic's shape`, async () => {
  await using server = await startChat({}, SHORT_TEMPLATE);
  await fuzz(server, SEEDLINGS, check, VALUES);
});
