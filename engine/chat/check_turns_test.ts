// Long conversations are checked with turns for others between: at every call, and at every tool.
import { assertEquals, assertRejects } from "@std/assert";
import { M40Error } from "../errors.ts";
import { checkRequest, withoutCutCalls } from "./check_request.ts";
import type { ChatMessage } from "./conversation.ts";

/** Counts how often others may have their turn. */
function counter() {
  const counted = { turns: 0, next: () => Promise.resolve(void counted.turns++) };
  return counted;
}

const calling = (count: number, text: string): ChatMessage[] =>
  Array.from({ length: count }, (_, i): ChatMessage[] => [
    {
      role: "assistant",
      content: null,
      toolCalls: [`c${i}`, `d${i}`].map((id) => ({ id, name: "f", arguments: text })),
    },
    { role: "tool", toolCallId: `c${i}`, content: "x" },
  ]).flat();

Deno.test("others have their turn before each call and each tool of a conversation that is checked", async () => {
  const seen = counter();
  const tools = Array.from({ length: 40 }, (_, i) => ({ name: `t${i}`, parameters: {} }));
  await checkRequest({ messages: calling(100, '{"a":1}'), tools }, seen);
  assertEquals(seen.turns, 2 * 100 + 40);
  const deep = `{"a":${"[".repeat(65)}1${"]".repeat(65)}}`;
  await assertRejects(
    () => checkRequest({ messages: calling(1, deep) }, seen),
    M40Error,
    "messages.0.tool_calls.0: lists and objects are nested more than 64 deep",
  );
});

Deno.test("others have their turn before each call that may have been cut, and the cut ones are left out", async () => {
  const seen = counter();
  const messages = calling(50, '{"a":');
  const kept = await withoutCutCalls(messages, seen);
  assertEquals(seen.turns, 50);
  assertEquals(
    kept.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)),
    Array.from({ length: 50 }, (_, i) => `c${i}`),
  );
  assertEquals(kept.length, messages.length);
  const whole = calling(2, "{}");
  assertEquals(await withoutCutCalls(whole, seen), whole);
});
