export { RESPONSES, RESPONSES_PATHS } from "./dialect.ts";
export { keptResponsesRoutes } from "./kept_responses.ts";
export { RESPONSES_OPERATIONS } from "./operations.ts";
export { InputTokensRequest } from "./request_schemas.ts";
export { readConversation, responsesRoutes } from "./responses.ts";
export { ResponseStore, type StoreLimits } from "./store.ts";
