// Ollama's dialect over one model: what is asked and answered, field by field.
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { OllamaChat, OllamaChatPiece } from "../../../server/ollama/chat.ts";
import { OllamaGenerated, OllamaGeneratedPiece } from "../../../server/ollama/generate.ts";
import { byteLevelModel } from "../../fixtures/byte_level_model.ts";
import { type BadRequest, testBadRequests } from "../../fixtures/bad_requests.ts";
import { readLines, readOllamaError } from "../../fixtures/ollama_fixture.ts";
import { chat, HELLO, startChat } from "../../fixtures/server_chat_fixture.ts";
import {
  answerOf,
  MODEL,
  openRequest,
  startServer,
  type TestServer,
} from "../../fixtures/server_fixture.ts";
import { until } from "../../fixtures/waiting.ts";

/** Options that keep the golden model from ending its text. */
const OPTIONS = { temperature: 0, num_predict: 6, logit_bias: { "2": -100 } };

async function whole(server: TestServer, path: string, body: Record<string, unknown>) {
  const response = await server.post(path, {
    model: MODEL,
    options: OPTIONS,
    stream: false,
    ...body,
  });
  assertEquals(response.headers.get("content-type"), "application/json");
  const json = await response.json();
  assertEquals(response.status, 200, JSON.stringify(json));
  return json;
}

Deno.test("/api/chat: the answer is OpenAI's in Ollama's shape, whole and as lines, each with its fields", async () => {
  await using server = await startChat();
  const { choices, usage } = await chat(server, {});
  const before = Date.now();
  const answer = OllamaChat.parse(await whole(server, "/api/chat", { messages: HELLO }));
  const {
    created_at,
    total_duration,
    load_duration,
    prompt_eval_duration,
    eval_duration,
    ...rest
  } = answer;
  assertEquals(rest, {
    model: MODEL,
    message: { role: "assistant", content: choices[0].message.content },
    done: true,
    done_reason: "length",
    prompt_eval_count: usage.prompt_tokens,
    eval_count: 6,
  });
  assert(Math.abs(Date.parse(created_at) - before) < 60_000, created_at);
  assert(eval_duration > 0 && prompt_eval_duration > 0, "it took some time");
  assert(
    load_duration + prompt_eval_duration + eval_duration <= total_duration,
    "parts of the whole",
  );
  // Lines are what comes where a request does not say.
  const response = await server.post("/api/chat", {
    model: MODEL,
    messages: HELLO,
    options: OPTIONS,
  });
  const lines = await readLines(response);
  const last = OllamaChat.parse(lines.pop());
  const pieces = lines.map((line) => OllamaChatPiece.parse(line));
  assert(pieces.length > 1, "it comes in pieces");
  assertEquals(last.message, { role: "assistant", content: "" });
  assertEquals(last.eval_count, 6);
  assertEquals(pieces.map(({ message }) => message.content).join(""), rest.message.content);
});

Deno.test("/api/chat: reasoning is separate as thinking; think false ends it, a word reaches the template", async () => {
  const template = "{% for m in messages %}{{ m.content }}{% endfor %}{{ reasoning_effort }}" +
    "{% if enable_thinking is undefined or enable_thinking %}<think>{% endif %}";
  await using server = await startChat({}, template);
  const messages = HELLO;
  const thought = OllamaChat.parse(await whole(server, "/api/chat", { messages }));
  assertEquals(thought.message.content, "");
  assert(thought.message.thinking!.length > 0);
  const lines = await readLines(
    await server.post("/api/chat", { model: MODEL, messages, options: OPTIONS }),
  );
  assertEquals(
    lines.map(({ message }) => message.thinking ?? "").join(""),
    thought.message.thinking,
  );
  const answered = OllamaChat.parse(await whole(server, "/api/chat", { messages, think: false }));
  assertEquals(answered.message.thinking, undefined);
  assert(answered.message.content.length > 0);
  const short = OllamaChat.parse(await whole(server, "/api/chat", { messages, think: "low" }));
  assertEquals(
    short.prompt_eval_count,
    thought.prompt_eval_count + short.prompt_eval_count -
      thought.prompt_eval_count,
  );
  assert(short.prompt_eval_count > thought.prompt_eval_count, "the word is in the prompt");
});

Deno.test("think reaches templates by either of the names that they know it by", async () => {
  for (const name of ["enable_thinking", "thinking"]) {
    const template =
      `{% for m in messages %}{{ m.content }}{% endfor %}{% if ${name} %}<think>{% endif %}`;
    await using server = await startChat({}, template);
    const thoughts = async (think?: boolean | string) => {
      const { message } = await whole(server, "/api/chat", { messages: HELLO, think });
      const { thinking } = await whole(server, "/api/generate", { prompt: "Hello", think });
      assertEquals(thinking, message.thinking);
      return message.thinking !== undefined;
    };
    assertEquals(await thoughts(), false);
    assertEquals(await thoughts(true), true, name);
    assertEquals(await thoughts("low"), true, name);
    assertEquals(await thoughts(false), false);
  }
});

Deno.test("/api/chat: an assistant's message at the end is gone on with", async () => {
  await using server = await startChat();
  const messages = [...HELLO, { role: "assistant", content: "Well" }];
  const { choices } = await chat(server, { messages, continue_final_message: true });
  const answer = await whole(server, "/api/chat", { messages });
  assertEquals(answer.message.content, choices[0].message.content);
});

Deno.test("/api/generate: the prompt is a user's message, with raw it goes to the model as it is", async () => {
  await using server = await startChat();
  const messages = [{ role: "system", content: "Be" }, { role: "user", content: "Hello" }];
  const { choices } = await chat(server, { messages });
  const answer = OllamaGenerated.parse(
    await whole(server, "/api/generate", { prompt: "Hello", system: "Be" }),
  );
  assertEquals(answer.response, choices[0].message.content);
  const raw = OllamaGenerated.parse(
    await whole(server, "/api/generate", { prompt: "Hello", raw: true }),
  );
  const completed = await server.post("/v1/completions", {
    prompt: "Hello",
    max_tokens: 6,
    temperature: 0,
    logit_bias: OPTIONS.logit_bias,
  });
  assertEquals(raw.response, (await completed.json()).choices[0].text);
  const lines = await readLines(
    await server.post("/api/generate", { prompt: "Hello", raw: true, options: OPTIONS }),
  );
  const last = OllamaGenerated.parse(lines.pop());
  assertEquals([last.response, last.done_reason], ["", "length"]);
  const pieces = lines.map((line) => OllamaGeneratedPiece.parse(line));
  assertEquals(pieces.map(({ response }) => response).join(""), raw.response);
});

Deno.test("/api/generate: a model without a template reads the prompt as it is, and no system message", async () => {
  await using server = await startServer();
  const body = { prompt: "Hello" };
  const raw = await whole(server, "/api/generate", { ...body, raw: true });
  assertEquals((await whole(server, "/api/generate", body)).response, raw.response);
  const error = await readOllamaError(
    await server.post("/api/generate", { ...body, system: "Be" }),
    400,
  );
  assertMatch(error, /no chat template/);
});

Deno.test("/api/generate: a suffix is what comes after the gap; a model that fills none says so", async () => {
  using file = await byteLevelModel();
  await using server = await startServer({ path: file.path });
  const options = { temperature: 0, num_predict: 4 };
  const body = { prompt: "one ", suffix: " three", options, stream: false };
  const answer = await answerOf(server, "/api/generate", body);
  const filled = await answerOf(server, "/v1/completions", {
    prompt: "one ",
    suffix: " three",
    max_tokens: 4,
    temperature: 0,
    parse_special: false,
  });
  assertEquals(answer.response, filled.choices[0].text);
  await using other = await startServer();
  assertMatch(
    await readOllamaError(await other.post("/api/generate", body), 400),
    /cannot fill in/,
  );
});

Deno.test("options: each acts as its name says, seeds are kept, -1 and -2 tokens are as many as there is room for", async () => {
  await using server = await startServer();
  const ask = async (options: Record<string, unknown>) =>
    await whole(server, "/api/generate", { prompt: "Hello", options });
  const sampled = (seed: number) => ask({ seed, num_predict: 8, temperature: 1.5 });
  assertEquals((await sampled(7)).response, (await sampled(7)).response);
  assertNotEquals((await sampled(-1)).response, (await sampled(-1)).response);
  // Two seeds that are one number.
  const long = async (seed: string) => {
    const text =
      `{"prompt":"Hello","stream":false,"options":{"temperature":1.5,"num_predict":20,"seed":${seed}}}`;
    return (await answerOf(server, "/api/generate", text)).response;
  };
  assertNotEquals(await long("9007199254740992"), await long("9007199254740993"));
  for (const num_predict of [-1, -2]) {
    const { eval_count, prompt_eval_count } = await ask({ ...OPTIONS, num_predict });
    assertEquals(eval_count + prompt_eval_count, 128);
  }
  const greedy = await ask(OPTIONS);
  assertEquals((await ask({ ...OPTIONS, temperature: 1, top_k: 1 })).response, greedy.response);
  assert(
    (await ask({ ...OPTIONS, repeat_penalty: 5, num_predict: 30 })).response !==
      (await ask({ ...OPTIONS, num_predict: 30 })).response,
    "repetition is penalised",
  );
  const stop = greedy.response.slice(1, 3);
  const stopped = await ask({ ...OPTIONS, stop });
  assertEquals([stopped.response, stopped.done_reason], [
    greedy.response.slice(0, greedy.response.indexOf(stop)),
    "stop",
  ]);
  const machine = {
    num_ctx: 128,
    num_gpu: 99,
    num_thread: 8,
    use_mmap: true,
    num_keep: 4,
    num_batch: 512,
  };
  assertEquals((await ask({ ...OPTIONS, ...machine })).response, greedy.response);
});

Deno.test("num_ctx has no effect, however large: what counts is whether the prompt has room", async () => {
  const ask = async (server: TestServer, num_ctx: number, content = "Hello") =>
    await server.post("/api/chat", {
      messages: [{ role: "user", content }],
      options: { ...OPTIONS, num_ctx },
    });
  await using server = await startChat({ contextLength: 4096, engine: { contextTokens: 128 } });
  for (const num_ctx of [1, 128, 129, 4096, 8294, 65_536, 2 ** 31]) {
    const lines = await readLines(await ask(server, num_ctx));
    assertEquals(lines.at(-1).eval_count, 6, String(num_ctx));
    const long = await readOllamaError(await ask(server, num_ctx, "word ".repeat(200)), 400);
    assertMatch(long, /the context has 128/);
  }
  for (const num_ctx of [0, -1, 1.5, "8192"]) {
    const refused = await ask(server, num_ctx as number);
    assertMatch(await readOllamaError(refused, 400), /num_ctx: wanted/);
  }
});

Deno.test("logprobs are those of OpenAI's chats, whole and as lines, each with its own piece", async () => {
  await using server = await startChat();
  const own = await chat(server, { logprobs: true, top_logprobs: 2 });
  const { content } = own.choices[0].logprobs!;
  const asked = { messages: HELLO, logprobs: true, options: OPTIONS };
  const withBytes = ({ bytes, ...one }: typeof content[number]["top_logprobs"][number]) => ({
    ...one,
    bytes: bytes ?? [],
  });
  for (const top_logprobs of [undefined, 0, 2]) {
    const body = { ...asked, top_logprobs };
    const answer = OllamaChat.parse(await whole(server, "/api/chat", body));
    const wanted = content.map(({ top_logprobs: top, ...one }) => ({
      ...withBytes(one),
      ...(top_logprobs ? { top_logprobs: top.map(withBytes) } : {}),
    }));
    assertEquals(answer.logprobs, wanted);
    const lines = await readLines(await server.post("/api/chat", { model: MODEL, ...body }));
    const pieces = lines.slice(0, -1).map((line) => OllamaChatPiece.parse(line));
    const last = OllamaChat.parse(lines.at(-1));
    assertEquals([...pieces, last].flatMap(({ logprobs = [] }) => logprobs), wanted);
  }
  const none = await whole(server, "/api/chat", { messages: HELLO, logprobs: false });
  assertEquals("logprobs" in none, false);
  const generated = OllamaGenerated.parse(
    await whole(server, "/api/generate", { prompt: "Hello", raw: true, logprobs: true }),
  );
  assertEquals(generated.logprobs!.length, 6);
});

Deno.test("what is not done is refused in words that name it, in Ollama's shape", async () => {
  await using server = await startChat();
  const chats: BadRequest[] = [
    [{ tools: [{ type: "function" }] }, "tools.0.function"],
    [{ tools: "a" }, "", /^tools: wanted an array/],
    [{ tools: [{ type: "web", function: { name: "f" } }] }, '"web"'],
    [{ tools: [{ function: { name: "a b" } }] }, '"a b"'],
    [{ tools: [{ function: { name: "f", parameters: 5 } }] }, "f"],
    [{ format: "yaml" }, "format", /"yaml"/],
    [{ messages: [{ role: "user", content: "a", images: ["aGk="] }] }, "messages.0.images"],
    [{ messages: [{ role: "assistant", tool_calls: [{}] }] }, "messages.0.tool_calls"],
    [{ messages: [{ role: "wizard", content: "a" }] }, "messages.0.role"],
    [{ messages: "a" }, "messages", /the string "a"/],
    [{ think: 3 }, "think"],
    [{ options: { temperature: 900 } }, "temperature", /900/],
    [{ options: [] }, "options"],
    [{ logprobs: true, top_logprobs: 21 }, "top_logprobs"],
  ];
  const prompts: BadRequest[] = [
    [{ template: "{{ .Prompt }}" }, "template"],
    [{ context: [1, 2] }, "context", /\/api\/chat/],
    [{ images: ["aGk="] }, "images"],
    [{ raw: true, system: "b" }, "system together with raw"],
    [{ format: { type: "wizard" } }, "format"],
    [{ logprobs: "yes" }, "logprobs: wanted"],
    [{ prompt: ["a"] }, "prompt"],
    [{ prompt: "a ".repeat(200), raw: true }, "128"],
  ];
  for (const stream of [true, false]) {
    await testBadRequests(server, "/api/chat", { messages: HELLO, stream }, chats);
    await testBadRequests(server, "/api/generate", { prompt: "a", stream }, prompts);
  }
  await testBadRequests(server, "/api/show", {}, [[{}, "model"]]);
  await testBadRequests(server, "/api/show", {}, [[{ model: "nope" }, '"nope"']], 404);
  await testBadRequests(server, "/api/push", {}, [[{ model: "a" }, "published"]]);
  await testBadRequests(server, "/api/blobs/sha256:0", {}, [[{}, "no POST"]], 404);
  await readOllamaError(await fetch(server.url + "/api/nothing"), 404);
});

Deno.test("format: an answer is the JSON that its schema allows, in chats and of prompts, whole and streamed", async () => {
  await using server = await startChat();
  const format = {
    type: "object",
    properties: { a: { enum: [1, 2] } },
    required: ["a"],
    additionalProperties: false,
  };
  const options = { ...OPTIONS, num_predict: 100, temperature: 1.5, seed: 3 };
  const check = (text: string) => {
    const { a, ...rest } = JSON.parse(text);
    assert(a === 1 || a === 2, text);
    assertEquals(rest, {});
  };
  const body = { messages: HELLO, format, options };
  const answer = await whole(server, "/api/chat", body);
  assertEquals(answer.done_reason, "stop");
  check(answer.message.content);
  const lines = await readLines(await server.post("/api/chat", body));
  check(lines.map(({ message }) => message.content).join(""));
  check((await whole(server, "/api/generate", { prompt: "a", format, options })).response);
  const free = await whole(server, "/api/generate", { prompt: "a", format: "json", options });
  assert(free.response.startsWith("{"), free.response);
});

Deno.test("empty lists, empty strings and null, which clients send for nothing, are nothing", async () => {
  await using server = await startChat();
  const answer = await whole(server, "/api/chat", { messages: HELLO });
  const more = {
    tools: [],
    format: "",
    think: null,
    options: { ...OPTIONS, stop: null, seed: -1 },
  };
  const messages = [{ ...HELLO[0], images: [], tool_calls: null, tool_name: "" }];
  const same = await whole(server, "/api/chat", { messages, ...more });
  assertEquals(same.message, answer.message);
});

for (const stream of [true, false]) {
  Deno.test(`a client that leaves in the middle ends its answer, stream: ${stream}`, async () => {
    await using server = await startServer({ contextLength: 65_536 });
    const endless = { ...OPTIONS, num_predict: -1 };
    const body = { prompt: "Hello", stream, options: endless };
    const client = await openRequest(server.port, "/api/generate", body);
    await until("it runs", () => server.engine.status().running === 1);
    client.close();
    await until("the engine is free", () => server.engine.status().running === 0);
  });
}

Deno.test("an answer that fails on its way ends with a line that says so, and no line that is done", async () => {
  await using server = await startServer({ contextLength: 65_536, app: { timeoutMs: 300 } });
  const options = { ...OPTIONS, num_predict: -1 };
  const lines = await readLines(await server.post("/api/generate", { prompt: "Hello", options }));
  const last = lines.pop();
  assertEquals(Object.keys(last), ["error"]);
  assertMatch(last.error, /not done after 0\.3 s/);
  assert(lines.every(({ done }) => done === false));
});
