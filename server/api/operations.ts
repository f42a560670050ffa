/**
 * What the server answers, as data: each path with the schemas that check its requests and describe its
 * answers. `/openapi.json`, `/docs` and docs/api.md are made of it.
 *
 * @module
 */
import { GenerateBody, Generated, GeneratedPiece } from "../answer/mod.ts";
import {
  AnthropicError,
  CountTokensRequest,
  MESSAGE_EVENTS,
  MessageObject,
  MessagesRequest,
  TokenCount,
} from "../anthropic/mod.ts";
import { LLAMA_OPERATIONS } from "../llama_cpp/mod.ts";
import { MCP_OPERATIONS } from "../mcp/mod.ts";
import { Health, SlotsObject } from "../monitoring/mod.ts";
import { OLLAMA_OPERATIONS } from "../ollama/mod.ts";
import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  Completion,
  CompletionRequest,
  EmbeddingList,
  EmbeddingsRequest,
  LoadRequest,
  ModelList,
  ModelObject,
} from "../openai/mod.ts";
import { RESPONSES_OPERATIONS } from "../openai/responses/mod.ts";
import { PAGE_OPERATIONS } from "../page/mod.ts";
import { type Operation, operation } from "../operation.ts";

/** All of them, those first that are asked for most. */
export const OPERATIONS: readonly Operation[] = [
  operation("POST /v1/chat/completions", "Answer a conversation", {
    description:
      "OpenAI's chat completions, for text. The model's chat template makes a prompt of the messages; reasoning " +
      "is separate from the answer.",
    body: ChatCompletionRequest,
    answer: ChatCompletion,
    events: [ChatCompletionChunk],
  }),
  ...RESPONSES_OPERATIONS,
  operation("POST /v1/completions", "Continue a text", {
    description: "OpenAI's completions: prompts of text or of token ids.",
    body: CompletionRequest,
    answer: Completion,
    events: [Completion],
  }),
  operation("POST /v1/embeddings", "Vectors of texts", {
    description: "OpenAI's embeddings: texts of similar meaning have similar vectors.",
    body: EmbeddingsRequest,
    answer: EmbeddingList,
  }),
  operation("POST /v1/messages", "Answer a conversation, for Anthropic's clients", {
    description:
      "Anthropic's Messages, for text: the same answers as /v1/chat/completions, in Anthropic's shape, errors " +
      "included.",
    body: MessagesRequest,
    answer: MessageObject,
    events: MESSAGE_EVENTS,
    error: AnthropicError,
  }),
  operation(
    "POST /v1/messages/count_tokens",
    "The tokens of a conversation, for Anthropic's clients",
    {
      description: "Counts the tokens that the prompt of /v1/messages has, without generating.",
      body: CountTokensRequest,
      answer: TokenCount,
      error: AnthropicError,
    },
  ),
  operation("GET /v1/models", "List the models", {
    description:
      "All models that requests may name: those in memory first, aliases last. Others are loaded on demand. " +
      "A request with the header anthropic-version gets Anthropic's shape, in pages of `limit` from `after_id` " +
      "or up to `before_id`.",
    answer: ModelList,
  }),
  operation("GET /v1/models/{id}", "Show a model", {
    parameters: { id: "The model's name; it may hold slashes." },
    description:
      "404 for an unknown model, with the nearest name. In Anthropic's shape with the header anthropic-version.",
    answer: ModelObject,
  }),
  operation("POST /v1/models/{id}/load", "Load a model", {
    parameters: { id: "The model's name." },
    description: "Answers when it is loaded; it waits for its turn as other requests do.",
    body: LoadRequest,
    answer: ModelObject,
  }),
  operation("POST /v1/models/{id}/unload", "Unload a model", {
    parameters: { id: "The model's name." },
    description:
      "Answers when it is unloaded; running answers finish before. A request for it loads " +
      "it again.",
    answer: ModelObject,
  }),
  operation("POST /v1/generate", "Continue a prompt, in the simplest form", {
    description: "m40's own: the request has a prompt, the answer only the output.",
    body: GenerateBody,
    answer: Generated,
    events: [GeneratedPiece],
  }),
  ...LLAMA_OPERATIONS,
  ...OLLAMA_OPERATIONS,
  ...MCP_OPERATIONS,
  operation("GET /health", "Whether the server is alive", {
    description:
      "200 also while no model is in memory; 503 when the device is lost permanently, or again and again.",
    answer: Health,
    open: true,
  }),
  operation("GET /ready", "Whether the server takes requests", {
    description: "503 while it drains or when it has failed.",
    answer: Health,
    open: true,
  }),
  operation("GET /slots", "What the models are doing", {
    description: "Their sequences, KV cache and device; m40 ps prints it.",
    answer: SlotsObject,
  }),
  operation("GET /metrics", "Metrics, for Prometheus", {
    description: "Counters, gauges and histograms under m40's names and vLLM's.",
    answer: "text/plain",
  }),
  operation("GET /openapi.json", "This description, for programs", {
    description: "OpenAPI 3.1.",
    answer: "application/json",
    open: true,
  }),
  operation("GET /docs", "This description, for people", {
    description: "A page without scripts.",
    answer: "text/html",
    open: true,
  }),
  ...PAGE_OPERATIONS,
];

/** The paths that answer without a key. */
export const OPEN_PATHS: ReadonlySet<string> = new Set(
  OPERATIONS.filter(({ open }) => open).map(({ path }) => path),
);
