import type { ChatMessage, TextPart } from "../../engine/mod.ts";
import { HttpError, unsupported } from "../errors.ts";
import { describe } from "../fields.ts";
import type { Message } from "./chat_schemas.ts";

/**
 * Messages as the engine takes them.
 *
 * @throws {HttpError} 400 naming the message and what of it cannot be read: parts that are no text, calls
 * of tools.
 */
export function readMessages(messages: readonly Message[]): ChatMessage[] {
  return messages.map((message, index) => readMessage(message, `messages.${index}`));
}

function readMessage(message: Message, at: string): ChatMessage {
  const { role } = message;
  const calls = message.tool_calls;
  const callsTools = calls != null && !(Array.isArray(calls) && calls.length === 0);
  if (callsTools || message.function_call != null) {
    const param = `${at}.${callsTools ? "tool_calls" : "function_call"}`;
    throw unsupported(
      param,
      `${param}: calls of tools are not supported. Say in the message's content what was called.`,
    );
  }
  return {
    role,
    content: readContent(message.content, role === "assistant", `${at}.content`),
    name: message.name ?? undefined,
    reasoning: message.reasoning_content ?? undefined,
  };
}

function readContent(content: unknown, mayBeAbsent: boolean, at: string): ChatMessage["content"] {
  if (typeof content === "string") return content;
  if (content == null && mayBeAbsent) return null;
  if (!Array.isArray(content) || content.length === 0) {
    throw wrong(at, "a string or an array of parts", content);
  }
  return content.map((part, index) => readPart(part, `${at}.${index}`));
}

function readPart(part: unknown, at: string): TextPart {
  if (typeof part !== "object" || part === null || Array.isArray(part)) {
    throw wrong(at, 'a part such as {"type": "text", "text": "…"}', part);
  }
  const { type, text, refusal } = part as Record<string, unknown>;
  if (typeof type !== "string") throw wrong(`${at}.type`, "a string", type);
  if (type === "text") {
    if (typeof text !== "string") throw wrong(`${at}.text`, "a string", text);
    return { type: "text", text };
  }
  // What an assistant declined with is what it said.
  if (type === "refusal" && typeof refusal === "string") return { type: "text", text: refusal };
  throw unsupported(
    at,
    `${at}: parts of the type ${describe(type)} are not supported: this server reads text alone. ` +
      'Send parts of the type "text".',
  );
}

function wrong(param: string, wanted: string, got: unknown): HttpError {
  const message = `${param}: wanted ${wanted}; got ${describe(got)}.`;
  return new HttpError(400, "invalid_request", message, { param });
}
