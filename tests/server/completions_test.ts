// What /v1/completions does beyond the plain: best_of, echo with log-probabilities, suffix.
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { Engine } from "../../engine/mod.ts";
import { Completion } from "../../server/openai/completion_schemas.ts";
import {
  answerOf,
  NO_END,
  openRequest,
  readError,
  readEvents,
  startServer,
  type TestServer,
  usageOf,
} from "../fixtures/server_fixture.ts";
import { soon, until } from "../fixtures/waiting.ts";

/** Sampled with all chances open. */
const RANDOM = { prompt: "Hello", max_tokens: 8, temperature: 1.5, seed: 3 };

async function complete(server: TestServer, body: unknown): Promise<Completion> {
  return Completion.parse(await answerOf(server, "/v1/completions", body));
}

const mean = (values: readonly (number | null)[]) =>
  values.reduce<number>((sum, value) => sum + value!, 0) / values.length;

Deno.test("best_of gives the n candidates with the highest mean log-probability, best first", async () => {
  await using server = await startServer();
  for (const prompt of ["Hello", ["Hello", "World"]]) {
    const body = { ...RANDOM, prompt };
    const all = await complete(server, { ...body, n: 7, logprobs: 0 });
    const wanted: string[] = [];
    for (let first = 0; first < all.choices.length; first += 7) {
      const own = all.choices.slice(first, first + 7).sort((a, b) =>
        mean(b.logprobs!.token_logprobs) - mean(a.logprobs!.token_logprobs)
      );
      wanted.push(...own.slice(0, 2).map(({ text }) => text));
    }
    const best = await complete(server, { ...body, n: 2, best_of: 7 });
    assertEquals(best.choices.map(({ text }) => text), wanted);
    assertEquals(best.choices.map(({ index }) => index), wanted.map((_, index) => index));
    assertEquals(best.choices[0].logprobs, null, "they are for requests that ask for them");
    assertEquals(best.usage, all.usage, "what candidates took counts, chosen or not");
    const withLogprobs = await complete(server, { ...body, n: 2, best_of: 7, logprobs: 1 });
    assertEquals(withLogprobs.choices.map(({ text }) => text), wanted);
    assert(withLogprobs.choices[0].logprobs !== null);
  }
});

Deno.test("best_of equal to n is n; a candidate that ends at once is the last to be chosen", async () => {
  await using server = await startServer();
  const plain = await complete(server, { ...RANDOM, n: 2 });
  const same = await complete(server, { ...RANDOM, n: 2, best_of: 2 });
  assertEquals(same.choices, plain.choices);
  const { eos } = server.engine.tokenizer;
  const ends = { ...RANDOM, max_tokens: 1, logit_bias: { [eos!]: 6 } };
  const some = await complete(server, { ...ends, n: 8 });
  const texts = some.choices.map(({ text, finish_reason }) => [text, finish_reason]);
  assert(texts.some(([, reason]) => reason === "stop"), JSON.stringify(texts));
  assert(texts.some(([, reason]) => reason === "length"), JSON.stringify(texts));
  const best = await complete(server, { ...ends, best_of: 8 });
  assertEquals(best.choices[0].finish_reason, "length");
  assertEquals(best.usage, usageOf(some.usage!.prompt_tokens, 8));
});

/** What the model itself says of a text's tokens after the first, by the logits of every position. */
async function evaluated(engine: Engine, tokens: readonly number[]): Promise<number[]> {
  const values: number[] = [];
  for await (const { position, logits } of engine.evaluate(tokens)) {
    if (position + 1 === tokens.length) break;
    const most = logits.reduce((a, b) => Math.max(a, b));
    const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0);
    values.push(logits[tokens[position + 1]] - most - Math.log(sum));
  }
  return values;
}

Deno.test("echo with logprobs gives the prompt's tokens theirs, as the model evaluates them", async () => {
  await using server = await startServer({ engine: { parallel: 2 } });
  const { engine } = server;
  const { tokenizer } = engine;
  // With an end token and a part of a character in the middle.
  const text = "Hello world é</s> and 世界";
  const encoded = tokenizer.encode(text, { parseSpecial: true });
  for (const prompt of [text, encoded]) {
    const body = { prompt, max_tokens: 6, ...NO_END };
    const plain = await complete(server, { ...body, logprobs: 2 });
    // As many as vLLM reports.
    const most = await complete(server, { ...body, logprobs: 20 });
    const { top_logprobs: many } = most.choices[0].logprobs!;
    assert(many.every((top) => Object.keys(top!).length > 15), "not 20 of each token");
    const { choices: [choice], usage } = await complete(server, {
      ...body,
      logprobs: 2,
      echo: true,
    });
    const shown = typeof prompt === "string" ? text : tokenizer.decode(encoded);
    assertEquals(choice.text, shown + plain.choices[0].text);
    assertEquals(usage!.prompt_tokens, encoded.length);
    const { tokens, token_logprobs, top_logprobs, text_offset } = choice.logprobs!;
    const count = encoded.length;
    assertEquals(tokens.length, count + 6);
    assertEquals([token_logprobs[0], top_logprobs[0]], [null, null]);
    const wanted = await evaluated(engine, encoded);
    for (const [i, value] of wanted.entries()) {
      assertAlmostEquals(token_logprobs[i + 1]!, value, 1e-4);
    }
    for (const [i, likeliest] of top_logprobs.slice(1).entries()) {
      assertEquals(likeliest![tokens[i + 1]], token_logprobs[i + 1]);
      assert([2, 3].includes(Object.keys(likeliest!).length));
    }
    assertEquals(token_logprobs.slice(count), plain.choices[0].logprobs!.token_logprobs);
    assertEquals(tokens[0], tokenizer.tokenText(tokenizer.bos!));
    const characters = [...choice.text];
    for (const [i, token] of tokens.entries()) {
      const at = text_offset[i];
      assert(i === 0 || at >= text_offset[i - 1], "offsets rise");
      if (token.startsWith("bytes:") || tokenizer.isControl(encoded[i] ?? tokenizer.bos!)) continue;
      // The space that encoding puts before a text is part of a token and not of the text.
      const own = [...token.replace(at === 0 ? /^ / : /^$/, "")];
      assertEquals(characters.slice(at, at + own.length).join(""), own.join(""), token);
    }
  }
});

Deno.test("echo with logprobs is alike when streamed, for several prompts and answers, and without any", async () => {
  await using server = await startServer({ engine: { parallel: 4 } });
  const prompts = ["Hello world", "The sun", "a"];
  for (const max_tokens of [4, 0]) {
    const body = { prompt: prompts, max_tokens, n: 2, seed: 5, logprobs: 1, echo: true };
    const whole = await complete(server, body);
    assertEquals(whole.choices.length, 6);
    const events = await readEvents(
      await server.post("/v1/completions", { ...body, stream: true }),
    );
    for (const { index, text, logprobs, finish_reason } of whole.choices) {
      const own = events.flatMap(({ choices }) => choices).filter((one) => one.index === index);
      assertEquals(own.map((one) => one.text).join(""), text);
      assertEquals(own.at(-1).finish_reason, finish_reason);
      for (const key of ["tokens", "token_logprobs", "top_logprobs", "text_offset"] as const) {
        assertEquals(own.flatMap((one) => one.logprobs?.[key] ?? []), logprobs![key]);
      }
      const prompt = prompts[index >> 1];
      assertEquals(
        logprobs!.tokens.length,
        server.engine.tokenizer.encode(prompt).length + max_tokens,
      );
      const alone = await complete(server, { ...body, prompt });
      assertEquals(alone.choices[index & 1].logprobs, logprobs);
    }
  }
  const { choices: [one] } = await complete(server, {
    prompt: [5],
    max_tokens: 0,
    logprobs: 3,
    echo: true,
  });
  assertEquals(one.logprobs!.token_logprobs, [null], "a prompt of one token has nothing to score");
  const best = {
    prompt: "Hello",
    best_of: 4,
    n: 2,
    seed: 1,
    max_tokens: 3,
    logprobs: 0,
    echo: true,
  };
  for (const { text, logprobs } of (await complete(server, best)).choices) {
    assert(text.startsWith("Hello"));
    assertEquals(logprobs!.token_logprobs[0], null);
  }
});

/** A prompt of that many tokens. */
const promptOf = (length: number) => Array.from({ length }, (_, i) => 5 + i % 200);

Deno.test("a client that leaves while its prompt is scored frees the engine", async () => {
  await using server = await startServer({ contextLength: 8192 });
  for (const stream of [true, false]) {
    const prompt = promptOf(8000);
    const body = { prompt, max_tokens: 0, logprobs: 1, echo: true, stream };
    using connection = await openRequest(server.port, "/v1/completions", body);
    await until("it is scored", () => server.engine.slots()[0]?.generatedTokens > 3);
    connection.close();
    await until("the engine is free", () => server.engine.status().running === 0);
    assert(server.engine.status().generatedTokens < 16_000, "it was not scored to its end");
  }
});

Deno.test("a deadline ends the scoring of a prompt, and a drain does", async () => {
  const body = { prompt: promptOf(8000), max_tokens: 0, logprobs: 1, echo: true };
  await using server = await startServer({ contextLength: 8192, app: { timeoutMs: 200 } });
  const error = await readError(await server.post("/v1/completions", body), 504);
  assertEquals(error.code, "timeout");
  await until("the engine is free", () => server.engine.status().running === 0);
  await using drained = await startServer({ contextLength: 8192, drainMs: 100 });
  const answer = drained.post("/v1/completions", body);
  await until("it is scored", () => drained.engine.status().running === 1);
  drained.stop();
  assertEquals((await readError(await soon("its end", answer), 503)).code, "cancelled");
});

Deno.test("a prompt is scored where the KV cache is full and slots are taken: it waits, and others go on", async () => {
  await using server = await startServer({ engine: { parallel: 2, kvBlocks: 5 } });
  const prompt = promptOf(60);
  const asked = { prompt, max_tokens: 4, logprobs: 0, echo: true, ...NO_END };
  const alone = await complete(server, asked);
  const long = (seed: number) => ({
    prompt: promptOf(40 + seed),
    max_tokens: 80 - seed,
    ...NO_END,
  });
  const answers = await Promise.all([
    complete(server, long(0)),
    complete(server, long(1)),
    complete(server, asked),
    complete(server, { ...asked, stream: undefined }),
    complete(server, long(2)),
  ]);
  for (const answer of [answers[2], answers[3]]) assertEquals(answer.choices, alone.choices);
  assertEquals(answers[0].usage!.completion_tokens, 80);
  await server.engine.idle();
  const { running, waiting, usedKvBlocks: usedPages } = server.engine.status();
  assertEquals([running, waiting, usedPages], [0, 0, 0]);
});

Deno.test("when too many wait, a prompt that is to be scored starts nothing", async () => {
  await using server = await startServer({ contextLength: 65_536, engine: { maxQueue: 1 } });
  using _first = await openRequest(server.port, "/v1/completions", {
    prompt: "Hello",
    max_tokens: 60_000,
    ...NO_END,
  });
  await until("it runs", () => server.engine.status().running === 1);
  // The generation would find a place to wait, the scoring would not.
  const body = { prompt: "Hello", logprobs: 1, echo: true };
  const error = await readError(await server.post("/v1/completions", body), 429);
  assertEquals(error.code, "queue_full");
  assertEquals(server.engine.status().waiting, 0);
});
