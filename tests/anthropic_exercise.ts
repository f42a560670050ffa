/**
 * All that Anthropic's client for JavaScript does with text, against a server that listens somewhere: in this
 * process, in one of its own, or the executable.
 *
 * @module
 */
import Anthropic from "@anthropic-ai/sdk";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { checkCall, TIME, WEATHER } from "./weather_tool.ts";

/** A server, and a model of it that chats. */
export interface ExercisedServer {
  /** `http://127.0.0.1:PORT`, without /v1. */
  readonly baseURL: string;
  readonly model: string;
  readonly apiKey: string;
}

type Create = Anthropic.MessageCreateParamsNonStreaming;

const MESSAGES: Anthropic.MessageParam[] = [
  {
    role: "user",
    content: [{ type: "text", text: "Hello", cache_control: { type: "ephemeral" } }],
  },
];

/** Does all of it; fails where an answer is not what the client was told to expect. */
export async function exerciseClient({ baseURL, model, apiKey }: ExercisedServer): Promise<void> {
  const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 });
  const asked = { model, messages: MESSAGES, max_tokens: 8, temperature: 0, system: "Be brief." };
  await exerciseMessages(client, asked);
  await exerciseStreams(client, asked);
  await exerciseThinking(client, asked);
  await exerciseTools(client, asked);
  await exerciseErrors(client, asked);
  const bearer = new Anthropic({ baseURL, authToken: apiKey, apiKey: null, maxRetries: 0 });
  const { input_tokens } = await bearer.messages.countTokens({ model, messages: MESSAGES });
  assert(input_tokens > 0, "a key behind Bearer is as good");
}

async function exerciseMessages(client: Anthropic, asked: Create): Promise<void> {
  const message = await client.messages.create(asked);
  assertMatch(message._request_id!, /^req_/);
  assertMatch(message.id, /^msg_/);
  assertEquals([message.type, message.role, message.model], ["message", "assistant", asked.model]);
  assert(["end_turn", "max_tokens"].includes(message.stop_reason!));
  const { usage } = message;
  assert(usage.output_tokens <= 8);
  const { model, messages, system } = asked;
  const counted = await client.messages.countTokens({ model, messages, system });
  assertEquals(counted.input_tokens, usage.input_tokens + usage.cache_read_input_tokens!);
  const idle = {
    metadata: { user_id: "me" },
    service_tier: "auto",
    tools: [],
    tool_choice: { type: "auto" },
    // Older fields, which the client's types do not have any more.
    top_k: 40,
    top_p: 0.9,
    stop_sequences: ["\n\n\n\n"],
  };
  assertEquals(
    textOf(await client.messages.create({ ...asked, ...idle } as Create)),
    textOf(message),
  );
  // Its clients' agents ask for /v1/messages?beta=true.
  const beta = await client.beta.messages.create({
    ...asked as Anthropic.Beta.MessageCreateParamsNonStreaming,
    betas: ["interleaved-thinking-2025-05-14"],
  });
  assertEquals(beta.content, message.content as typeof beta.content);
  const turns: Anthropic.MessageParam[] = [
    ...MESSAGES,
    { role: "assistant", content: message.content },
    { role: "user", content: "And?" },
  ];
  const next = await client.messages.create({ ...asked, messages: turns });
  assert(next.usage.input_tokens + next.usage.cache_read_input_tokens! > counted.input_tokens);
  const prefilled: Anthropic.MessageParam[] = [...MESSAGES, { role: "assistant", content: "I" }];
  assert((await client.messages.create({ ...asked, messages: prefilled })).content.length <= 1);
}

async function exerciseStreams(client: Anthropic, asked: Create): Promise<void> {
  const whole = await client.messages.create(asked);
  let text = "";
  for await (const event of await client.messages.create({ ...asked, stream: true })) {
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") {
      text += event.delta.text;
    }
  }
  assertEquals(text, textOf(whole));
  // The client's own collector of streams, which checks their order.
  const collected = await client.messages.stream(asked).finalMessage();
  assertEquals(textOf(collected), text);
  assertEquals(collected.stop_reason, whole.stop_reason);
  assertEquals(collected.usage.output_tokens, whole.usage.output_tokens);
  const left = await client.messages.create({ ...asked, max_tokens: 60, stream: true });
  for await (const _ of left) left.controller.abort();
  const stop = text.slice(1, 3);
  const stopped = await client.messages.stream({ ...asked, stop_sequences: [stop] }).finalMessage();
  assertEquals([stopped.stop_reason, stopped.stop_sequence], ["stop_sequence", stop]);
  assertEquals(textOf(stopped), text.slice(0, text.indexOf(stop)));
}

async function exerciseThinking(client: Anthropic, asked: Create): Promise<void> {
  const kinds: Anthropic.ThinkingConfigParam[] = [
    { type: "enabled", budget_tokens: 1024 },
    { type: "adaptive" },
    { type: "disabled" },
  ];
  for (const thinking of kinds) {
    const message = await client.messages.stream({ ...asked, thinking }).finalMessage();
    assert(message.content.every(({ type }) => type === "thinking" || type === "text"));
    const messages: Anthropic.MessageParam[] = [
      ...MESSAGES,
      {
        role: "assistant",
        content: [{ type: "thinking", thinking: "Hm.", signature: "m40" }, ...message.content],
      },
      { role: "user", content: "And?" },
    ];
    assertEquals(
      (await client.messages.create({ ...asked, messages, thinking })).role,
      "assistant",
    );
  }
}

const TOOLS: Anthropic.Tool[] = [
  { name: WEATHER.name, description: WEATHER.description, input_schema: WEATHER.parameters },
  { name: TIME.name, input_schema: TIME.parameters },
];

/** An agent of several turns: each calls a tool, streamed and not by turns, and gets what came of it. */
async function exerciseTools(client: Anthropic, asked: Create): Promise<void> {
  const messages = [...MESSAGES];
  const tools = { ...asked, max_tokens: 200, tools: TOOLS };
  for (let turn = 0; turn < 4; turn++) {
    const choice: Anthropic.ToolChoice = turn % 2 === 0
      ? { type: "tool", name: "weather" }
      : { type: "any", disable_parallel_tool_use: true };
    const body = { ...tools, messages, tool_choice: choice };
    const message = turn < 2
      ? await client.messages.stream(body).finalMessage()
      : await client.messages.create(body);
    assertEquals(message.stop_reason, "tool_use", JSON.stringify(message));
    const calls = message.content.filter((block) => block.type === "tool_use");
    assert(calls.length >= 1);
    for (const { name, input, id } of calls) {
      assert(id !== "");
      checkCall(name, input);
    }
    const results: Anthropic.ToolResultBlockParam[] = calls.map(({ id }, i) => ({
      type: "tool_result",
      tool_use_id: id,
      content: i === 0 ? "Sunny." : [{ type: "text", text: "no such city" }],
      is_error: i > 0,
    }));
    messages.push({ role: "assistant", content: message.content }, {
      role: "user",
      content: results,
    });
    const { input_tokens } = await client.messages.countTokens(
      { ...body, model: asked.model } as Anthropic.MessageCountTokensParams,
    );
    assert(input_tokens > 0);
  }
  const last = await client.messages.create({
    ...tools,
    messages,
    tool_choice: { type: "none" },
    max_tokens: 8,
  });
  assert(last.content.every(({ type }) => type !== "tool_use"));
  const free = await client.messages.stream({ ...tools, messages, max_tokens: 8 }).finalMessage();
  assert(["end_turn", "max_tokens", "tool_use"].includes(free.stop_reason!));
}

async function exerciseErrors(client: Anthropic, asked: Create): Promise<void> {
  const fails = async (more: Record<string, unknown>) => {
    const error = await assertRejects(
      () => client.messages.create({ ...asked, ...more } as Create),
      Anthropic.APIError,
    );
    assertMatch(error.requestID!, /^req_/);
    const { error: { type } } = error.error as { error: { type: string } };
    return [error.status, error.constructor.name, type];
  };
  const wrong = [400, "BadRequestError", "invalid_request_error"];
  assertEquals(await fails({ temperature: 1.5 }), wrong);
  assertEquals(await fails({ messages: [] }), wrong);
  assertEquals(
    await fails({ tools: [{ type: "web_search_20250305", name: "web_search" }] }),
    wrong,
  );
  assertEquals(await fails({ model: "nobody" }), [404, "NotFoundError", "not_found_error"]);
  const stranger = new Anthropic({ baseURL: client.baseURL, apiKey: "wrong", maxRetries: 0 });
  await assertRejects(() => stranger.messages.create(asked), Anthropic.AuthenticationError);
}

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => block.type === "text" ? block.text : "").join("");
}
