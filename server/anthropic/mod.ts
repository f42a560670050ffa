export { MESSAGE_EVENTS, MessageObject, TokenCount } from "./answer_schemas.ts";
export { HOSTED_BLOCK } from "./blocks.ts";
export { chatRequest } from "./conversation.ts";
export { AnthropicDialect, AnthropicError } from "./dialect.ts";
export { messagesRoutes } from "./messages.ts";
export { anthropicModel, pageOf, VERSION_HEADER } from "./models.ts";
export { CountTokensRequest, MessagesRequest } from "./request_schemas.ts";
