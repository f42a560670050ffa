import { assert } from "@std/assert";
import { checkOf, isEventStream } from "../fixtures/fuzz_answers.ts";
import { CASES, fuzz, type Seedling, SHORT_TEMPLATE } from "../fixtures/fuzz_bodies.ts";
import { readError, startServer } from "../fixtures/server_fixture.ts";

/** Bodies that are right, with every field between them. */
const SEEDLINGS: readonly Seedling[] = [
  ["/v1/completions", { model: "golden", prompt: "Hello", max_tokens: 3 }],
  ["/v1/completions", {
    model: "golden",
    prompt: ["Hello", "World"],
    max_tokens: 2,
    n: 2,
    best_of: 2,
    seed: 5,
    stream: true,
    stream_options: { include_usage: true },
  }],
  ["/v1/completions", {
    model: "golden",
    prompt: [1, 5, 9],
    max_tokens: 3,
    temperature: 0.8,
    top_p: 0.9,
    top_k: 40,
    min_p: 0.05,
    repetition_penalty: 1.1,
    frequency_penalty: 0.5,
    presence_penalty: -0.5,
    logit_bias: { "7": 5, "300": -100 },
    logprobs: 5,
    stop: ["\n", "é"],
  }],
  ["/v1/completions", {
    prompt: [[1, 5], [1, 9]],
    max_tokens: 2,
    echo: true,
    suffix: null,
    user: "me",
    stop: "x",
  }],
  ["/v1/completions", {
    model: "golden",
    prompt: "Hello",
    max_tokens: 0,
    echo: true,
    logprobs: 2,
    parse_special: false,
    best_of: 3,
    ignore_eos: true,
    min_tokens: 0,
  }],
  ["/v1/completions", {
    model: "golden",
    prompt: "Hello",
    max_tokens: 3,
    typical_p: 0.9,
    repeat_last_n: 8,
    dry_multiplier: 1,
    dry_base: 1.5,
    dry_allowed_length: 1,
    dry_penalty_last_n: 16,
    dry_sequence_breakers: ["\n"],
    xtc_probability: 0.5,
    xtc_threshold: 0.1,
    dynatemp_range: 0.5,
    dynatemp_exponent: 1.2,
    mirostat: 2,
    mirostat_tau: 4,
    mirostat_eta: 0.2,
  }],
  ["/v1/chat/completions", {
    model: "golden",
    messages: [
      { role: "system", content: "a" },
      { role: "user", content: [{ type: "text", text: "b" }], name: "c" },
      { role: "assistant", content: "d", reasoning_content: "e" },
    ],
    max_completion_tokens: 3,
    continue_final_message: true,
    logprobs: true,
    top_logprobs: 2,
    n: 2,
  }],
  ["/v1/chat/completions", {
    model: "golden",
    messages: [{ role: "user", content: "b" }],
    max_tokens: 3,
    stream: true,
    stream_options: { include_usage: true },
    chat_template_kwargs: { enable_thinking: true },
    reasoning_effort: "low",
    reasoning_budget: 1,
    tools: [],
    tool_choice: "none",
    response_format: { type: "text" },
    structured_outputs: { grammar: "root ::= [a-z]+ | .{2}", regex: null },
    metadata: { a: "b" },
    add_generation_prompt: true,
  }],
  ["/v1/chat/completions", {
    messages: [
      { role: "user", content: "b" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
      },
      { role: "tool", tool_call_id: "1", content: "d" },
    ],
    tools: [{
      type: "function",
      function: {
        name: "f",
        description: "e",
        strict: false,
        parameters: {
          type: "object",
          properties: {
            a: { type: "integer", minimum: 1 },
            b: { anyOf: [{ enum: ["x", 2] }, { type: "array", items: { $ref: "#" } }] },
          },
          required: ["a"],
          additionalProperties: false,
        },
      },
    }, { type: "function", function: { name: "g" } }],
    tool_choice: "required",
    parallel_tool_calls: false,
    max_tokens: 4,
    n: 2,
  }],
  ["/v1/chat/completions", {
    messages: [{ role: "user", content: "b" }],
    tools: [{ type: "function", function: { name: "f", parameters: { properties: {} } } }],
    tool_choice: { type: "function", function: { name: "f" } },
    response_format: { type: "json_object" },
    max_tokens: 12,
    stream: true,
  }],
  ["/apply-template", {
    messages: [{ role: "user", content: "b" }],
    tools: [{ type: "function", function: { name: "f" } }],
    tool_choice: "auto",
  }],
  ["/infill", {
    input_prefix: "a",
    input_suffix: "b",
    input_extra: [{ filename: "c", text: "d" }],
  }],
  ["/completion", {
    prompt: "Hello",
    n_predict: 3,
    n_probs: 2,
    return_tokens: true,
    repeat_penalty: 1.1,
    seed: -1,
    stop: ["a"],
  }],
  ["/completions", { model: "golden", prompt: "Hello", n_predict: 3 }],
  ["/embedding", { model: "golden", content: ["a", "b"] }],
  ["/tokenize", { prompt: "Hello", add_special_tokens: true }],
  ["/tokenize", { content: "Hello é", add_special: true, parse_special: true, with_pieces: true }],
  ["/detokenize", { tokens: [1, 5, 300] }],
  ["/apply-template", { messages: [{ role: "user", content: "b" }] }],
  ["/v1/generate", { prompt: "Hello é 世界", max_tokens: 3, regex: "[a-c]{2,}(x|é)*" }],
  ["/v1/completions", { prompt: "a", max_tokens: 3, grammar: 'root ::= "a" | [^b-d]{2,3}' }],
  ["/v1/completions", { prompt: "a", max_tokens: 3, guided_choice: ["yes", "no"] }],
  ["/v1/generate", { model: "golden", prompt: [1, 2, 3], max_tokens: 3, stream: true, seed: 1 }],
];

/** An answer that a client can live with. */
const check = checkOf({
  refusals: [400, 404, 429],
  readRefusal: async (response, status) => (await readError(response, status)).message,
  async readAnswer(response) {
    const text = await response.text();
    if (isEventStream(response)) {
      assert(text.endsWith("data: [DONE]\n\n"), text);
      assert(!text.includes('"error"'), text);
    } else {
      JSON.parse(text);
    }
  },
});

Deno.test(`fuzz: ${CASES} mutated bodies are answered with 2xx or 4xx in OpenAI's shape`, async () => {
  await using server = await startServer({ engine: { chatTemplate: SHORT_TEMPLATE } });
  await fuzz(server, SEEDLINGS, check);
});
