/**
 * All that OpenAI's client for JavaScript does with text, against a server that listens somewhere: in this
 * process, in one of its own, or the executable.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import OpenAI from "openai";
import { exerciseResponses } from "./openai_responses_exercise.ts";
import { exerciseTools } from "./openai_tools_exercise.ts";

/** A server, and a model of it that chats. */
export interface ExercisedServer {
  /** `http://127.0.0.1:PORT/v1` */
  readonly baseURL: string;
  readonly model: string;
  readonly apiKey?: string;
  /** Whether its vocabulary has tokens for filling in the middle. */
  readonly fillsGaps?: boolean;
}

type Chat = OpenAI.ChatCompletionCreateParamsNonStreaming;

const MESSAGES: OpenAI.ChatCompletionMessageParam[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: [{ type: "text", text: "Hello" }], name: "Ann" },
];

/** Does all of it; fails where an answer is not what the client was told to expect. */
export async function exerciseClient(server: ExercisedServer): Promise<void> {
  const { baseURL, model, apiKey = "none" } = server;
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  await exerciseModels(client, model);
  await exerciseCompletions(client, model);
  if (server.fillsGaps) await exerciseSuffix(client, model);
  await exerciseEmbeddings(client, model);
  await exerciseChat(client, model);
  await exerciseChatStreams(client, model);
  // A model of noise with a short context does not come to the end of a call.
  if (!server.fillsGaps) await exerciseTools(client, model);
  await exerciseErrors(client, model);
  await exerciseResponses(client, model);
}

async function exerciseModels(client: OpenAI, model: string): Promise<void> {
  const ids = [];
  for await (const one of client.models.list()) ids.push(one.id);
  // The models in memory come first, then the others of the store.
  assertEquals(ids[0], model);
  assertEquals((await client.models.retrieve(model)).object, "model");
}

async function exerciseEmbeddings(client: OpenAI, model: string): Promise<void> {
  // The client asks for base64 where it is not told.
  const { data, usage } = await client.embeddings.create({ model, input: ["Hello", "there"] });
  const [one] = (await client.embeddings.create({
    model,
    input: "Hello",
    dimensions: 8,
    encoding_format: "float",
  })).data;
  assertEquals([data.length, one.embedding.length, one.index], [2, 8, 0]);
  assert(usage.total_tokens >= 2 && data[1].embedding.length >= 8);
}

async function exerciseCompletions(client: OpenAI, model: string): Promise<void> {
  const asked = { model, prompt: "Once upon a time", max_tokens: 8, temperature: 0 };
  const whole = await client.completions.create({ ...asked, user: "me" });
  const [{ text }] = whole.choices;
  let streamed = "";
  let usage: OpenAI.CompletionUsage | null | undefined;
  const stream = await client.completions.create({
    ...asked,
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const part of stream) {
    streamed += part.choices[0]?.text ?? "";
    usage = part.usage ?? usage;
  }
  assertEquals([streamed, usage?.total_tokens], [text, whole.usage?.total_tokens]);
  const echoed = await client.completions.create({ ...asked, echo: true, logprobs: 2 });
  assertEquals(echoed.choices[0].text, asked.prompt + text);
  assertEquals(echoed.choices[0].logprobs?.token_logprobs?.[0], null);
  assert(echoed.choices[0].logprobs!.token_logprobs![1] < 0);
  const several = await client.completions.create({
    ...asked,
    prompt: ["Once", "Upon"],
    n: 2,
    best_of: 3,
    temperature: 1,
    seed: 5,
    frequency_penalty: 0.5,
    presence_penalty: 0.5,
    logit_bias: { "5": -100 },
    stop: ["\n\n\n"],
    top_p: 0.9,
  });
  assertEquals(several.choices.map(({ index }) => index), [0, 1, 2, 3]);
  for (const prompt of [[5, 6, 7], [[5, 6], [7, 8]]]) {
    const { choices } = await client.completions.create({ ...asked, prompt });
    assertEquals(choices.length, Array.isArray(prompt[0]) ? 2 : 1);
  }
}

async function exerciseSuffix(client: OpenAI, model: string): Promise<void> {
  const asked = { model, prompt: "def f(a):", max_tokens: 8, temperature: 0 };
  const plain = await client.completions.create(asked);
  const filled = await client.completions.create({ ...asked, suffix: "return b" });
  assert(filled.usage!.prompt_tokens > plain.usage!.prompt_tokens + 3);
  assertEquals(filled.object, "text_completion");
}

async function exerciseChat(client: OpenAI, model: string): Promise<void> {
  const asked: Chat = { model, messages: MESSAGES, max_completion_tokens: 8, temperature: 0 };
  const { choices: [choice], usage } = await client.chat.completions.create(asked);
  assertEquals([choice.message.role, choice.message.refusal], ["assistant", null]);
  assert(["stop", "length"].includes(choice.finish_reason));
  assert(usage!.completion_tokens <= 8 && usage!.prompt_tokens_details!.cached_tokens! >= 0);
  const idle: Partial<Chat> = {
    user: "me",
    store: true,
    metadata: { a: "b" },
    service_tier: "auto",
    parallel_tool_calls: true,
    prompt_cache_key: "k",
    safety_identifier: "s",
    response_format: { type: "text" },
    modalities: ["text"],
    reasoning_effort: "low",
  };
  const same = await client.chat.completions.create({ ...asked, ...idle });
  assertEquals(same.choices[0].message.content, choice.message.content);
  // What local users reach for goes beside OpenAI's own fields.
  const more = {
    top_k: 40,
    min_p: 0.01,
    typical_p: 0.95,
    repetition_penalty: 1.05,
    repeat_last_n: 64,
    dry_multiplier: 0.8,
    xtc_probability: 0.1,
    dynatemp_range: 0.2,
    min_tokens: 1,
    chat_template_kwargs: { enable_thinking: false },
    reasoning_budget: 0,
  };
  const drawn = await client.chat.completions.create({
    ...asked,
    ...more,
    n: 2,
    temperature: 1,
    seed: 7,
    stop: ["\n\n\n"],
    frequency_penalty: 0.1,
    presence_penalty: 0.1,
    logit_bias: { "5": -1 },
  } as Chat);
  assertEquals(drawn.choices.length, 2);
  const told = await client.chat.completions.create({ ...asked, logprobs: true, top_logprobs: 3 });
  const content = told.choices[0].logprobs!.content!;
  assert(content.every(({ logprob, top_logprobs }) => logprob <= 0 && top_logprobs.length === 3));
  const continued = await client.chat.completions.create({
    ...asked,
    messages: [...MESSAGES, { role: "assistant", content: "I" }],
    continue_final_message: true,
  } as Chat);
  assert(continued.usage!.prompt_tokens > 0);
}

async function exerciseChatStreams(client: OpenAI, model: string): Promise<void> {
  const asked = { model, messages: MESSAGES, max_tokens: 8, temperature: 0 };
  const whole = await client.chat.completions.create(asked);
  let text = "";
  let usage: OpenAI.CompletionUsage | null | undefined;
  const finishes = [];
  const stream = await client.chat.completions.create({
    ...asked,
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const { choices: [choice], usage: told } of stream) {
    text += choice?.delta.content ?? "";
    if (choice?.finish_reason) finishes.push(choice.finish_reason);
    usage = told ?? usage;
  }
  assertEquals(text, whole.choices[0].message.content);
  assertEquals(finishes, [whole.choices[0].finish_reason]);
  assertEquals(usage?.total_tokens, whole.usage?.total_tokens);
  // The client's own collector of streams, which checks what it collects.
  const runner = client.chat.completions.stream({ ...asked, logprobs: true, top_logprobs: 1 });
  const final = await runner.finalChatCompletion();
  assertEquals(final.choices[0].message.content, whole.choices[0].message.content);
  assertEquals(final.choices[0].message.role, "assistant");
  const left = await client.chat.completions.create({ ...asked, max_tokens: 60, stream: true });
  for await (const _ of left) left.controller.abort();
}

async function exerciseErrors(client: OpenAI, model: string): Promise<void> {
  const asked: Chat = { model, messages: MESSAGES, max_tokens: 2 };
  const fails = async (more: Record<string, unknown>) =>
    await assertRejects(
      () => client.chat.completions.create({ ...asked, ...more } as Chat),
      OpenAI.APIError,
    );
  const range = await fails({ temperature: 900 });
  assertEquals([range.status, range.param, range.code], [400, "temperature", "invalid_request"]);
  const tools = await fails({ functions: [{ name: "f" }] });
  assertEquals([tools.status, tools.param, tools.code], [400, "functions", "unsupported"]);
  const unknown = await fails({ model: "nobody" });
  assertEquals([unknown.status, unknown.code], [404, "model_not_found"]);
  const empty = await fails({ messages: [] });
  assertEquals([empty.status, empty.param], [400, "messages"]);
}
