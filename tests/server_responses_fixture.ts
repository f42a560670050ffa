/** What clients of OpenAI's Responses API send to a server whose model chats, and how its answers are read. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { OutputItem } from "../server/openai/responses/item_schemas.ts";
import { ResponseEvent, ResponseObject } from "../server/openai/responses/response_schemas.ts";
import { NO_END, type TestServer } from "./server_fixture.ts";

export const RESPONSES = "/v1/responses";

/** A body whose answer has six tokens. */
export function responsesBody(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model: "golden", input: "Hello", max_output_tokens: 6, ...NO_END, ...more };
}

/** Asks for a whole response. */
export async function respond(
  server: TestServer,
  more: Record<string, unknown> = {},
): Promise<ResponseObject> {
  const response = await server.post(RESPONSES, responsesBody(more));
  const answer = await response.json();
  assertEquals(response.status, 200, JSON.stringify(answer));
  return ResponseObject.parse(answer);
}

/** Asks for a stream. */
export async function responseEvents(
  server: TestServer,
  more: Record<string, unknown> = {},
): Promise<ResponseEvent[]> {
  const response = await server.post(RESPONSES, responsesBody({ stream: true, ...more }));
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  return readResponseEvents(await response.text());
}

/** The events of a stream, each named after its type, counted without a gap; comments are passed over. */
export function readResponseEvents(text: string): ResponseEvent[] {
  assert(text.endsWith("\n\n"), "the last event ends with an empty line");
  const events = text.slice(0, -2).split("\n\n").flatMap((block) => {
    const lines = block.split("\n").filter((line) => !line.startsWith(":"));
    if (lines.length === 0) return [];
    const [, name] = /^event: ([\w.]+)$/.exec(lines[0])!;
    assertEquals(lines.length, 2, block);
    assert(lines[1].startsWith("data: "), block);
    const event = ResponseEvent.parse(JSON.parse(lines[1].slice(6)));
    assertEquals(name, event.type);
    return [event];
  });
  assertEquals(events.map((one) => one.sequence_number), [...events.keys()]);
  return events;
}

/** The response that a stream's events make, their order checked on the way. */
export function assembled(events: readonly ResponseEvent[]): ResponseObject {
  const [created, begun, ...others] = events.filter(({ type }) => type !== "keepalive");
  assert(created.type === "response.created" && begun.type === "response.in_progress");
  assertEquals([created.response.output, created.response.usage], [[], null]);
  assertEquals(begun.response, created.response);
  const end = others.pop()!;
  assert("response" in end, JSON.stringify(end));
  const output: OutputItem[] = [];
  let open: OutputItem | undefined;
  for (const event of others) {
    if (!("item" in event)) {
      assert("item_id" in event && open !== undefined, JSON.stringify(event));
      assertEquals([event.item_id, event.output_index], [open.id, output.length - 1]);
      grow(open, event);
    } else if (event.type === "response.output_item.added") {
      assertEquals([open, event.output_index], [undefined, output.length]);
      assertEquals(event.item.status, "in_progress");
      open = structuredClone(event.item);
      output.push(open);
    } else {
      assertEquals(event.output_index, output.length - 1);
      const { encrypted_content: _, ...rest } = { encrypted_content: "", ...event.item };
      assertEquals({ ...open, status: rest.status }, rest, "what came in pieces is what is done");
      output[output.length - 1] = event.item;
      open = undefined;
    }
  }
  assertEquals(open, undefined, "every item ends");
  assertEquals(end.response.output, output);
  return end.response;
}

/** What an event adds to the item that is open. */
function grow(item: OutputItem, event: ResponseEvent): void {
  if (item.type === "function_call") {
    if (event.type === "response.function_call_arguments.delta") item.arguments += event.delta;
    else {
      assert(event.type === "response.function_call_arguments.done", event.type);
      assertEquals(event.arguments, item.arguments);
    }
    return;
  }
  if (item.type === "custom_tool_call") {
    if (event.type === "response.custom_tool_call_input.delta") item.input += event.delta;
    else {
      assert(event.type === "response.custom_tool_call_input.done", event.type);
      assertEquals(event.input, item.input);
    }
    return;
  }
  if (event.type === "response.content_part.added") {
    assertEquals(item.content, []);
    (item.content as unknown[]).push(event.part);
    return;
  }
  const part = item.content[0];
  switch (event.type) {
    case "response.output_text.delta":
    case "response.reasoning_text.delta":
      assert(event.delta !== "");
      part.text += event.delta;
      break;
    case "response.output_text.done":
    case "response.reasoning_text.done":
      assertEquals(event.text, part.text);
      break;
    case "response.content_part.done":
      assertEquals(event.part.text, part.text);
      // Events tell no bytes of tokens.
      if (part.type === "output_text") Object.assign(part, event.part);
      break;
    default:
      throw new Error(`unexpected ${event.type}`);
  }
}

/** A response without what is each one's own. */
export function withoutIds(response: ResponseObject) {
  const { id, created_at, completed_at, output, ...rest } = response;
  assertMatch(id, /^resp_[0-9a-f]{32}$/);
  assert(Math.abs(created_at - Date.now() / 1000) < 3600);
  assertEquals(completed_at === null, response.status !== "completed");
  return {
    ...rest,
    output: output.map(({ id, ...item }) => {
      assertMatch(id, /^(msg|rs|fc|ctc)_[0-9a-f]{32}$/);
      return item;
    }),
  };
}

/** The text of a response. */
export function textOf({ output }: ResponseObject): string {
  return output.flatMap((item) => item.type === "message" ? item.content : [])
    .map(({ text }) => text).join("");
}
