import { type Operation, operation } from "../operation.ts";
import { OllamaChat, OllamaChatPiece, OllamaChatRequest } from "./chat.ts";
import { CreateRequest, CreateStatus } from "./create.ts";
import { NDJSON_TYPE, OllamaError } from "./dialect.ts";
import {
  OllamaEmbedding,
  OllamaEmbeddingRequest,
  OllamaEmbeddings,
  OllamaEmbedRequest,
} from "./embed.ts";
import { OllamaGenerated, OllamaGeneratedPiece, OllamaGenerateRequest } from "./generate.ts";
import { PullRequest, PullStatus } from "./pull.ts";
import { OllamaVersion } from "./routes.ts";
import { Shown, ShowRequest } from "./show.ts";
import { CopyRequest, DeleteRequest } from "./store_changes.ts";
import { RunningModels, Tags } from "./tags.ts";

/** What a request that changes the store needs. */
const ALLOWED =
  "Only where the server was started with --allow-store-changes, and never for web pages.";

/** What there is to ask in Ollama's words. */
const OPERATIONS = [
  operation("POST /api/chat", "Answer a conversation, as Ollama", {
    description: "The same conversations and answers as OpenAI's, in Ollama's shape.",
    body: OllamaChatRequest,
    answer: OllamaChat,
    events: [OllamaChatPiece, OllamaChat],
  }),
  operation("POST /api/generate", "Answer a prompt, as Ollama", {
    description:
      "The model's chat template makes a message of the prompt, unless raw is true or the model has none; " +
      "with a suffix the gap before it is filled.",
    body: OllamaGenerateRequest,
    answer: OllamaGenerated,
    events: [OllamaGeneratedPiece, OllamaGenerated],
  }),
  operation("POST /api/embed", "Vectors of texts, as Ollama", {
    description: "Texts of similar meaning have similar vectors.",
    body: OllamaEmbedRequest,
    answer: OllamaEmbeddings,
  }),
  operation("POST /api/embeddings", "The vector of a text, in Ollama's older form", {
    description: "A text longer than the context is cut. /api/embed is newer.",
    body: OllamaEmbeddingRequest,
    answer: OllamaEmbedding,
  }),
  operation("GET /api/tags", "List the models, as Ollama", {
    description: "All models that requests may name, those in memory first.",
    answer: Tags,
  }),
  operation("GET /api/ps", "List the models in memory, as Ollama", {
    description: "Those used last first.",
    answer: RunningModels,
  }),
  operation("POST /api/show", "Show a model, as Ollama", {
    description: "What the header of its file says, and what came with it.",
    body: ShowRequest,
    answer: Shown,
  }),
  operation("POST /api/pull", "Fetch a model, as Ollama", {
    description:
      "As m40 pull: an alias of m40's, a model of Ollama's library, or hf.co/OWNER/REPOSITORY[:QUANT]; what " +
      `does not fit the device is refused. ${ALLOWED}`,
    body: PullRequest,
    answer: PullStatus,
    events: [PullStatus],
  }),
  operation("POST /api/create", "Make a model of another, as Ollama", {
    description:
      "The same files under another name, with a system message and parameters of its own. A model of that name " +
      `that has other files is not replaced. ${ALLOWED}`,
    body: CreateRequest,
    answer: CreateStatus,
    events: [CreateStatus],
  }),
  operation("POST /api/copy", "Give a model another name, as Ollama", {
    description: `As m40 cp; the answer is empty. ${ALLOWED}`,
    body: CopyRequest,
    answer: "text/plain",
  }),
  operation("DELETE /api/delete", "Remove a model from the disk, as Ollama", {
    description:
      `As m40 rm; the answers that run are finished before, and the answer is empty. ${ALLOWED}`,
    body: DeleteRequest,
    answer: "text/plain",
  }),
  operation("GET /api/version", "The version of Ollama's API", {
    description: "The version of Ollama whose API this server has.",
    answer: OllamaVersion,
  }),
];

/** Those of Ollama's clients, with its errors and streams, and what they look for first. */
export const OLLAMA_OPERATIONS: readonly Operation[] = [
  ...OPERATIONS.map((one) => ({ ...one, error: OllamaError, eventsType: NDJSON_TYPE })),
  operation("GET /", "What Ollama's clients look for", {
    description: "A line of text that says that a server is there.",
    answer: "text/plain",
    open: true,
  }),
];
