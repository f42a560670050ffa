/**
 * All that Ollama's client for JavaScript does with text, against a server that listens somewhere: in this process,
 * in one of its own, or the executable.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type ChatRequest, type Message, Ollama, type Tool } from "ollama";

/** A server, and a model of it that chats. */
export interface ExercisedServer {
  /** `http://127.0.0.1:PORT`, without /v1. */
  readonly host: string;
  readonly model: string;
  readonly apiKey: string;
  /** Whether it changes its store for its clients; the model is then copied and the copy deleted. */
  readonly storeChanges: boolean;
  /** Whether the context has room for tools. */
  readonly tools?: boolean;
}

const MESSAGES = [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello" }];
const OPTIONS = { temperature: 0, num_predict: 8, num_ctx: 64, seed: 1 };

/** Does all of it; fails where an answer is not what the client was told to expect. */
export async function exerciseClient(server: ExercisedServer): Promise<void> {
  const { host, model, apiKey } = server;
  const client = new Ollama({ host, headers: { Authorization: `Bearer ${apiKey}` } });
  await exerciseAnswers(client, model);
  if (server.tools) await exerciseTools(client, model);
  await exerciseEmbeddings(client, model);
  await exerciseErrors(client, model);
  await exerciseModels(client, model);
  if (server.storeChanges) await exerciseStore(client, model);
  const keyless = new Ollama({ host });
  await assertRejects(() => keyless.list(), Error, "API key");
}

async function exerciseAnswers(client: Ollama, model: string): Promise<void> {
  const chat = { model, messages: MESSAGES, options: OPTIONS };
  const whole = await client.chat(chat);
  assertEquals([whole.model, whole.done, whole.message.role], [model, true, "assistant"]);
  assert(whole.eval_count > 0 && whole.eval_count <= 8);
  assert(whole.total_duration >= whole.prompt_eval_duration + whole.eval_duration);
  let text = "";
  for await (const { message } of await client.chat({ ...chat, stream: true })) {
    text += message.content;
  }
  assertEquals(text, whole.message.content);
  const prompt = { model, prompt: "Once upon a time", raw: true, options: OPTIONS };
  const completed = await client.generate(prompt);
  assertMatch(completed.created_at.toString(), /^\d{4}-/);
  text = "";
  for await (const { response } of await client.generate({ ...prompt, stream: true })) {
    text += response;
  }
  assertEquals(text, completed.response);
  const format = {
    type: "object",
    properties: { a: { enum: ["x", "y"] } },
    required: ["a"],
    additionalProperties: false,
  };
  const held = await client.chat({ ...chat, format, options: { ...OPTIONS, num_predict: 60 } });
  assertMatch(JSON.parse(held.message.content).a, /^[xy]$/);
  const endless = {
    ...prompt,
    stream: true as const,
    options: { temperature: 1, num_predict: -1 },
  };
  await assertRejects(async () => {
    // All of an answer may be there before the client looks at its first piece: another one then.
    for (let i = 0; i < 20; i++) {
      const stream = await client.generate(endless);
      for await (const _ of stream) stream.abort();
    }
  });
}

const TOOLS: Tool[] = [{
  type: "function",
  function: {
    name: "weather",
    description: "What the weather is.",
    parameters: {
      type: "object",
      properties: { city: { type: "string", enum: ["Paris", "Rome"] } },
      required: ["city"],
      additionalProperties: false,
    } as Tool["function"]["parameters"],
  },
}];

/** An agent of several turns, each of which calls a tool. */
async function exerciseTools(client: Ollama, model: string): Promise<void> {
  const messages: Message[] = [...MESSAGES];
  for (const stream of [true, false, false]) {
    const message = await callOf(client, { model, messages, tools: TOOLS }, stream);
    messages.push(message);
    for (const { function: { name, arguments: { city } } } of message.tool_calls!) {
      assert(name === "weather" && ["Paris", "Rome"].includes(city), `${name} ${city}`);
      messages.push({ role: "tool", content: "Sunny.", tool_name: name });
    }
  }
  const asked = { model, messages, tools: TOOLS, options: { num_predict: 5 } };
  assert((await client.chat(asked)).done);
}

/**
 * An answer that calls a tool. There is no word for that in this dialect: of answers that may only say 7 or call,
 * some do.
 */
async function callOf(client: Ollama, asked: ChatRequest, stream: boolean): Promise<Message> {
  for (let seed = 0; seed < 20; seed++) {
    const options = { num_predict: 200, temperature: 1, seed };
    const how = { ...asked, format: { enum: [7] }, options };
    let message = { role: "assistant", content: "" } as Message;
    if (stream) {
      for await (const part of await client.chat({ ...how, stream: true })) {
        if (part.message.tool_calls) message = part.message;
      }
    } else message = (await client.chat({ ...how, stream: false })).message;
    if (message.tool_calls) return message;
  }
  throw new Error("no answer has called a tool");
}

async function exerciseEmbeddings(client: Ollama, model: string): Promise<void> {
  const { embeddings } = await client.embed({ model, input: ["Hello", "there"], dimensions: 8 });
  assertEquals(embeddings.map(({ length }) => length), [8, 8]);
  const { embedding } = await client.embeddings({ model, prompt: "Hello" });
  const [whole] = (await client.embed({ model, input: "Hello" })).embeddings;
  assertEquals(embedding, whole);
}

async function exerciseErrors(client: Ollama, model: string): Promise<void> {
  const error = await assertRejects(
    () => client.chat({ model: "nope", messages: MESSAGES }),
    Error,
  );
  assertEquals((error as Error & { status_code: number }).status_code, 404);
  assertMatch(error.message, /"nope"/);
  const messages = [{ role: "user", content: "a", images: [new Uint8Array(3)] }];
  await assertRejects(() => client.chat({ model, messages }), Error, "messages.0.images");
}

async function exerciseModels(client: Ollama, model: string): Promise<void> {
  const { models } = await client.list();
  assert(models.some(({ name }) => name === `${model}:latest`));
  const shown = await client.show({ model });
  assertEquals(shown.details.format, "gguf");
  assert(shown.capabilities.includes("completion"));
  await client.generate({ model, prompt: "", keep_alive: "10m" });
  const { models: running } = await client.ps();
  assertEquals(running.map(({ name }) => name), [`${model}:latest`]);
  await client.generate({ model, prompt: "", keep_alive: 0 });
  assertEquals((await client.ps()).models, []);
  assertMatch((await client.version()).version, /^\d+\.\d+\.\d+$/);
}

async function exerciseStore(client: Ollama, model: string): Promise<void> {
  await client.copy({ source: model, destination: "ollamas-copy" });
  const chat = { model: "ollamas-copy:latest", messages: MESSAGES, options: OPTIONS };
  assert((await client.chat(chat)).eval_count > 0);
  const created = { model: "ollamas-copy", from: "ollamas-copy", system: "Be brief." };
  const states: string[] = [];
  for await (const { status } of await client.create({ ...created, stream: true })) {
    states.push(status);
  }
  assertEquals(states.at(-1), "success");
  assertEquals((await client.create({ ...created, parameters: { top_k: 3 } })).status, "success");
  const { system, parameters } = await client.show({ model: "ollamas-copy" });
  assertEquals([system, /^top_k +3$/.test(`${parameters}`)], ["Be brief.", true]);
  await assertRejects(
    () => client.create({ ...created, template: "{{ .Prompt }}" }),
    Error,
    "Go's template language",
  );
  await client.delete({ model: "ollamas-copy" });
  await assertRejects(() => client.chat(chat), Error, "ollamas-copy");
  const pull = await client.pull({ model: "./no-path", stream: true }).catch((error) => error);
  assert(pull instanceof Error, "a path is nothing to pull");
}
