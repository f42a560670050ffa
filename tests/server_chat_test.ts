import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { ChatCompletion, ChatCompletionChunk } from "../server/openai/chat_schemas.ts";
import {
  MODEL,
  NO_END,
  readError,
  readEvents,
  startServer,
  type TestServer,
  usageOf,
} from "./server_fixture.ts";

const PATH = "/v1/chat/completions";

/** A template that is short: the test model's context has 128 tokens. */
const TEMPLATE = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\n{% endfor %}" +
  "{% if add_generation_prompt %}a:{% if enable_thinking %}<think>{% endif %}{% endif %}";

/** A server with a model that chats. */
function startChat(options: Parameters<typeof startServer>[0] = {}): Promise<TestServer> {
  return startServer({ ...options, engine: { chatTemplate: TEMPLATE, ...options.engine } });
}

const HELLO = [{ role: "user", content: "Hello" }];

// deno-lint-ignore no-explicit-any
async function chat(server: TestServer, body: Record<string, unknown>): Promise<any> {
  const response = await server.post(PATH, { max_tokens: 6, ...NO_END, ...body });
  const answer = await response.json();
  assertEquals(response.status, 200, JSON.stringify(answer));
  return ChatCompletion.parse(answer);
}

async function events(server: TestServer, body: Record<string, unknown>) {
  const response = await server.post(PATH, { max_tokens: 6, ...NO_END, stream: true, ...body });
  assertEquals(response.status, 200);
  return (await readEvents(response)).map((event) => ChatCompletionChunk.parse(event));
}

Deno.test("a chat completion is what the rendered prompt gives, in OpenAI's shape", async () => {
  await using server = await startChat();
  const messages = [
    { role: "system", content: "S" },
    { role: "user", content: [{ type: "text", text: "Hel" }, { type: "text", text: "lo" }] },
  ];
  const { id, created, system_fingerprint, ...rest } = await chat(server, { messages });
  assertMatch(id, /^chatcmpl-[0-9a-f]{32}$/);
  assert(Math.abs(created - Date.now() / 1000) < 3600);
  assertMatch(system_fingerprint, /^m40-\d+\.\d+\.\d+$/);
  const prompt = "s:S\nu:Hello\na:";
  const same = await server.post("/v1/completions", { prompt, max_tokens: 6, ...NO_END });
  const { choices: [{ text }], usage } = await same.json();
  assertEquals(rest, {
    object: "chat.completion",
    model: MODEL,
    choices: [{
      index: 0,
      message: { role: "assistant", content: text.trimStart(), refusal: null },
      logprobs: null,
      finish_reason: "length",
    }],
    usage: usageOf(usage.prompt_tokens, 6),
  });
});
