import type { ChatMessage, ChatRequest, TextPart } from "../../engine/mod.ts";
import {
  contentAsText,
  describe,
  notShown,
  objectAt,
  stringAt,
  typeName,
  wrongField,
} from "../request/mod.ts";
import { invalid, unsupported } from "../errors.ts";
import type { ConversationFields, Message } from "./chat_schemas.ts";
import { readCalls, readToolChoice, readTools } from "./chat_tools.ts";
import { thinkingOf } from "./others_fields.ts";

/**
 * The conversation of a body.
 *
 * @throws {HttpError} 400 for messages that cannot be read, and for fields that contradict each other.
 */
export function chatRequest(body: ConversationFields): ChatRequest {
  if (body.continue_final_message && body.add_generation_prompt) {
    throw invalid(
      "continue_final_message",
      "continue_final_message and add_generation_prompt cannot both be true: either the last message is " +
        "continued, or an answer to it begins. Leave one out.",
    );
  }
  const { reasoningEffort, templateVariables } = thinkingOf(body);
  return {
    messages: readMessages(body.messages),
    continueFinal: body.continue_final_message ?? body.add_generation_prompt === false,
    reasoningEffort,
    templateVariables,
    templateName: body.chat_template ?? undefined,
    tools: body.tools?.length ? readTools(body.tools) : undefined,
    toolChoice: body.tool_choice == null ? undefined : readToolChoice(body.tool_choice),
    parallelToolCalls: body.parallel_tool_calls ?? undefined,
  };
}

/**
 * Messages as the engine takes them: each function_call is a call of a tool, and each message of a function that tool's
 * result.
 *
 * @throws {HttpError} 400 naming the message and what of it cannot be read, such as parts that are no text.
 */
function readMessages(messages: readonly Message[]): ChatMessage[] {
  const read: ChatMessage[] = [];
  let id: string | undefined;
  for (const [index, message] of messages.entries()) {
    let modern = message;
    if (message.function_call != null && message.tool_calls == null) {
      id = `function_call_${index}`;
      const call = { id, type: "function", function: message.function_call };
      modern = { ...message, function_call: undefined, tool_calls: [call] };
    } else if (message.role === "function") {
      modern = { ...message, role: "tool", tool_call_id: message.tool_call_id ?? id };
    }
    read.push(readMessage(modern, `messages.${index}`));
  }
  return read;
}

function readMessage(message: Message, at: string): ChatMessage {
  const role = message.role === "function" ? "tool" : message.role;
  if (message.function_call != null) {
    const param = `${at}.function_call`;
    throw unsupported(
      param,
      `${param} stands beside tool_calls, of which it is the older form. Send tool_calls alone.`,
    );
  }
  if (role === "tool" && message.tool_call_id == null) {
    throw wrongField(`${at}.tool_call_id`, "the id of the call that this answers", undefined);
  }
  const calls = message.tool_calls == null
    ? undefined
    : readCalls(message.tool_calls, `${at}.tool_calls`);
  if (calls !== undefined && role !== "assistant") {
    throw invalid(
      `${at}.tool_calls`,
      `${at}.tool_calls: only an assistant's message calls tools; this one is of the role ${
        describe(role)
      }.`,
    );
  }
  const place = `${at}.content`;
  let { content } = message;
  let thoughts: readonly string[] = [];
  if (role === "assistant" && Array.isArray(content)) {
    ({ content, thoughts } = splitContent(content));
  }
  return {
    role,
    at: place,
    content: typeof content === "string" ? content : readContent(role, content, place),
    name: message.name ?? undefined,
    reasoning: message.reasoning_content ?? message.reasoning ??
      (thoughts.length === 0 ? undefined : thoughts.join("\n\n")),
    toolCalls: calls,
    toolCallId: role === "tool" ? message.tool_call_id ?? undefined : undefined,
  };
}

/** What an assistant thought, where it stands in parts of its content, and the other parts. */
function splitContent(
  content: readonly unknown[],
): { readonly content: unknown; readonly thoughts: readonly string[] } {
  const read = content.map((part) => ({ part, thought: thoughtOf(part) }));
  return {
    content: read.filter(({ thought }) => thought === undefined).map(({ part }) => part),
    thoughts: read.flatMap(({ thought }) => thought || []),
  };
}

/** The text of a part of reasoning, as Mistral's, Anthropic's and the AI SDK's clients write it. */
function thoughtOf(part: unknown): string | undefined {
  const { type, thinking, text, reasoning } = (part ?? {}) as Record<string, unknown>;
  if (type !== "thinking" && type !== "reasoning" && type !== "redacted_thinking") return undefined;
  const said = thinking ?? text ?? reasoning;
  if (!Array.isArray(said)) return typeof said === "string" ? said : "";
  return said.map((one) => typeof one?.text === "string" ? one.text : "").join("");
}

/** A content that is no string. */
function readContent(
  role: Message["role"],
  content: unknown,
  at: string,
): ChatMessage["content"] {
  // Some clients send no parts where an assistant has called tools and said nothing.
  if (content == null && role === "tool") return "";
  const empty = Array.isArray(content) && content.length === 0;
  if (role === "assistant" && (content == null || empty)) return null;
  if (empty) return "";
  if (!Array.isArray(content)) {
    throw wrongField(at, "a string or an array of parts", content);
  }
  const read = role === "tool" ? readResultPart : readPart;
  return content.map((part, index) => read(part, `${at}.${index}`));
}

/** A part of a tool's result: a sentence names what is no text. */
function readResultPart(part: unknown, at: string): TextPart {
  const { type, image_url, file } = (part ?? {}) as Record<string, unknown>;
  const asText = (text: string): TextPart => ({ type: "text", text });
  switch (type) {
    case "image_url":
      return asText(notShown({ kind: "image", url: urlOf(image_url) }));
    case "file":
      return asText(notShown({ kind: "file", url: (file as { file_data?: unknown })?.file_data }));
    case "input_audio":
      return asText(notShown({ kind: "sound" }));
    case "text":
    case "refusal":
      return readPart(part, at);
  }
  if (typeof type === "string") return asText(contentAsText(part as Record<string, unknown>, at));
  return readPart(part, at);
}

/** Some clients send the URL of an image where others send an object that has it. */
function urlOf(image: unknown): unknown {
  return typeof image === "object" ? (image as { url?: unknown } | null)?.url : image;
}

function readPart(part: unknown, at: string): TextPart {
  const { type, text, refusal } = objectAt(
    part,
    at,
    'a part such as {"type": "text", "text": "…"}',
  );
  stringAt(type, `${at}.type`);
  if (type === "text") return { type: "text", text: stringAt(text, `${at}.text`) };
  // What an assistant declined with is what it said.
  if (type === "refusal" && typeof refusal === "string") return { type: "text", text: refusal };
  throw unsupported(
    at,
    `${at}: parts of the type ${typeName(type)} are not supported: this server reads text alone. ` +
      'Send parts of the type "text".',
  );
}
