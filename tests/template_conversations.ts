/**
 * Conversations in OpenAI's form, which templates and other libraries render.
 *
 * @module
 */
import { parseJson } from "../engine/json/parse_json.ts";

const call = (id: string, name: string, args: string) => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const result = (id: string, name: string, content: string) => ({
  role: "tool",
  tool_call_id: id,
  name,
  content,
});
const tool = (name: string, parameters: unknown, description?: string) => ({
  type: "function",
  function: { name, ...(description === undefined ? {} : { description }), parameters },
});

export const WEATHER = call("aB3dE6gH9", "get_weather", '{"city": "Zürich", "days": 1, "x": 1.0}');
export const NOW_CALL = call("aB3dE6gH0", "now", "{}");

export const TOOLS = [
  tool("get_weather", {
    type: "object",
    properties: { city: { type: "string", description: "Where?" }, days: { type: "integer" } },
    required: ["city"],
  }, "The weather, as “text”."),
  tool("now", { type: "object", properties: {} }),
];

/** One conversation. */
export interface Request {
  readonly messages: readonly Record<string, unknown>[];
  readonly tools?: readonly unknown[];
}

const user = (content: string) => ({ role: "user", content });
const assistant = (content: string, more: object = {}) => ({ role: "assistant", content, ...more });
const system = (content: string) => ({ role: "system", content });

export const REQUESTS: Readonly<Record<string, Request>> = {
  "one question": { messages: [user("Hi")] },
  turns: { messages: [system("Be kind."), user("Hi"), assistant("Yo"), user("So?")] },
  "blanks at the ends": { messages: [user(" Hi "), assistant(" Yo "), user("So?\n")] },
  "tools": { messages: [system("Be kind."), user("a"), assistant("b"), user("c")], tools: TOOLS },
  "a call": {
    messages: [
      user("Rain?"),
      assistant("", { tool_calls: [WEATHER] }),
      result("aB3dE6gH9", "get_weather", "5"),
    ],
    tools: TOOLS,
  },
  "two calls, results that are JSON and a text": {
    messages: [
      user("Rain?"),
      assistant("", { tool_calls: [WEATHER, NOW_CALL] }),
      result("aB3dE6gH9", "get_weather", '{"t": 5,"é":1.0, "id": 12345678901234567890}'),
      result("aB3dE6gH0", "now", "no: é"),
      assistant("Ok"),
      user("And?"),
    ],
    tools: TOOLS,
  },
};

/** The conversation as templates get it: arguments of calls are values. */
export function shownTo(request: Request): Record<string, unknown> {
  const messages = request.messages.map((message) => {
    const { tool_calls: calls, ...rest } = message as { tool_calls?: typeof WEATHER[] };
    if (calls === undefined) return message;
    const shown = calls.map((one) => ({
      ...one,
      function: { name: one.function.name, arguments: parseJson(one.function.arguments) },
    }));
    return { ...rest, tool_calls: shown };
  });
  return { messages, tools: request.tools ?? null };
}

const parts = (...texts: string[]) => texts.map((text) => ({ type: "text", text }));

/** More of them, which some templates refuse: 19 with the others. */
export const MORE_REQUESTS: Readonly<Record<string, Request>> = {
  ...REQUESTS,
  "beyond ASCII": {
    messages: [user("Grüße, 世界 👋🏽 e\u0301"), assistant("\u00a0ça va\u3000"), user("ß")],
  },
  "markup": { messages: [user("<b>'a' \"b\" & \\n</b> {{ x }} {% raw %}")] },
  "empty": { messages: [system(""), user("")] },
  "two systems": { messages: [system("A"), system("B"), user("c")] },
  "a later system message": { messages: [user("a"), assistant("b"), system("C"), user("d")] },
  "developer": { messages: [{ role: "developer", content: "Speak French." }, user("Hi")] },
  "parts": {
    messages: [
      system("S"),
      { role: "user", content: parts("One", "Two") },
      assistant("3"),
      user("4"),
    ],
  },
  "thoughts": {
    messages: [
      user("a"),
      assistant("b", { reasoning_content: "because", thinking: "because" }),
      user("c"),
    ],
  },
  "thoughts in the text": {
    messages: [user("a"), assistant("<think>\nhm\n</think>\n\nb"), user("c")],
  },
  "a call without a text": {
    messages: [user("Now?"), assistant(null as unknown as string, { tool_calls: [NOW_CALL] })],
    tools: TOOLS,
  },
  "a text, a call and thoughts": {
    messages: [
      system("Be kind."),
      user("Rain?"),
      assistant("I look.", { tool_calls: [WEATHER], reasoning_content: "Hm." }),
      result("aB3dE6gH9", "get_weather", "No."),
    ],
    tools: TOOLS,
  },
  "odd types of parameters": {
    messages: [user("Hi")],
    tools: [
      tool("f", {
        type: "object",
        properties: {
          u: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
          n: { type: ["integer", "null"] },
          c: { const: 1.0 },
          e: {},
          any: { type: "array" },
          r: { $ref: "#/$defs/x" },
          o: { type: "object", additionalProperties: { type: "number" } },
          w: { enum: ["a", 2, null, true] },
        },
      }, "Everything."),
    ],
  },
  "the assistant first": { messages: [assistant("Hello."), user("Hi")] },
};
