// What clients of llama.cpp's server ask for: texts in its shape, OpenAI's routes without /v1, /props; and vLLM's tokens.
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import OpenAI from "openai";
import { ChatCompletion, ChatCompletionChunk } from "../../server/openai/chat_schemas.ts";
import { LlamaEmbeddings } from "../../server/llama_cpp/embedding.ts";
import { Props, TokenizerInfo } from "../../server/llama_cpp/props.ts";
import { LlamaPiece, LlamaText } from "../../server/llama_cpp/text_answer.ts";
import { Detokenized, Tokenized } from "../../server/llama_cpp/tokens.ts";
import { chat, HELLO, startChat } from "../fixtures/server_chat_fixture.ts";
import {
  answerOf,
  MODEL,
  NO_END,
  readError,
  startServer,
  type TestServer,
} from "../fixtures/server_fixture.ts";

async function get(server: TestServer, path: string): Promise<unknown> {
  const response = await fetch(server.url + path);
  assertEquals(response.status, 200);
  return await response.json();
}

/** The events of a stream, as JSON. */
async function events(server: TestServer, path: string, body: object): Promise<unknown[]> {
  const response = await server.post(path, { ...body, stream: true });
  assertEquals(response.status, 200);
  return (await response.text()).trimEnd().split("\n\n")
    .filter((one) => one.startsWith("data: {")).map((one) => JSON.parse(one.slice(6)));
}

Deno.test("/completion continues a text as /v1/completions does, in llama.cpp's shape, whole and streamed", async () => {
  await using server = await startServer();
  const { choices: [{ text, logprobs }] } = await answerOf(server, "/v1/completions", {
    prompt: "Hello",
    max_tokens: 6,
    logprobs: 2,
    ...NO_END,
  });
  const body = { prompt: "Hello", n_predict: 6, n_probs: 2, return_tokens: true, ...NO_END };
  for (const path of ["/completion", "/completions"]) {
    const whole = LlamaText.parse(await answerOf(server, path, body));
    assertEquals([whole.content, whole.stop_type, whole.model], [text, "limit", MODEL]);
    assertEquals([whole.tokens.length, whole.tokens_predicted], [6, 6]);
    const probabilities = whole.completion_probabilities!;
    assertEquals(probabilities.map(({ token }) => token), logprobs.tokens);
    assertEquals(probabilities.map(({ logprob }) => logprob), logprobs.token_logprobs);
    assertEquals(probabilities.map(({ id }) => id), whole.tokens);
    assert(probabilities.every(({ top_logprobs }) => top_logprobs.length === 2));
    const parts = await events(server, path, body);
    const last = LlamaText.parse(parts.pop());
    const pieces = parts.map((one) => LlamaPiece.parse(one));
    assertEquals(pieces.map(({ content }) => content).join(""), text);
    assertEquals(pieces.flatMap(({ tokens }) => tokens), whole.tokens);
    assertEquals(
      pieces.flatMap(({ completion_probabilities }) => completion_probabilities),
      probabilities,
    );
    assertEquals([last.content, last.stop_type], ["", "limit"]);
    const { prompt_n, cache_n, predicted_n, predicted_ms } = last.timings;
    assertEquals([prompt_n + cache_n, predicted_n], [last.tokens_evaluated, 6]);
    assert(predicted_ms > 0);
  }
  const plain = LlamaText.parse(
    await answerOf(server, "/completion", { ...body, n_probs: 0, return_tokens: false }),
  );
  assertEquals([plain.content, plain.tokens, plain.completion_probabilities], [
    text,
    [],
    undefined,
  ]);
});

Deno.test("/completion heeds llama.cpp's names: stop, seed -1, repeat_penalty, token ids, and says what ended it", async () => {
  await using server = await startServer();
  const ask = async (more: object) =>
    LlamaText.parse(
      await answerOf(server, "/completion", { prompt: "Hello", n_predict: 12, ...NO_END, ...more }),
    );
  const { content } = await ask({});
  const stop = content.slice(2, 5);
  const stopped = await ask({ stop: [stop], n_predict: -1 });
  assertEquals([stopped.stop_type, stopped.stopping_word], ["word", stop]);
  assertEquals(stopped.content, content.slice(0, content.indexOf(stop)));
  const ended = await ask({ logit_bias: { [server.engine.tokenizer.eos!]: 100 } });
  assertEquals([ended.stop_type, ended.stopping_word, ended.content], ["eos", "", ""]);
  const ids = server.engine.tokenizer.encode("Hello");
  assertEquals((await ask({ prompt: ids })).content, content);
  assertEquals(
    (await ask({ repeat_penalty: 1.9 })).content,
    (await ask({ repetition_penalty: 1.9 })).content,
  );
  const sampled = { temperature: 2, seed: -1, n_predict: 30 };
  assert((await ask(sampled)).content !== (await ask(sampled)).content);
  const { timings } = await ask({ n_predict: 1 });
  assertEquals([timings.predicted_n, timings.predicted_ms, timings.predicted_per_second], [
    1,
    0,
    null,
  ]);
  const error = await readError(await server.post("/completion", { prompt: ["a", "b"] }), 400);
  assertEquals(error.param, "prompt");
});

Deno.test("an OpenAI client whose base URL has no /v1 finds chats, texts, models and vectors, with timings", async () => {
  await using server = await startChat();
  const client = new OpenAI({ baseURL: server.url, apiKey: "none", maxRetries: 0 });
  const own = await chat(server, {});
  const body = { model: MODEL, messages: HELLO, max_tokens: 6, ...NO_END };
  const whole = ChatCompletion.parse(await answerOf(server, "/chat/completions", body));
  assertEquals(whole.choices, own.choices);
  assertEquals(whole.timings!.predicted_n, 6);
  assertEquals("timings" in own, false, "where OpenAI's own clients ask, the answer is OpenAI's");
  for (const include_usage of [false, true]) {
    const chunks = (await events(server, "/chat/completions", {
      ...body,
      stream_options: { include_usage },
    })).map((one) => ChatCompletionChunk.parse(one));
    const timed = chunks.filter(({ timings }) => timings !== undefined);
    assertEquals(timed.length, 1);
    assertEquals(timed[0].choices[0].finish_reason, "length");
    const { prompt_n, cache_n } = timed[0].timings!;
    assertEquals(prompt_n + cache_n, own.usage.prompt_tokens);
  }
  const sampled = { ...body, temperature: 2, seed: -1, max_tokens: 30 };
  const texts = async (path: string) =>
    await Promise.all(
      [0, 1].map(async () => (await answerOf(server, path, sampled)).choices[0].message),
    );
  const [first, second] = await texts("/v1/chat/completions");
  assertEquals(first, second, "to OpenAI's clients -1 is a seed");
  assertNotEquals(...await texts("/chat/completions") as [unknown, unknown]);
  const { choices: [{ text }] } = await client.completions.create({
    model: MODEL,
    prompt: "Hello",
    max_tokens: 3,
  });
  assert(text.length > 0);
  assertEquals((await client.models.list()).data.map(({ id }) => id), [MODEL]);
  const vectors = await client.embeddings.create({
    model: MODEL,
    input: ["a", "b"],
    encoding_format: "float",
  });
  const llama = LlamaEmbeddings.parse(
    await answerOf(server, "/embeddings", { content: ["a", "b"] }),
  );
  assertEquals(
    llama.map(({ embedding: [vector] }) => vector),
    vectors.data.map(({ embedding }) => embedding),
  );
  assertEquals(await answerOf(server, "/embedding", { content: ["a", "b"] }), llama);
  assertEquals(await answerOf(server, "/embedding", { input: "a" }), [llama[0]]);
});

Deno.test("/props and /tokenizer_info report the context, the template and the tokens at a text's ends", async () => {
  await using server = await startChat();
  const { tokenizer, contextTokens, maxRunning, chat } = server.engine;
  const props = Props.parse(await get(server, "/props"));
  assertEquals([props.default_generation_settings.n_ctx, props.total_slots], [
    contextTokens,
    maxRunning,
  ]);
  assertEquals([props.model_alias, props.chat_template], [MODEL, chat!.template]);
  assert(!JSON.stringify(props).includes(server.engine.model.path), "where the file is stays here");
  const info = TokenizerInfo.parse(await get(server, `/tokenizer_info?model=${MODEL}`));
  const ends = [tokenizer.bos!, tokenizer.eos!].map((id) => tokenizer.tokenText(id));
  assertEquals([info.bos_token, info.eos_token, info.chat_template], [...ends, chat!.template]);
  await readError(await fetch(`${server.url}/props?model=nope`), 404);
});

Deno.test("/tokenize and /detokenize answer vLLM's clients in their shape", async () => {
  await using server = await startServer();
  const { tokenizer, contextTokens } = server.engine;
  const prompt = "Hello</s>";
  for (const add_special_tokens of [undefined, true, false]) {
    const answer = Tokenized.parse(
      await answerOf(server, "/tokenize", { prompt, add_special_tokens }),
    );
    const addSpecial = add_special_tokens ?? true;
    const tokens = tokenizer.encode(prompt, { addSpecial, parseSpecial: true });
    assertEquals(answer, { tokens, count: tokens.length, max_model_len: contextTokens });
    const back = Detokenized.parse(await answerOf(server, "/detokenize", { tokens }));
    assert(back.prompt.includes(prompt) && back.prompt === back.content);
  }
  const error = await readError(await server.post("/tokenize", { text: "a" }), 400);
  assertEquals(error.param, "content");
});
