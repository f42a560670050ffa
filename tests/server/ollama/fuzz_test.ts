import { OllamaChat, OllamaChatPiece } from "../../../server/ollama/chat.ts";
import { OllamaEmbedding, OllamaEmbeddings } from "../../../server/ollama/embed.ts";
import { OllamaGenerated, OllamaGeneratedPiece } from "../../../server/ollama/generate.ts";
import { Shown } from "../../../server/ollama/show.ts";
import { checkOf } from "../../fixtures/fuzz_answers.ts";
import { CASES, fuzz, type Seedling, SHORT_TEMPLATE } from "../../fixtures/fuzz_bodies.ts";
import { readLines, readOllamaError } from "../../fixtures/ollama_fixture.ts";
import { startChat } from "../../fixtures/server_chat_fixture.ts";

const SHOW = "/api/show";
const EMBED = "/api/embed";
const EMBEDDINGS = "/api/embeddings";

/** The answers that are whole and say all. */
const WHOLE: Readonly<Record<string, { parse(value: unknown): unknown }>> = {
  [SHOW]: Shown,
  [EMBED]: OllamaEmbeddings,
  [EMBEDDINGS]: OllamaEmbedding,
};

const TOOL = {
  type: "function",
  function: {
    name: "f",
    description: "d",
    parameters: {
      type: "object",
      properties: { a: { enum: [1, "b"] } },
      required: ["a"],
      additionalProperties: false,
    },
  },
};
const CALL = { function: { name: "f", arguments: { a: 1 } } };

/** Bodies that are right, with every field between them. */
const SEEDLINGS: readonly Seedling[] = [
  ["/api/generate", {
    model: "golden",
    prompt: "Hello",
    system: "Be",
    stream: false,
    think: false,
    keep_alive: "5m",
    options: { num_predict: 3, num_ctx: 128, stop: ["\n"], seed: 5, repeat_penalty: 1.1 },
  }],
  ["/api/generate", {
    prompt: "Hello",
    suffix: "",
    raw: true,
    template: "",
    context: [],
    images: [],
    logprobs: false,
    top_logprobs: 0,
    options: { num_predict: 3 },
  }],
  ["/api/chat", {
    model: "golden:latest",
    messages: [
      { role: "system", content: "a", images: [] },
      { role: "user", content: "b" },
      { role: "assistant", content: "d", thinking: "e", tool_calls: [] },
    ],
    think: "low",
    tools: [],
    format: { enum: ["a"] },
    truncate: true,
    shift: true,
    options: { num_predict: 3, temperature: 0.5, num_gpu: 1 },
  }],
  ["/api/chat", {
    messages: [{ role: "user", content: "b" }],
    stream: false,
    options: { num_predict: 2 },
  }],
  ["/api/chat", {
    messages: [
      { role: "user", content: "b" },
      { role: "assistant", content: "", tool_calls: [CALL, { ...CALL, id: "x" }] },
      { role: "tool", content: "c", tool_name: "f" },
      { role: "tool", content: "d", tool_call_id: "x" },
    ],
    tools: [TOOL],
    format: { enum: [7] },
    options: { num_predict: 5 },
  }],
  [EMBED, {
    model: "golden",
    input: ["Hello", "a"],
    truncate: true,
    dimensions: 4,
    keep_alive: "5m",
    options: { num_ctx: 64 },
  }],
  [EMBEDDINGS, { model: "golden", prompt: "Hello", options: {} }],
  [SHOW, { model: "golden", name: null, verbose: true }],
];

/** What fields of this dialect may be. */
const VALUES: readonly unknown[] = [
  "json",
  { num_predict: 0 },
  { num_predict: -2, num_ctx: 1, temperature: 0 },
  { num_predict: 2, seed: -1, stop: "a", mirostat: 2, typical_p: 0.5 },
  { num_ctx: 4096 },
  ["a", ""],
  [TOOL],
  [TOOL, TOOL],
  [CALL],
  { name: "f", arguments: { a: { b: [{}] } } },
  ["a".repeat(600)],
  { temperature: "1" },
  [{ role: "user", content: "a", images: ["aGk="] }],
  [{ role: "assistant", content: "", tool_calls: [{ function: { name: "f" } }] }],
  [{ role: "tool", content: "a", tool_name: "f" }],
  "-1",
  "1h",
];

/** An answer that a client of Ollama's can live with. */
const check = checkOf({
  refusals: [400, 404, 503],
  readRefusal: readOllamaError,
  async readAnswer(response, path) {
    const [whole, piece] = path === "/api/chat"
      ? [OllamaChat, OllamaChatPiece]
      : [OllamaGenerated, OllamaGeneratedPiece];
    if (response.headers.get("content-type") === "application/x-ndjson") {
      const lines = await readLines(response);
      whole.parse(lines.pop());
      for (const line of lines) piece.parse(line);
    } else {
      (WHOLE[path] ?? whole).parse(await response.json());
    }
  },
});

Deno.test(`fuzz: ${CASES} mutated bodies are answered with 2xx, 4xx or as busy in Ollama's shape`, async () => {
  await using server = await startChat({}, SHORT_TEMPLATE);
  await fuzz(server, SEEDLINGS, check, VALUES);
});
