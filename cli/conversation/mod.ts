export { giveAnswer } from "./answer.ts";
export { answerWithTools } from "./answer_with_tools.ts";
export { Conversation } from "./conversation.ts";
export { CHAT_SETTINGS } from "./options.ts";
export { Session, textRequest } from "./session.ts";
export { ConversationTools } from "./tools.ts";
