import { z } from "zod";
import { chatTemplate } from "../models/mod.ts";
import { type ChatFormat, type ChatRequest, loadChat } from "../../engine/chat/mod.ts";
import type { Metadata } from "../../engine/gguf/mod.ts";
import { parseJson } from "../../engine/json/mod.ts";
import type { Tokenizer } from "../../engine/tokenizer/mod.ts";
import { chatRequest, conversationFields } from "../../server/openai/mod.ts";
import { parseBody } from "../../server/request/mod.ts";
import { M40Error } from "../../engine/errors.ts";
import { HttpError } from "../../server/errors.ts";

/** A model's chat template without the model. */
export interface OpenChat extends AsyncDisposable {
  readonly format: ChatFormat;
}

/**
 * Opens the template of a file, or another one.
 *
 * @param nameOrPath A built-in template's name or the path of a file.
 * @throws {M40Error} Where there is none, or it cannot be read.
 */
export async function openChat(
  metadata: Metadata,
  tokenizer: Tokenizer,
  nameOrPath?: string,
): Promise<OpenChat> {
  const format = loadChat(metadata, tokenizer, await chatTemplate(nameOrPath));
  if (format === undefined) {
    throw new M40Error(
      "invalid_request",
      "the model has no chat template; --chat-template NAME|FILE gives it one",
    );
  }
  return { format, [Symbol.asyncDispose]: () => format.close() };
}

/**
 * A conversation in JSON: a body of `/v1/chat/completions`, or its messages alone.
 *
 * @throws {M40Error} "invalid_request" saying what was got and what was wanted.
 */
export function readConversation(json: string): ChatRequest {
  try {
    const body = parseJson(json);
    const fields = Array.isArray(body) ? { messages: body } : body;
    return chatRequest(parseBody(z.object(conversationFields), fields));
  } catch (error) {
    if (error instanceof HttpError) throw new M40Error("invalid_request", error.message);
    if (!(error instanceof SyntaxError)) throw error;
    throw new M40Error("invalid_request", `the conversation is no JSON: ${error.message}`);
  }
}
