import { assertEquals, assertMatch } from "@std/assert";
import { CHAT, HELLO, startChat } from "../fixtures/server_chat_fixture.ts";
import { promptOf } from "../fixtures/server_history_fixture.ts";

// What clients of llama.cpp, LM Studio and OpenAI's older API send.

const SHOWS_CALLS = "{% for m in messages %}{{ m.role }}({{ m.name }}):{{ m.content }}" +
  "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}|{% endfor %}";

Deno.test("a limit of -1 token is no limit", async () => {
  await using server = await startChat();
  const stopped = { temperature: 0, stop: ["e", "a", "o", "i", "u", " "] };
  for (
    const [path, body] of [
      [CHAT, { messages: HELLO, max_tokens: -1, ...stopped }],
      [CHAT, { messages: HELLO, max_completion_tokens: -1, ...stopped }],
      ["/v1/completions", { prompt: "a", max_tokens: -1, ...stopped }],
    ] as const
  ) {
    const response = await server.post(path, body);
    const { choices } = await response.json();
    assertEquals([response.status, choices[0].finish_reason], [200, "stop"], JSON.stringify(body));
  }
  const generated = await server.post("/v1/generate", { prompt: "a", max_tokens: -1, ...stopped });
  assertEquals(generated.status, 200);
  await generated.body?.cancel();
});

Deno.test("function_call and the role function are a call of a tool and its result", async () => {
  await using server = await startChat({}, SHOWS_CALLS);
  const prompt = await promptOf(server, {
    messages: [
      ...HELLO,
      { role: "assistant", content: null, function_call: { name: "f", arguments: '{"a": 1}' } },
      { role: "function", name: "f", content: "one" },
      { role: "assistant", content: "So.", function_call: { name: "g", arguments: "{}" } },
      { role: "function", name: "g", content: null },
    ],
  });
  assertMatch(
    prompt,
    /<tool_call>\{"name": "f", "arguments": \{"a": 1\}\}<\/tool_call>\|tool\(f\):one\|/,
  );
  assertMatch(
    prompt,
    /So\.<tool_call>\{"name": "g", "arguments": \{\}\}<\/tool_call>\|tool\(g\):\|/,
  );
});

Deno.test("a tool that gave nothing and a user who says nothing have an empty text", async () => {
  await using server = await startChat({}, SHOWS_CALLS);
  const call = { id: "1", type: "function", function: { name: "f", arguments: "{}" } };
  const prompt = await promptOf(server, {
    messages: [
      { role: "user", content: [] },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "1", content: null },
    ],
  });
  assertMatch(prompt, /^user\(\):\|assistant\(\):.*<tool_call>.*\|tool\(f\):\|/);
});
