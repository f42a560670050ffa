import { type ChatMessage, type ChatRequest, M40Error, type TextPart } from "../engine/mod.ts";
import type { AnswerEnds } from "./answer.ts";
import type { ServerContext } from "./context.ts";
import { type ConversationPrompt, conversationPrompt } from "./conversation.ts";
import type { ServedModel } from "./models/models.ts";

/**
 * The prompt of a conversation, as {@link conversationPrompt} makes it. Agents send system messages, or a
 * developer's, in the midst of a conversation, which many templates refuse: what these say is then part of what the
 * user says.
 *
 * @param shown What becomes of a text that is the user's now.
 */
export async function promptWithSystemFirst(
  server: ServerContext,
  model: ServedModel,
  chat: ChatRequest,
  budget: number | undefined,
  ends: Pick<AnswerEnds, "signal" | "deadline">,
  shown: (text: string) => string,
): Promise<ConversationPrompt> {
  try {
    return await conversationPrompt(server, model, chat, budget, ends);
  } catch (error) {
    const messages = error instanceof M40Error && error.code === "invalid_request"
      ? withoutLaterSystem(chat.messages, shown)
      : undefined;
    if (messages === undefined) throw error;
    return await conversationPrompt(server, model, { ...chat, messages }, budget, ends);
  }
}

/** Messages whose system messages are the first ones alone; undefined where they are so already. */
function withoutLaterSystem(
  messages: readonly ChatMessage[],
  shownAs: (text: string) => string,
): ChatMessage[] | undefined {
  const shown: ChatMessage[] = [];
  let folded = false;
  for (const message of messages) {
    const { role, content } = message;
    const later = isSystem(role) && shown.some((one) => !isSystem(one.role));
    folded ||= later;
    const said: ChatMessage = later ? { role: "user", content: shownAs(textOf(content)) } : message;
    const last = shown.at(-1);
    if (last?.role === "user" && said.role === "user") {
      shown[shown.length - 1] = { ...last, content: [...partsOf(last), ...partsOf(said)] };
    } else shown.push(said);
  }
  return folded ? shown : undefined;
}

function isSystem(role: ChatMessage["role"]): boolean {
  return role === "system" || role === "developer";
}

function textOf(content: ChatMessage["content"]): string {
  return partsOf({ content }).map(({ text }) => text).join("\n");
}

function partsOf({ content }: Pick<ChatMessage, "content">): readonly TextPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content ?? [];
}
