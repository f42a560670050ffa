/** What clients of Anthropic's dialect send to a server whose model chats, and how its answers are read. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { z } from "zod";
import {
  type ContentBlock,
  MESSAGE_EVENTS,
  type MessageEvent,
  MessageObject,
} from "../server/anthropic/answer_schemas.ts";
import { AnthropicError } from "../server/anthropic/dialect.ts";
import { HELLO } from "./server_chat_fixture.ts";
import { NO_END, type TestServer } from "./server_fixture.ts";

export const MESSAGES = "/v1/messages";

/** A body whose answer has six tokens. */
export function messagesBody(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: "golden", messages: HELLO, max_tokens: 6, ...NO_END, ...more };
}

/** Asks for a whole message. */
export async function message(
  server: TestServer,
  more: Record<string, unknown> = {},
): Promise<MessageObject> {
  const response = await server.post(MESSAGES, messagesBody(more));
  const answer = await response.json();
  assertEquals(response.status, 200, JSON.stringify(answer));
  assertMatch(response.headers.get("request-id")!, /^req_[0-9a-f]{32}$/);
  return MessageObject.parse(answer);
}

/** Asks for a stream. */
export async function messageEvents(
  server: TestServer,
  more: Record<string, unknown> = {},
): Promise<MessageEvent[]> {
  const response = await server.post(MESSAGES, messagesBody({ stream: true, ...more }));
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  assertMatch(response.headers.get("request-id")!, /^req_[0-9a-f]{32}$/);
  return readMessageEvents(await response.text());
}

const AnyEvent = z.union(MESSAGE_EVENTS);

/** The events of a complete stream, each named after its type; comments are passed over. */
export function readMessageEvents(text: string): MessageEvent[] {
  assert(text.endsWith("\n\n"), "the last event ends with an empty line");
  return text.slice(0, -2).split("\n\n").flatMap((block) => {
    const lines = block.split("\n").filter((line) => !line.startsWith(":"));
    if (lines.length === 0) return [];
    const [, name] = /^event: (\w+)$/.exec(lines[0])!;
    assertEquals(lines.length, 2, block);
    assert(lines[1].startsWith("data: "), block);
    const event = AnyEvent.parse(JSON.parse(lines[1].slice(6)));
    assertEquals(name, event.type);
    return [event];
  });
}

/** The message that a stream's events make, their order checked on the way. */
export function assembled(events: readonly MessageEvent[]): MessageObject {
  const [start, ...others] = events.filter(({ type }) => type !== "ping");
  assert(start.type === "message_start", JSON.stringify(start));
  assertEquals([start.message.content, start.message.stop_reason], [[], null]);
  assertEquals(others.pop(), { type: "message_stop" });
  const end = others.pop()!;
  assert(end.type === "message_delta", JSON.stringify(end));
  const content: ContentBlock[] = [];
  const inputs: string[] = [];
  let open = false;
  for (const event of others) {
    if (event.type === "content_block_start") {
      assertEquals([event.index, open], [content.length, false]);
      content.push({ ...event.content_block });
      open = true;
      continue;
    }
    assert(event.type === "content_block_delta" || event.type === "content_block_stop");
    assertEquals([event.index, open], [content.length - 1, true]);
    if (event.type === "content_block_stop") open = false;
    else if (event.delta.type === "input_json_delta") {
      inputs[event.index] = (inputs[event.index] ?? "") + event.delta.partial_json;
    } else Object.assign(content.at(-1)!, grown(content.at(-1)!, event.delta));
  }
  assertEquals(open, false, "every block ends");
  for (const [index, block] of content.entries()) {
    if (block.type !== "tool_use") continue;
    assertEquals(block.input, {}, "an input begins empty");
    block.input = inputOf(inputs[index]);
  }
  const usage = { ...start.message.usage, ...end.usage };
  return MessageObject.parse({ ...start.message, ...end.delta, content, usage });
}

/** A call's input, as the client's own collector reads it where it is whole. */
function inputOf(text = ""): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

type Delta = (MessageEvent & { type: "content_block_delta" })["delta"];

function grown(block: ContentBlock, delta: Delta): Partial<ContentBlock> {
  assert(delta.type !== "input_json_delta");
  if (delta.type === "signature_delta") return { signature: delta.signature };
  if (delta.type === "text_delta") {
    assert(block.type === "text" && delta.text !== "");
    return { text: block.text + delta.text };
  }
  assert(block.type === "thinking" && delta.thinking !== "");
  return { thinking: block.thinking + delta.thinking };
}

/** A message without what is each answer's own. */
export function withoutId({ id, ...rest }: MessageObject): Omit<MessageObject, "id"> {
  assertMatch(id, /^msg_[0-9a-f]{32}$/);
  return rest;
}

/** The text of a message. */
export function textOf({ content }: MessageObject): string {
  return content.map((block) => block.type === "text" ? block.text : "").join("");
}

/** Checks that an answer is an error in Anthropic's shape, and gives what it says. */
export async function readAnthropicError(
  response: Response,
  status: number,
): Promise<AnthropicError["error"]> {
  const text = await response.text();
  assertEquals(response.status, status, text);
  const { error, request_id } = AnthropicError.parse(JSON.parse(text));
  assertEquals(response.headers.get("request-id"), request_id);
  assert(error.message.length > 10, text);
  return error;
}
