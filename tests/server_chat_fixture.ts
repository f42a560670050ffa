/** A server whose model chats, and what its clients send. */
import { assertEquals } from "@std/assert";
import { ChatCompletion, ChatCompletionChunk } from "../server/openai/chat_schemas.ts";
import { NO_END, readEvents, startServer, type TestServer } from "./server_fixture.ts";

export const CHAT = "/v1/chat/completions";

/** A template that is short: the test model's context has 128 tokens. */
const TEMPLATE = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\n{% endfor %}" +
  "{% if add_generation_prompt %}a:{% if enable_thinking %}<think>{% endif %}{% endif %}";

/** Starts a server with a model that chats. */
export function startChat(
  options: Parameters<typeof startServer>[0] = {},
  chatTemplate: string = TEMPLATE,
): Promise<TestServer> {
  return startServer({ ...options, engine: { chatTemplate, ...options.engine } });
}

export const HELLO = [{ role: "user", content: "Hello" }];

/** An answer that says something: who calls tools alone says nothing. */
type Said = ChatCompletion & { choices: { message: { content: string } }[] };

/** Asks for a whole answer of six tokens. */
export async function chat(
  server: TestServer,
  body: Record<string, unknown>,
): Promise<Said> {
  const response = await server.post(CHAT, {
    messages: HELLO,
    max_tokens: 6,
    ...NO_END,
    ...body,
  });
  const answer = await response.json();
  assertEquals(response.status, 200, JSON.stringify(answer));
  return ChatCompletion.parse(answer) as Said;
}

/** Asks for a stream of six tokens. */
export async function chatEvents(
  server: TestServer,
  body: Record<string, unknown>,
): Promise<ChatCompletionChunk[]> {
  const response = await server.post(CHAT, {
    messages: HELLO,
    max_tokens: 6,
    ...NO_END,
    stream: true,
    ...body,
  });
  assertEquals(response.status, 200);
  return (await readEvents(response)).map((event) => ChatCompletionChunk.parse(event));
}

/** What a stream's events make of one choice. */
export function joined(events: readonly ChatCompletionChunk[], index = 0) {
  const own = events.flatMap(({ choices }) => choices).filter((one) => one.index === index);
  return {
    content: own.map(({ delta }) => delta.content ?? "").join(""),
    reasoning: own.map(({ delta }) => delta.reasoning_content ?? "").join(""),
    logprobs: own.flatMap(({ logprobs }) => logprobs?.content ?? []),
    finishes: own.map(({ finish_reason }) => finish_reason).filter((one) => one !== null),
  };
}

/** The text that a prompt's completion gives. */
export async function completionOf(
  server: TestServer,
  prompt: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const body = { prompt, max_tokens: 6, ...NO_END, ...more };
  const response = await server.post("/v1/completions", body);
  return (await response.json()).choices[0].text;
}
