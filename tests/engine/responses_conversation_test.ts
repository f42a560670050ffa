// OpenAI's response items become messages: the role of each turn, and which items belong to one.
import { assertEquals } from "@std/assert";
import { messagesOf } from "../../server/openai/responses/conversation.ts";
import { readInput } from "../../server/openai/responses/input_items.ts";

const none = () => undefined;
const thought = (text: string) => ({
  type: "reasoning",
  summary: [],
  content: [{ type: "reasoning_text", text }],
});
const call = (id: string, more = {}) => ({
  type: "function_call",
  call_id: id,
  name: "f",
  arguments: "{}",
  ...more,
});
const result = (id: string) => ({ type: "function_call_output", call_id: id, output: `of ${id}` });

/** The messages of items, without what they do not have. */
function messages(items: unknown, instructions?: string) {
  const made = messagesOf(instructions, readInput(items, none));
  return JSON.parse(JSON.stringify(made.map((one) => ({ ...one, at: undefined }))));
}

Deno.test("what an assistant thought, said and called is one message, up to what came of it", () => {
  const items = [
    { role: "user", content: "b" },
    thought("t1"),
    { role: "assistant", content: "c" },
    call("1"),
    call("2", { name: "g", namespace: "n" }),
    result("1"),
    result("2"),
    thought("t2"),
    thought("t3"),
    call("3"),
    result("3"),
    { role: "assistant", content: "d" },
    thought("t4"),
    { role: "assistant", content: "e" },
  ];
  const called = (id: string, name = "f") => ({ id, name, arguments: "{}" });
  const came = (id: string, name = "f") => ({
    role: "tool",
    content: `of ${id}`,
    name,
    toolCallId: id,
  });
  assertEquals(messages(items, "I"), [
    { role: "system", content: "I" },
    { role: "user", content: "b" },
    {
      role: "assistant",
      content: "c",
      reasoning: "t1",
      toolCalls: [called("1"), called("2", "n.g")],
    },
    came("1"),
    came("2", "n.g"),
    { role: "assistant", content: null, reasoning: "t2\n\nt3", toolCalls: [called("3")] },
    came("3"),
    { role: "assistant", content: "d" },
    // What was thought after something was said is of the next message.
    { role: "assistant", content: "e", reasoning: "t4" },
  ]);
});

Deno.test("calls and results that alternate stay in their order", () => {
  const roles = messages([call("1"), result("1"), call("2"), result("2")])
    .map(({ role }: { role: string }) => role);
  assertEquals(roles, ["assistant", "tool", "assistant", "tool"]);
});

Deno.test("a call that was cut off keeps what the model wrote, and has its result", () => {
  for (const status of ["incomplete", undefined]) {
    const cut = call("1", { arguments: '{"a', status });
    const [calling, came] = messages([cut, result("1")]);
    assertEquals(calling.toolCalls, [{ id: "1", name: "f", arguments: '{"a' }]);
    assertEquals([came.role, came.name], ["tool", "f"]);
  }
  assertEquals(messages([result("1")]), [{ role: "tool", content: "of 1", toolCallId: "1" }]);
});

Deno.test("items keep the ids that they come with, and get new ones where they have none", () => {
  const [kept, made, empty] = readInput(
    [{ id: "msg_a", role: "user", content: "b" }, { role: "user", content: "b" }, {
      id: "",
      role: "user",
      content: "b",
    }],
    none,
  );
  assertEquals(kept.id, "msg_a");
  assertEquals([made, empty].map(({ id }) => /^msg_[0-9a-f]{32}$/.test(id)), [true, true]);
});
