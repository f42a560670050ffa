import type { ChatMessage, ChatRequest, TextPart } from "../../engine/mod.ts";
import { effortFields } from "../effort.ts";
import { HttpError, unsupported } from "../errors.ts";
import { describe, typeName } from "../fields.ts";
import { notShown } from "../not_shown.ts";
import { wrongField } from "../parse_body.ts";
import type { ConversationFields, Message } from "./chat_schemas.ts";
import { readCalls, readToolChoice, readTools } from "./chat_tools.ts";

/**
 * The conversation of a body.
 *
 * @throws {HttpError} 400 for messages that cannot be read, and for fields that contradict each other.
 */
export function chatRequest(body: ConversationFields): ChatRequest {
  if (body.continue_final_message && body.add_generation_prompt) {
    throw new HttpError(
      400,
      "invalid_request",
      "continue_final_message and add_generation_prompt cannot both be true: either the last message is " +
        "continued, or an answer to it begins. Leave one out.",
      { param: "continue_final_message" },
    );
  }
  return {
    messages: readMessages(body.messages),
    continueFinal: body.continue_final_message ?? body.add_generation_prompt === false,
    ...effortFields(body.reasoning_effort, body.chat_template_kwargs),
    templateName: body.chat_template ?? undefined,
    tools: readTools(body.tools),
    toolChoice: readToolChoice(body.tool_choice),
    parallelToolCalls: body.parallel_tool_calls ?? undefined,
  };
}

/**
 * Messages as the engine takes them.
 *
 * @throws {HttpError} 400 naming the message and what of it cannot be read, such as parts that are no text.
 */
function readMessages(messages: readonly Message[]): ChatMessage[] {
  const answered = new Set(messages.map(({ tool_call_id }) => tool_call_id));
  return messages.map((message, index) => readMessage(message, `messages.${index}`, answered));
}

/** @param answered The ids of the calls that have a result. */
function readMessage(
  message: Message,
  at: string,
  answered: ReadonlySet<unknown>,
): ChatMessage {
  const { role } = message;
  if (message.function_call != null) {
    const param = `${at}.function_call`;
    throw unsupported(
      param,
      `${param} is not supported: it is the older form of tool_calls. Send tool_calls.`,
    );
  }
  if (role === "tool" && message.tool_call_id == null) {
    throw wrongField(`${at}.tool_call_id`, "the id of the call that this answers", undefined);
  }
  const calls = readCalls(message.tool_calls, `${at}.tool_calls`, answered);
  if (calls !== undefined && role !== "assistant") {
    throw new HttpError(
      400,
      "invalid_request",
      `${at}.tool_calls: only an assistant's message calls tools; this one is of the role ${
        describe(role)
      }.`,
      { param: `${at}.tool_calls` },
    );
  }
  return {
    role,
    content: readContent(message, `${at}.content`),
    name: message.name ?? undefined,
    reasoning: message.reasoning_content ?? undefined,
    toolCalls: calls,
    toolCallId: role === "tool" ? message.tool_call_id ?? undefined : undefined,
  };
}

function readContent({ role, content }: Message, at: string): ChatMessage["content"] {
  if (typeof content === "string") return content;
  // Some clients send no parts where an assistant has called tools and said nothing.
  const none = content == null || Array.isArray(content) && content.length === 0;
  if (none && role === "assistant") return null;
  if (!Array.isArray(content) || content.length === 0) {
    throw wrongField(at, "a string or an array of parts", content);
  }
  const read = role === "tool" ? readResultPart : readPart;
  return content.map((part, index) => read(part, `${at}.${index}`));
}

/** A part of a tool's result: what is no text is told of. */
function readResultPart(part: unknown, at: string): TextPart {
  const { type, image_url, file } = (part ?? {}) as Record<string, unknown>;
  const told = (text: string): TextPart => ({ type: "text", text });
  switch (type) {
    case "image_url":
      return told(notShown({ kind: "image", url: urlOf(image_url) }));
    case "file":
      return told(notShown({ kind: "file", url: (file as { file_data?: unknown })?.file_data }));
    case "input_audio":
      return told(notShown({ kind: "sound" }));
  }
  return readPart(part, at);
}

/** Some clients send the URL of an image where others send an object that has it. */
function urlOf(image: unknown): unknown {
  return typeof image === "object" ? (image as { url?: unknown } | null)?.url : image;
}

function readPart(part: unknown, at: string): TextPart {
  if (typeof part !== "object" || part === null || Array.isArray(part)) {
    throw wrongField(at, 'a part such as {"type": "text", "text": "…"}', part);
  }
  const { type, text, refusal } = part as Record<string, unknown>;
  if (typeof type !== "string") throw wrongField(`${at}.type`, "a string", type);
  if (type === "text") {
    if (typeof text !== "string") throw wrongField(`${at}.text`, "a string", text);
    return { type: "text", text };
  }
  // What an assistant declined with is what it said.
  if (type === "refusal" && typeof refusal === "string") return { type: "text", text: refusal };
  throw unsupported(
    at,
    `${at}: parts of the type ${typeName(type)} are not supported: this server reads text alone. ` +
      'Send parts of the type "text".',
  );
}
