export { chatRequest, OllamaChatRequest } from "./chat.ts";
export { NDJSON_TYPE, OLLAMA, OLLAMA_PATHS } from "./dialect.ts";
export { ownName } from "./names.ts";
export { OLLAMA_OPERATIONS } from "./operations.ts";
export { ollamaRoutes } from "./routes.ts";
