export { chatCompletionsRoute } from "./chat_completions.ts";
export { chatLogprobs } from "./chat_logprobs.ts";
export { chatRequest } from "./chat_messages.ts";
export {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  conversationFields,
} from "./chat_schemas.ts";
export { Completion, CompletionRequest } from "./completion_schemas.ts";
export { answerCompletion, completionsRoute } from "./completions.ts";
export { customDescription, INPUT_SCHEMA, inputArguments, InputReader } from "./custom_input.ts";
export { OPENAI } from "./dialect.ts";
export {
  answerEmbeddings,
  EmbeddingList,
  EmbeddingsRequest,
  embeddingsRoute,
} from "./embeddings.ts";
export { LoadRequest, ModelList, ModelObject, modelsRoutes } from "./models.ts";
export { othersFields, refuseOthersFields } from "./others_fields.ts";
