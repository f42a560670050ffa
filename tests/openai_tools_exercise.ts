/**
 * What OpenAI's client for JavaScript does with tools, over several turns.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import OpenAI from "openai";

/** Numbers that are added up: short, for models that know little. */
const ADD = {
  type: "function" as const,
  function: {
    name: "add",
    description: "Adds two numbers",
    strict: true,
    parameters: {
      type: "object",
      properties: {
        a: { type: "integer", minimum: 0, maximum: 99 },
        b: { type: "integer", minimum: 0, maximum: 99 },
      },
      required: ["a", "b"],
      additionalProperties: false,
    },
  },
};
const NOW = { type: "function" as const, function: { name: "now" } };

function checkCall(call: OpenAI.ChatCompletionMessageToolCall): string {
  assert(call.type === "function" && call.id !== "");
  const { name, arguments: text } = call.function;
  const { a, b, ...rest } = JSON.parse(text);
  assertEquals(rest, {});
  if (name === "now") return "12:00";
  assertEquals(name, "add");
  assert([a, b].every((one) => Number.isInteger(one) && one >= 0 && one <= 99), text);
  return String(a + b);
}

/** Does all of it. */
export async function exerciseTools(client: OpenAI, model: string): Promise<void> {
  const asked = {
    model,
    tools: [ADD, NOW],
    tool_choice: "required" as const,
    max_tokens: 120,
    temperature: 1,
    seed: 7,
  };
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "1 + 2?" }];
  for (let turn = 0; turn < 2; turn++) {
    const { choices: [{ message, finish_reason }] } = await client.chat.completions.create({
      ...asked,
      messages,
      parallel_tool_calls: false,
    });
    assertEquals([finish_reason, message.content], ["tool_calls", null]);
    messages.push(message);
    for (const call of message.tool_calls!) {
      messages.push({ role: "tool", tool_call_id: call.id, content: checkCall(call) });
    }
  }
  const said = await client.chat.completions.create({
    ...asked,
    messages,
    tool_choice: "none",
    max_tokens: 5,
  });
  assertEquals(said.choices[0].message.tool_calls, undefined);
  await exerciseStreams(client, asked);
  await exerciseRunner(client, asked);
}

type Asked = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "messages" | "stream">;

/** The client puts pieces together itself, and tells of arguments as they come. */
async function exerciseStreams(client: OpenAI, asked: Asked): Promise<void> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "3 + 4?" }];
  const body = { ...asked, messages, parallel_tool_calls: false };
  const whole = await client.chat.completions.create(body);
  const stream = client.chat.completions.stream({ ...body, stream: true });
  const done: string[] = [];
  let deltas = 0;
  stream.on("tool_calls.function.arguments.delta", () => deltas++);
  stream.on("tool_calls.function.arguments.done", ({ name }) => done.push(name));
  const { choices: [{ message, finish_reason }] } = await stream.finalChatCompletion();
  assertEquals(finish_reason, "tool_calls");
  const named = (calls: OpenAI.ChatCompletionMessageToolCall[] | undefined) =>
    calls!.map((call) => {
      checkCall(call);
      return call.type === "function" ? call.function.name + call.function.arguments : "";
    });
  assertEquals(named(message.tool_calls), named(whole.choices[0].message.tool_calls));
  assertEquals([done.length, deltas > 0], [1, true]);
}

/** The client calls the tools itself, and sends their results back. */
async function exerciseRunner(client: OpenAI, asked: Asked): Promise<void> {
  let called = 0;
  const runner = client.chat.completions.runTools({
    ...asked,
    tools: [{
      type: "function" as const,
      function: {
        ...ADD.function,
        parse: JSON.parse,
        function: ({ a, b }: { a: number; b: number }) => {
          called++;
          return String(a + b);
        },
      },
    }],
    messages: [{ role: "user", content: "5 + 6?" }],
    parallel_tool_calls: false,
  }, { maxChatCompletions: 2 });
  await runner.done().catch((error) => assert(error instanceof OpenAI.OpenAIError, String(error)));
  assert(called >= 1, "the runner has called nothing");
}
