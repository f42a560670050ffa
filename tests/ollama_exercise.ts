/**
 * All that Ollama's client for JavaScript does with text, against a server that listens somewhere: in this process,
 * in one of its own, or the executable.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Message, Ollama, type Options, type Tool, type ToolCall } from "ollama";

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
  if (server.tools) await exerciseTools(client, model, host, apiKey);
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
    },
  },
}];

/**
 * An agent of several turns. There is no word in this dialect for an answer that must call a tool: the model is left
 * nothing else by a format that wants a 7, of which no token may be drawn.
 */
async function exerciseTools(
  client: Ollama,
  model: string,
  host: string,
  apiKey: string,
): Promise<void> {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${apiKey}` };
  const body = JSON.stringify({ model, content: "7" });
  const tokenized = await fetch(`${host}/tokenize`, { method: "POST", headers, body });
  const { tokens } = await tokenized.json() as { tokens: number[] };
  const logit_bias = Object.fromEntries(tokens.map((token) => [token, -100]));
  const options = { num_predict: 200, temperature: 1, seed: 1, logit_bias } as Partial<Options>;
  const messages: Message[] = [...MESSAGES];
  for (let turn = 0; turn < 3; turn++) {
    const asked = { model, messages, tools: TOOLS, format: { enum: [7] }, options };
    const calls: ToolCall[] = [];
    let content = "";
    if (turn === 0) {
      for await (const { message } of await client.chat({ ...asked, stream: true })) {
        calls.push(...message.tool_calls ?? []);
        content += message.content;
      }
    } else {
      const { message, done_reason } = await client.chat(asked);
      calls.push(...message.tool_calls ?? []);
      assertEquals(done_reason, "stop");
      content = message.content;
    }
    assert(calls.length > 0, content);
    for (const { function: { name, arguments: { city } } } of calls) {
      assert(name === "weather" && ["Paris", "Rome"].includes(city), `${name} ${city}`);
    }
    messages.push({ role: "assistant", content, tool_calls: calls });
    for (const { function: { name } } of calls) {
      messages.push({ role: "tool", content: "Sunny.", tool_name: name });
    }
  }
  assert((await client.chat({ model, messages, tools: TOOLS, options: { num_predict: 5 } })).done);
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
