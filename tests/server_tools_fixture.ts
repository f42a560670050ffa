/** A server whose demo model calls tools, and what its clients send. */
import { assert, assertEquals } from "@std/assert";
import { demoModelFile } from "../engine/store/demo_model.ts";
import {
  ChatCompletion,
  ChatCompletionChunk,
  type ChatToolCall,
} from "../server/openai/chat_schemas.ts";
import { CHAT } from "./server_chat_fixture.ts";
import { readEvents, startServer, type TestServer } from "./server_fixture.ts";

/** A short template in the way of Hermes: the demo model's context is short as well. */
export const TOOL_TEMPLATE =
  "{% for t in tools or [] %}{{ t.function | tojson + '\\n' }}{% endfor %}" +
  "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}\n<tool_call>\n" +
  '{"name": {{ c.function.name | tojson }}, "arguments": {{ c.function.arguments | tojson }}}\n' +
  "</tool_call>{% endfor %}{{ '\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}assistant: {% if enable_thinking %}<think>{% endif %}{% endif %}";

/** Starts a server with the demo model, which calls tools. */
export function startTools(
  options: Parameters<typeof startServer>[0] = {},
  chatTemplate = TOOL_TEMPLATE,
): Promise<TestServer> {
  const engine = { contextTokens: 1024, parallel: 4, chatTemplate, ...options.engine };
  return startServer({ path: demoModelFile, ...options, engine });
}

export const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather of a city",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string", maxLength: 12 },
        unit: { enum: ["celsius", "fahrenheit"] },
      },
      required: ["city", "unit"],
    },
  },
};
/** A tool whose calls take more tokens than this. */
export const LONG = {
  type: "function",
  function: {
    name: "note",
    parameters: {
      type: "object",
      properties: { text: { type: "string", minLength: 600 } },
      required: ["text"],
    },
  },
};
export const LESS_THAN_LONG = 60;
export const NOW = { type: "function", function: { name: "now" } };

/** What is asked where a test says nothing else. */
const ASKED = {
  messages: [{ role: "user", content: "Hello" }],
  tools: [WEATHER, NOW],
  temperature: 1.2,
  seed: 1,
  max_tokens: 300,
};

type Message = ChatCompletion["choices"][number]["message"];

/** An answer that calls functions alone. */
interface FunctionChat extends Omit<ChatCompletion, "choices"> {
  readonly choices: readonly (Omit<ChatCompletion["choices"][number], "message"> & {
    readonly message: Omit<Message, "tool_calls"> & { readonly tool_calls?: ChatToolCall[] };
  })[];
}

/** Asks for a whole answer; its tools are functions. */
export async function toolChat(
  server: TestServer,
  body: Record<string, unknown>,
): Promise<FunctionChat> {
  const response = await server.post(CHAT, { ...ASKED, ...body });
  const text = await response.text();
  assertEquals(response.status, 200, text);
  const answer = ChatCompletion.parse(JSON.parse(text));
  const calls = answer.choices.flatMap(({ message }) => message.tool_calls ?? []);
  assert(calls.every(({ type }) => type === "function"), text);
  return answer as FunctionChat;
}

/** What one choice of a stream comes to. */
export interface Streamed {
  readonly content: string;
  readonly reasoning: string;
  readonly calls: ChatToolCall[];
  readonly pieces: number;
  readonly finish?: string;
}

/** Asks for a stream, and puts its choices together as a client does. */
export async function streamedToolChat(
  server: TestServer,
  body: Record<string, unknown>,
): Promise<Streamed[]> {
  const response = await server.post(CHAT, { ...ASKED, stream: true, ...body });
  if (response.status !== 200) throw new Error(await response.text());
  const events = (await readEvents(response)).map((event) => ChatCompletionChunk.parse(event));
  const all: { -readonly [Key in keyof Streamed]: Streamed[Key] }[] = [];
  for (const { index, delta, finish_reason: finish } of events.flatMap(({ choices }) => choices)) {
    const one = all[index] ??= { content: "", reasoning: "", calls: [], pieces: 0 };
    one.content += delta.content ?? "";
    one.reasoning += delta.reasoning_content ?? "";
    if (finish !== null) one.finish = finish;
    for (const { index, id, type, function: called } of delta.tool_calls ?? []) {
      one.pieces++;
      if (id !== undefined) {
        assertEquals([index, type], [one.calls.length, "function"]);
        one.calls.push({ id, type: "function", function: { name: called!.name!, arguments: "" } });
      }
      assertEquals(index, one.calls.length - 1);
      one.calls[index].function.arguments += called!.arguments;
    }
  }
  return all;
}

/** Checks that a call is of one of {@link WEATHER} and {@link NOW}, with arguments as they ask for. */
export function checkCall({ id, function: { name, arguments: text } }: ChatToolCall): void {
  assert(/^call_[0-9a-f]{24}$/.test(id), id);
  const { city, unit, ...rest } = JSON.parse(text);
  assertEquals(rest, {});
  if (name === "now") return assertEquals([city, unit], [undefined, undefined]);
  assertEquals(name, "get_weather");
  assert(typeof city === "string" && [...city].length <= 12, text);
  assert(["celsius", "fahrenheit"].includes(unit), text);
}
