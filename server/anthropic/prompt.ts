import { type ChatMessage, type ChatRequest, M40Error, type TextPart } from "../../engine/mod.ts";
import type { AnswerEnds } from "../answer.ts";
import type { ServerContext } from "../context.ts";
import { type ConversationPrompt, conversationPrompt } from "../conversation.ts";
import type { ServedModel } from "../models/models.ts";

/**
 * The prompt of a conversation, as {@link conversationPrompt} makes it. Agents of Anthropic's send system messages
 * in the midst of a conversation, which many templates refuse: what these say is then part of what the user says, in
 * tags that such agents use for it themselves.
 */
export async function messagesPrompt(
  server: ServerContext,
  model: ServedModel,
  chat: ChatRequest,
  budget: number | undefined,
  ends: Pick<AnswerEnds, "signal" | "deadline">,
): Promise<ConversationPrompt> {
  try {
    return await conversationPrompt(server, model, chat, budget, ends);
  } catch (error) {
    const messages = error instanceof M40Error && error.code === "invalid_request"
      ? withoutLaterSystem(chat.messages)
      : undefined;
    if (messages === undefined) throw error;
    return await conversationPrompt(server, model, { ...chat, messages }, budget, ends);
  }
}

/** Messages whose system messages are the first ones alone; undefined where they are so already. */
function withoutLaterSystem(messages: readonly ChatMessage[]): ChatMessage[] | undefined {
  const shown: ChatMessage[] = [];
  let folded = false;
  for (const message of messages) {
    const { role, content } = message;
    const later = role === "system" && shown.some((one) => one.role !== "system");
    folded ||= later;
    const said: ChatMessage = later ? { role: "user", content: reminder(content) } : message;
    const last = shown.at(-1);
    if (last?.role === "user" && said.role === "user") {
      shown[shown.length - 1] = { ...last, content: [...partsOf(last), ...partsOf(said)] };
    } else shown.push(said);
  }
  return folded ? shown : undefined;
}

function reminder(content: ChatMessage["content"]): string {
  const text = partsOf({ content }).map(({ text }) => text).join("\n");
  return `<system-reminder>\n${text}\n</system-reminder>`;
}

function partsOf({ content }: Pick<ChatMessage, "content">): readonly TextPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content ?? [];
}
