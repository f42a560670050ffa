/**
 * What dialects of chat share: from a conversation to what the engine is asked for.
 *
 * @module
 */
import type { ChatFormat, ChatRequest, GenerateRequest } from "../../engine/mod.ts";
import type { ServerContext } from "../context.ts";
import type { Deadline } from "./deadline.ts";
import { HttpError } from "../errors.ts";
import type { ServedModel } from "../models/mod.ts";

/** What a conversation asks of the engine: its prompt, and how the answer is read. */
export type ConversationPrompt =
  & Pick<
    GenerateRequest,
    "format" | "tools" | "reasoning" | "reasoningBudget" | "timeoutMs" | "timeoutFrom"
  >
  & { readonly prompt: readonly number[] };

/**
 * The model's way to write down conversations.
 *
 * @throws {HttpError} 400 `no_chat_template` for a model that has none.
 */
export function chatFormat({ engine, name }: ServedModel): ChatFormat {
  if (engine.chat !== undefined) return engine.chat;
  throw new HttpError(
    400,
    "no_chat_template",
    `The model "${name}" has no chat template, so it cannot take a conversation. Start the server with ` +
      "--chat-template NAME (a built-in one) or FILE, or send a prompt to /v1/completions.",
    { param: "model" },
  );
}

/**
 * The prompt of a conversation.
 *
 * @param budget Tokens of reasoning at most, as the client wants it: -1 is no limit; undefined: what the
 * server was started with.
 * @param ends When the rendering ends that is not done.
 * @throws {M40Error} "invalid_request" where the template refuses the conversation or fails, "timeout" when
 * the request's deadline passes meanwhile.
 */
export async function conversationPrompt(
  server: ServerContext,
  model: ServedModel,
  chat: ChatRequest,
  budget: number | undefined,
  { signal, deadline }: { readonly signal: AbortSignal; readonly deadline: Deadline },
): Promise<ConversationPrompt> {
  const writer = chatFormat(model);
  const { tokens, format, tools } = await deadline.within(
    signal,
    (ends) => writer.prompt(chat, ends),
  );
  const tokensOfReasoning = budget ?? server.reasoningBudget ?? -1;
  return {
    prompt: tokens,
    format,
    tools,
    ...deadline.ofEngine,
    reasoning: server.reasoning,
    reasoningBudget: tokensOfReasoning < 0 ? undefined : tokensOfReasoning,
  };
}
