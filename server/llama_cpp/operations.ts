import { AppliedTemplate, ApplyTemplateRequest } from "./apply_template.ts";
import { type Operation, operation } from "../operation.ts";
import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  Completion,
  CompletionRequest,
  EmbeddingList,
  EmbeddingsRequest,
  ModelList,
} from "../openai/mod.ts";
import { LlamaCompletionRequest } from "./completion.ts";
import { LlamaEmbeddingRequest, LlamaEmbeddings } from "./embedding.ts";
import { InfillRequest } from "./infill.ts";
import { Props, TokenizerInfo } from "./props.ts";
import { LlamaPiece, LlamaText } from "./text_answer.ts";
import { Detokenized, DetokenizeRequest, Tokenized, TokenizeRequest } from "./tokens.ts";

const WITHOUT_PREFIX = "For clients of llama.cpp's server whose base URL has no /v1";

/** The routes in the shape of llama.cpp's server. */
export const LLAMA_OPERATIONS: readonly Operation[] = [
  operation("POST /completion", "Continue a text, as llama.cpp", {
    description: "A prompt of text or of token ids, in the shape of llama.cpp's server.",
    body: LlamaCompletionRequest,
    answer: LlamaText,
    events: [LlamaPiece, LlamaText],
  }),
  operation("POST /completions", "Continue a text, as /completion or /v1/completions", {
    description: `${WITHOUT_PREFIX}. With n_predict it is /completion, else /v1/completions.`,
    body: CompletionRequest,
    answer: Completion,
    events: [Completion],
  }),
  operation("POST /chat/completions", "Answer a conversation, as /v1/chat/completions", {
    description: `${WITHOUT_PREFIX}: the same, and timings at the end.`,
    body: ChatCompletionRequest,
    answer: ChatCompletion,
    events: [ChatCompletionChunk],
  }),
  operation("POST /infill", "Fill a gap in a text", {
    description:
      "For editors, in the shape of llama.cpp's server; for models whose vocabulary has tokens for " +
      "filling in the middle. Texts that the context has no room for are shortened, farthest from the gap.",
    body: InfillRequest,
    answer: LlamaText,
    events: [LlamaPiece, LlamaText],
  }),
  operation("POST /embedding", "Vectors of texts, as llama.cpp", {
    description: "In the shape of llama.cpp's server.",
    body: LlamaEmbeddingRequest,
    answer: LlamaEmbeddings,
  }),
  operation("POST /embeddings", "Vectors of texts, as /embedding or /v1/embeddings", {
    description: `${WITHOUT_PREFIX}. With content it is /embedding, with input /v1/embeddings.`,
    body: EmbeddingsRequest,
    answer: EmbeddingList,
  }),
  operation("GET /models", "List the models, as /v1/models", {
    description: `${WITHOUT_PREFIX}.`,
    answer: ModelList,
  }),
  operation("GET /props", "What a model is served with", {
    description: "In the shape of llama.cpp's server; for ?model=, or the model used last.",
    answer: Props,
  }),
  operation("GET /tokenizer_info", "What a model's vocabulary is", {
    description: "In the shape of vLLM's server; for ?model=, or the model used last.",
    answer: TokenizerInfo,
  }),
  operation("POST /tokenize", "The tokens of a text", {
    description: "In the shape of llama.cpp's server; with prompt in that of vLLM's.",
    body: TokenizeRequest,
    answer: Tokenized,
  }),
  operation("POST /detokenize", "The text of tokens", {
    description: "In the shape of llama.cpp's server and of vLLM's.",
    body: DetokenizeRequest,
    answer: Detokenized,
  }),
  operation("POST /apply-template", "The prompt that a conversation becomes", {
    description:
      "In the shape of llama.cpp's server: the prompt, without generating, and what m40 knows " +
      "of the template. It takes the bodies of /v1/messages, /v1/responses and /api/chat as well.",
    body: ApplyTemplateRequest,
    answer: AppliedTemplate,
  }),
];
