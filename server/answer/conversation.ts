/**
 * What dialects of chat share: from a conversation to what the engine is asked for.
 *
 * @module
 */
import type { ChatFormat, ChatRequest, GenerateRequest } from "../../engine/mod.ts";
import { HttpError } from "../errors.ts";
import type { ServedModel } from "../models/mod.ts";
import type { ModelRequest } from "./answer.ts";

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
 * What a conversation asks of the engine: its prompt, how the answer is read, and when it ends.
 *
 * @param budget Tokens of reasoning at most, as the client wants it: -1 is no limit; undefined: what the
 * server was started with.
 * @throws {M40Error} "invalid_request" where the template refuses the conversation or fails, "timeout" when
 * the request's deadline passes meanwhile.
 */
export async function conversationRequest(
  request: ModelRequest,
  model: ServedModel,
  chat: ChatRequest,
  budget: number | undefined,
): Promise<GenerateRequest & { prompt: readonly number[] }> {
  const { ends, server } = request;
  const writer = chatFormat(model);
  const { tokens, format, tools } = await request.within((signal) => writer.prompt(chat, signal));
  const most = budget ?? server.reasoningBudget ?? -1;
  return {
    ...ends,
    prompt: tokens,
    format,
    tools,
    reasoning: server.reasoning,
    reasoningBudget: most < 0 ? undefined : most,
  };
}
