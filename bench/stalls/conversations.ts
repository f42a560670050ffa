/** Conversations that are long. */
import {
  chat,
  ids,
  type Input,
  MOST,
  nestedSchema,
  post,
  properties,
  repeat,
  times,
  tool,
  words,
} from "./input.ts";

/** U+E000 to U+F8FF, one of which marks a request's texts. */
const PRIVATE_USE = Array.from({ length: 6400 }, (_, i) => String.fromCharCode(0xe000 + i)).join(
  "",
);

const many = (count: number, length: number) =>
  times(count, (i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: words(length),
  }));

export const CONVERSATIONS: readonly Input[] = [
  chat("chat: one message of 4 MB", { messages: many(1, MOST - 200) }),
  chat("chat: 3 MB, and at their end each character of private use but two", {
    messages: [{ role: "user", content: "a".repeat(3e6) + PRIVATE_USE.slice(0, -2) }],
  }),
  chat("chat: 50,000 messages", {
    messages: times(50_001, (i) => ({
      role: i % 2 ? "assistant" : "user",
      content: "a b",
    })),
  }),
  chat("chat: 100,000 parts", {
    messages: [{ role: "user", content: repeat(100_000, { type: "text", text: "a" }) }],
  }),
  chat("chat: 20,000 calls of tools", {
    messages: [
      { role: "user", content: "a" },
      {
        role: "assistant",
        content: null,
        tool_calls: times(20_000, (i) => ({
          id: `c${i}`,
          type: "function",
          function: { name: "f", arguments: '{"a":1}' },
        })),
      },
      ...times(10_000, (i) => ({
        role: "tool",
        tool_call_id: `c${i}`,
        content: "b",
      })),
    ],
    tools: [tool("f", { type: "object" })],
  }),
  chat("chat: 4 MB of arguments", {
    messages: [
      { role: "user", content: "a" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{
          id: "c",
          type: "function",
          function: { name: "f", arguments: `{"a":${ids(1_500_000, 1)}}` },
        }],
      },
      { role: "tool", tool_call_id: "c", content: "b" },
    ],
  }),
  chat("chat: an image of 4 MB in base64", {
    messages: [{
      role: "user",
      content: [{
        type: "image_url",
        image_url: { url: `data:image/png;base64,${"A".repeat(MOST - 300)}` },
      }],
    }],
  }),
  chat("chat: 5,000 tools in the history and 500 that may be called", {
    messages: [
      { role: "user", content: "a" },
      ...times(5000, (i) => [
        {
          role: "assistant",
          content: null,
          tool_calls: [{
            id: `c${i}`,
            type: "function",
            function: { name: "f", arguments: `{"a":${ids(60, 1)}}` },
          }],
        },
        { role: "tool", tool_call_id: `c${i}`, content: words(200) },
      ]).flat(),
    ],
    tools: times(500, (i) => tool(`tool_${i}`, { type: "object" })),
  }),
  chat("chat: 4 MB of descriptions of tools", {
    tools: times(
      100,
      (i) =>
        tool(`tool_${i}`, { type: "object", properties: { a: { description: words(40_000) } } }),
    ),
  }),
  chat("chat: a schema nested 900 deep in tools", { tools: [tool("a", nestedSchema(450))] }),
  post("/v1/messages", "with 2,000 tools", {
    max_tokens: 2,
    messages: many(1, 20),
    tools: times(2000, (i) => ({
      name: `tool_${i}`,
      input_schema: { type: "object", properties: properties(20) },
    })),
  }),
  post("/v1/messages", "of 20,000 results of tools", {
    max_tokens: 2,
    messages: [
      { role: "user", content: "a" },
      {
        role: "assistant",
        content: times(20_000, (i) => ({
          type: "tool_use",
          id: `c${i}`,
          name: "f",
          input: { a: i },
        })),
      },
      {
        role: "user",
        content: times(20_000, (i) => ({
          type: "tool_result",
          tool_use_id: `c${i}`,
          content: "b",
        })),
      },
    ],
  }),
  post("/v1/responses", "of 20,000 calls and what they gave", {
    max_output_tokens: 16,
    input: times(10_000, (i) => [
      { type: "function_call", call_id: `c${i}`, name: "f", arguments: '{"a":1}' },
      { type: "function_call_output", call_id: `c${i}`, output: "b" },
    ]).flat(),
  }),
  post("/v1/responses", "with 2,000 tools", {
    max_output_tokens: 16,
    input: "a",
    tools: times(2000, (i) => ({
      type: "function",
      name: `tool_${i}`,
      parameters: { type: "object", properties: properties(20) },
    })),
  }),
  post("/api/chat", "with 2,000 tools", {
    messages: many(1, 20),
    stream: false,
    tools: times(2000, (i) => tool(`tool_${i}`, { type: "object", properties: properties(20) })),
  }),
  post("/apply-template", "of 4 MB", { messages: many(400, 10_000) }),
  post("/apply-template", "of 50,000 messages", { messages: many(50_000, 27) }),
  post("/v1/messages", "of 4 MB", { max_tokens: 2, messages: many(401, 10_000) }),
  post("/v1/messages/count_tokens", "of 4 MB", { messages: many(401, 10_000) }),
  post("/v1/messages", "of 100,000 blocks", {
    max_tokens: 2,
    messages: [{ role: "user", content: repeat(90_000, { type: "text", text: "a" }) }],
  }),
  post("/v1/responses", "of 50,000 items", {
    max_output_tokens: 16,
    input: repeat(50_000, { role: "user", content: "a" }),
  }),
  post("/v1/responses", "of 4 MB, kept", {
    max_output_tokens: 16,
    store: true,
    input: words(MOST - 200),
  }),
  post("/api/chat", "of 50,000 messages", { messages: many(50_000, 27) }),
  post("/api/generate", "of 4 MB", { prompt: words(MOST - 200), stream: false }),
  post("/api/generate", "with a context of 10^6 ids", {
    prompt: "a",
    context: repeat(1_000_000, 5),
    stream: false,
  }),
];
