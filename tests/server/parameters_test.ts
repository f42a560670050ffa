// What OpenAI's clients and others send that has a meaning, though not the usual one.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { entry } from "../../engine/gguf/entries.ts";
import { byteLevelModel } from "../fixtures/byte_level_model.ts";
import { collect } from "../fixtures/engine_fixture.ts";
import { startChat } from "../fixtures/server_chat_fixture.ts";
import {
  answerOf,
  MODEL,
  NO_END,
  readError,
  readEvents,
  startServer,
  type TestServer,
  usageOf,
} from "../fixtures/server_fixture.ts";

/** Sampled with all chances open, so that equal texts are sampled alike. */
const RANDOM = { prompt: "Hello", max_tokens: 12, temperature: 2 };

/** The texts of the answer to a body; one that is text is sent as it is. */
async function textsOf(server: TestServer, body: unknown): Promise<string[]> {
  const { choices } = await answerOf(server, "/v1/completions", body);
  return choices.map((choice: { text: string }) => choice.text);
}

Deno.test("top_p 0 takes the likeliest token, top_k -1 and 0 are no limit", async () => {
  await using server = await startServer();
  const seeded = { ...RANDOM, seed: 3 };
  const greedy = await textsOf(server, { ...seeded, temperature: 0 });
  const free = await textsOf(server, seeded);
  assert(greedy[0] !== free[0]);
  for (const top_p of [0, 1e-60, -0]) {
    assertEquals(await textsOf(server, { ...seeded, top_p }), greedy, `top_p ${top_p}`);
  }
  for (const top_k of [-1, 0]) {
    assertEquals(await textsOf(server, { ...seeded, top_k }), free, `top_k ${top_k}`);
  }
});

Deno.test("temperatures above 2 are sampled with, in every dialect that has no limit of its own", async () => {
  await using server = await startServer();
  const cold = await textsOf(server, { ...RANDOM, seed: 3, temperature: 2, min_p: 0.3 });
  const hot = { ...RANDOM, seed: 3, temperature: 5 };
  const [warm] = await textsOf(server, { ...hot, min_p: 0.3 });
  assert((await textsOf(server, hot))[0] !== cold[0], "it is sampled as with less");
  assertEquals((await textsOf(server, { ...hot, top_k: 1 })).length, 1);
  const { prompt, seed, temperature } = hot;
  const options = {
    seed,
    temperature,
    min_p: 0.3,
    num_predict: hot.max_tokens,
    top_k: 0,
    top_p: 1,
  };
  const raw = { model: MODEL, prompt, options, raw: true, stream: false };
  const ollama = await server.post("/api/generate", raw);
  assertEquals(ollama.status, 200, await ollama.clone().text());
  assertEquals((await ollama.json()).response, warm);
  const llama = { ...options, prompt, n_predict: hot.max_tokens };
  assertEquals((await answerOf(server, "/completion", llama)).content, warm);
});

Deno.test("max_completion_tokens limits completions too, before max_tokens", async () => {
  await using server = await startServer();
  const used = async (more: unknown) => {
    const body = { prompt: "Hello", ...NO_END, ...more as Record<string, unknown> };
    return (await answerOf(server, "/v1/completions", body)).usage.completion_tokens;
  };
  assertEquals(await used({ max_completion_tokens: 3 }), 3);
  assertEquals(await used({ max_completion_tokens: 3, max_tokens: 5 }), 3);
  assertEquals(await used({ max_completion_tokens: null, max_tokens: 5 }), 5);
  assertEquals(await used({ n_predict: 4 }), 4);
  assertEquals(await used({ n_predict: 4, max_tokens: 5 }), 5);
  const wrong = await server.post("/v1/completions", { prompt: "a", max_completion_tokens: "3" });
  assertEquals((await readError(wrong, 400)).param, "max_completion_tokens");
});

Deno.test("llama.cpp's names count in OpenAI's routes too, as its own server has it", async () => {
  await using server = await startChat();
  const seeded = { ...RANDOM, seed: 3 };
  const [free] = await textsOf(server, seeded);
  const [held] = await textsOf(server, { ...seeded, repetition_penalty: 1.9 });
  assert(held !== free);
  assertEquals(await textsOf(server, { ...seeded, repeat_penalty: 1.9 }), [held]);
  const both = { ...seeded, repeat_penalty: 1.1, repetition_penalty: 1.9 };
  assertEquals(await textsOf(server, both), [held]);
  const messages = [{ role: "user", content: "Hello" }];
  const body = { messages, n_predict: 3, ...NO_END };
  const { usage } = await answerOf(server, "/v1/chat/completions", body);
  assertEquals(usage.completion_tokens, 3);
});

Deno.test("seeds have 64 bits, and each of them counts", async () => {
  await using server = await startServer();
  const bodyOf = (seed: string) => JSON.stringify(RANDOM).replace("{", `{"seed": ${seed} , `);
  const seeds = ["0", "9007199254740992", "9007199254740993", "9223372036854775807"];
  seeds.push("-9223372036854775807", "18446744073709551614", "18446744073709551615");
  const texts = await Promise.all(seeds.map((seed) => textsOf(server, bodyOf(seed))));
  assertEquals(new Set(texts.flat()).size, seeds.length, "each seed samples another text");
  assertEquals(await textsOf(server, bodyOf("-1")), texts.at(-1), "-1 is 2^64 - 1");
  assertEquals(await textsOf(server, bodyOf("18446744073709551616")), texts[0], "2^64 is 0");
  for (const wrong of ["18446744073709551617", "1e30", "-18446744073709551617"]) {
    const error = await readError(await server.post("/v1/completions", bodyOf(wrong)), 400);
    assertEquals(error.param, "seed", wrong);
  }
});

Deno.test("the digits of a seed are those of the field, whatever else the body has of that name", async () => {
  await using server = await startServer();
  const [wanted] = await textsOf(
    server,
    JSON.stringify(RANDOM).replace("{", '{"seed":9007199254740993,'),
  );
  const others = [
    '"user": "\\"seed\\": 5, \\"seed\\":9007199254740992"',
    '"metadata": {"seed": 7}',
    '"a\\"seed": 9007199254740992',
    '"seed": 9007199254740995',
  ];
  for (const other of others) {
    for (const spaces of ["", " \n"]) {
      const body = JSON.stringify(RANDOM)
        .replace("{", `{${other},"seed"${spaces}:${spaces}9007199254740993${spaces},`);
      assertEquals(await textsOf(server, body), [wanted], body);
    }
  }
});

Deno.test("no choice of a seed is sampled like a choice of another seed; the first is that of n 1", async () => {
  await using server = await startServer();
  const texts: string[] = [];
  for (let seed = -3; seed < 5; seed++) {
    const choices = await textsOf(server, { ...RANDOM, seed, n: 8 });
    assertEquals(choices.slice(0, 1), await textsOf(server, { ...RANDOM, seed }));
    const prompts = await textsOf(server, { ...RANDOM, prompt: ["World", "Hello"], seed, n: 4 });
    assertEquals(
      prompts.slice(4),
      choices.slice(0, 4),
      "a prompt's choices know of no other prompt",
    );
    texts.push(...choices);
  }
  assertEquals(new Set(texts).size, texts.length);
});

Deno.test("what a request does not say is as the model's file recommends, in every route", async () => {
  const recommended = [["general.sampling.temp", entry("float32", 0)]] as const;
  using file = await byteLevelModel(1, recommended);
  await using server = await startServer({ path: file.path, engine: { kvBlocks: 64 } });
  const messages = [{ role: "user", content: "Hello" }];
  const routes: [string, Record<string, unknown>][] = [
    ["/v1/completions", { prompt: "Hello", max_tokens: 12 }],
    ["/v1/chat/completions", { messages, max_tokens: 12 }],
    ["/v1/generate", { prompt: "Hello", max_tokens: 12 }],
    ["/infill", { input_prefix: "Hello", input_suffix: "b", n_predict: 12 }],
  ];
  for (const [path, asked] of routes) {
    const text = async (more: Record<string, unknown>) => {
      const answer = await (await server.post(path, { ...asked, ignore_eos: true, ...more }))
        .json();
      const [choice] = answer.choices ?? [answer];
      const text = choice.text ?? choice.message?.content ?? choice.output ?? choice.content;
      assert(text.length > 0, JSON.stringify(answer));
      return text;
    };
    const greedy = await text({ temperature: 0 });
    assertEquals([await text({}), await text({ temperature: null })], [greedy, greedy], path);
    assert(await text({ temperature: 2, seed: 1 }) !== greedy, "a request's own counts first");
  }
});

Deno.test("max_tokens 0 answers with the prompt where it is echoed, and nothing else, streamed or not", async () => {
  await using server = await startServer();
  const length = server.engine.tokenizer.encode("Hello").length;
  const usage = usageOf(length, 0);
  for (const echo of [true, false]) {
    const text = echo ? "Hello" : "";
    const body = { prompt: "Hello", max_tokens: 0, echo, n: 2 };
    const answer = await answerOf(server, "/v1/completions", body);
    const choice = { text, logprobs: null, finish_reason: "length" };
    assertEquals(answer.choices, [{ ...choice, index: 0 }, { ...choice, index: 1 }]);
    assertEquals(answer.usage, usage);
    const stream = { stream: true, stream_options: { include_usage: true } };
    const events = await readEvents(await server.post("/v1/completions", { ...body, ...stream }));
    const texts = ["", ""];
    const reasons: (string | null)[] = [null, null];
    for (const { choices: [one] } of events.slice(0, -1)) {
      texts[one.index] += one.text;
      reasons[one.index] ??= one.finish_reason;
    }
    assertEquals([texts, reasons], [[text, text], ["length", "length"]]);
    assertEquals(events.at(-1).usage, usage);
  }
  const generated = await server.post("/v1/generate", { prompt: "Hello", max_tokens: 0 });
  assertEquals(await generated.json(), { output: "", usage });
  const long = { prompt: "word ".repeat(200), max_tokens: 0 };
  assertEquals((await readError(await server.post("/v1/completions", long), 400)).param, "prompt");
});

Deno.test("the error of a prompt that is too long says what helps: a larger context only where there can be one", async () => {
  const prompt = "word ".repeat(100);
  await using small = await startServer({ engine: { contextTokens: 32 } });
  const { message } = await readError(await small.post("/v1/generate", { prompt }), 400);
  assertMatch(message, /context has 32, .*larger context \(--ctx, up to 128\)/);
  await using whole = await startServer();
  const error = await readError(await whole.post("/v1/generate", { prompt }), 400);
  assertMatch(
    error.message,
    /context has 128, .*Shorten the prompt: the model was trained for no more/,
  );
  assert(!error.message.includes("--ctx"), error.message);
});

Deno.test("stop_token_ids ends the output of every route before the token", async () => {
  await using server = await startServer();
  const body = { prompt: "Hello", max_tokens: 12, temperature: 0 };
  const free = (await answerOf(server, "/v1/completions", { ...body, logprobs: 0 })).choices[0];
  const generation = server.engine.generate({
    prompt: "Hello",
    maxTokens: 12,
    sampling: { temperature: 0 },
  });
  const ids = (await collect(generation)).tokens;
  const at = ids.findIndex((id, i) => i > 1 && ids.indexOf(id) === i);
  const offset: number = free.logprobs.text_offset[at];
  assert(at > 0 && offset < free.text.length, "no token to stop at");
  const text = [...free.text].slice(0, offset).join("");
  const stop_token_ids = [ids[at]];
  const held = { ...body, stop_token_ids };
  const [stopped] = (await answerOf(server, "/v1/completions", held)).choices;
  assertEquals([stopped.text, stopped.finish_reason], [text, "stop"]);
  assertEquals((await answerOf(server, "/v1/generate", held)).output, text);
  assertEquals((await answerOf(server, "/completion", { ...held, n_predict: 12 })).content, text);
  for (const nothing of [null, []]) {
    assertEquals(await textsOf(server, { ...body, stop_token_ids: nothing }), [free.text]);
  }
});

Deno.test("what other servers do and m40 does not is refused by name, and nothing of it is accepted", async () => {
  await using server = await startChat();
  const asked: Record<string, unknown> = {
    allowed_token_ids: [3],
    bad_words: [" was"],
    banned_strings: ["x"],
    banned_tokens: [3],
    custom_token_bans: "3,4",
    include_stop_str_in_output: true,
    logits_processors: ["x"],
    prompt_logprobs: 0,
    return_token_ids: true,
    return_tokens_as_token_ids: true,
    truncate_prompt_tokens: 3,
    use_beam_search: true,
  };
  const routes: [path: string, body: Record<string, unknown>][] = [
    ["/v1/completions", { prompt: "Hello", max_tokens: 1 }],
    ["/v1/chat/completions", {
      max_tokens: 1,
      messages: [{ role: "user", content: "Hello" }],
    }],
    ["/v1/responses", { input: "Hello", max_output_tokens: 1 }],
  ];
  for (const [path, body] of routes) {
    const fields = path.includes("chat") ? { ...asked, documents: [{ text: "x" }] } : asked;
    for (const [field, value] of Object.entries(fields)) {
      const error = await readError(await server.post(path, { ...body, [field]: value }), 400);
      assertEquals([error.param, error.code], [field, "unsupported"], path);
      assertMatch(error.message, new RegExp(`^${field} (is|are) not supported\\. [\\w/]`));
    }
    const empty = Object.fromEntries(
      Object.keys(fields).map((field, i) => [field, [null, [], ""][i % 3]]),
    );
    const none = { ...empty, use_beam_search: false, truncate_prompt_tokens: -1 };
    const response = await server.post(path, { ...body, ...none });
    assertEquals(response.status, 200, await response.text());
  }
});
