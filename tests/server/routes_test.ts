import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import {
  answerOf,
  MODEL,
  NO_END,
  readError,
  readEvents,
  startServer,
  usageOf,
} from "../fixtures/server_fixture.ts";

const PROMPT = [1, 139, 141, 328];

Deno.test("GET /health says that the server works, and HEAD does too", async () => {
  await using server = await startServer();
  const response = await fetch(server.url + "/health");
  assertEquals(response.status, 200);
  assertEquals(await response.json(), { status: "ok", running: 0, waiting: 0 });
  const head = await fetch(server.url + "/health", { method: "HEAD" });
  assertEquals([head.status, await head.text()], [200, ""]);
});

Deno.test("GET /v1/models lists the model; /v1/models/{id} shows it or lists what there is", async () => {
  await using server = await startServer({ app: { modelName: "org/golden:q8" } });
  const { object, data } = await (await fetch(server.url + "/v1/models")).json();
  assertEquals(object, "list");
  assertEquals(data.length, 1);
  const { created, ...rest } = data[0];
  assert(Math.abs(created - Date.now() / 1000) < 3600, "created is in seconds");
  assertEquals(rest, {
    id: "org/golden:q8",
    object: "model",
    owned_by: "m40",
    state: "loaded",
    context_length: 128,
    chat: false,
    size_bytes: null,
    expires_in_seconds: null,
  });
  for (const id of ["org/golden:q8", "org%2Fgolden%3Aq8"]) {
    assertEquals(await (await fetch(`${server.url}/v1/models/${id}`)).json(), data[0]);
  }
  const error = await readError(await fetch(server.url + "/v1/models/gpt-4"), 404);
  assertEquals(error.code, "model_not_found");
  assertMatch(error.message, /"gpt-4".*"org\/golden:q8"/);
});

Deno.test("a completion has OpenAI's shape, the model's own greedy text and its usage", async () => {
  await using server = await startServer();
  const golden = JSON.parse(
    await Deno.readTextFile(new URL("../data/golden/llama.json", import.meta.url)),
  );
  const response = await server.post("/v1/completions", {
    model: MODEL,
    prompt: golden.tokens,
    max_tokens: golden.greedy.length,
    temperature: 0,
  });
  assertEquals(response.headers.get("content-type"), "application/json");
  const { id, created, system_fingerprint, ...rest } = await response.json();
  assertMatch(id, /^cmpl-[0-9a-f]{32}$/);
  assert(Number.isInteger(created) && Math.abs(created - Date.now() / 1000) < 3600);
  assertMatch(system_fingerprint, /^m40-\d+\.\d+\.\d+$/);
  const text = server.engine.tokenizer.decode(golden.greedy, { continuing: true });
  assertNotEquals(text, "");
  assertEquals(rest, {
    object: "text_completion",
    model: MODEL,
    choices: [{ text, index: 0, logprobs: null, finish_reason: "length" }],
    usage: usageOf(golden.tokens.length, golden.greedy.length),
  });
});

Deno.test("max_tokens is 16 where a completion does not say, or says null", async () => {
  await using server = await startServer();
  for (const more of [{}, { max_tokens: null }]) {
    const response = await server.post("/v1/completions", { prompt: "Hello", ...NO_END, ...more });
    const { usage, choices } = await response.json();
    assertEquals([usage.completion_tokens, choices[0].finish_reason], [16, "length"]);
  }
});

Deno.test("a null counts as absent and an unknown field is accepted", async () => {
  await using server = await startServer();
  const wanted = await text({});
  const nulls =
    "model max_tokens temperature top_p top_k min_p n best_of stop seed logprobs echo " +
    "suffix stream stream_options presence_penalty frequency_penalty repetition_penalty user";
  const body: Record<string, unknown> = { store: false, reasoning: { effort: "low" } };
  for (const field of nulls.split(" ")) body[field] = null;
  assertEquals(await text({ ...body, temperature: 0 }), wanted);

  async function text(body: Record<string, unknown>): Promise<string> {
    const response = await server.post("/v1/completions", { prompt: "Hello", ...NO_END, ...body });
    const answer = await response.json();
    return answer.choices[0].text;
  }
});

Deno.test("a stream is OpenAI's byte for byte: events, [DONE], headers", async () => {
  await using server = await startServer();
  const body = { model: MODEL, prompt: PROMPT, max_tokens: 9, ...NO_END };
  const whole = await answerOf(server, "/v1/completions", body);
  const response = await server.post("/v1/completions", { ...body, stream: true }, {
    headers: { "Accept-Encoding": "gzip, br" },
  });
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  assertEquals(response.headers.get("cache-control"), "no-cache");
  assertEquals(response.headers.get("x-accel-buffering"), "no");
  assertEquals(response.headers.get("content-encoding"), null);
  const bytes = await response.text();
  const { id, created } = JSON.parse(bytes.slice(6, bytes.indexOf("\n\n")));
  const events = await readEvents(new Response(bytes));
  const event = (text: string, finish: string | null) =>
    `data: ${
      JSON.stringify({
        id,
        object: "text_completion",
        created,
        model: MODEL,
        system_fingerprint: whole.system_fingerprint,
        choices: [{ text, index: 0, logprobs: null, finish_reason: finish }],
      })
    }\n\n`;
  const texts: string[] = events.map(({ choices }) => choices[0].text);
  assert(texts.length > 2, "the text comes in pieces");
  const last = texts.pop()!;
  assertEquals(
    bytes,
    texts.map((text) => event(text, null)).join("") + event(last, "length") + "data: [DONE]\n\n",
  );
  assertEquals(texts.join("") + last, whole.choices[0].text);
});

Deno.test("stream_options.include_usage gives the usage in an event of its own, and null before", async () => {
  await using server = await startServer();
  const body = { prompt: PROMPT, max_tokens: 5, ...NO_END, stream: true };
  const events = await readEvents(
    await server.post("/v1/completions", { ...body, stream_options: { include_usage: true } }),
  );
  const last = events.pop();
  assertEquals(last.choices, []);
  assertEquals(last.usage, usageOf(4, 5));
  assert(events.length > 0);
  for (const event of events) assertEquals(event.usage, null);
  for (const options of [undefined, null, {}, { include_usage: false }]) {
    const without = await readEvents(
      await server.post("/v1/completions", { ...body, stream_options: options }),
    );
    for (const event of without) assert(!("usage" in event));
  }
});

Deno.test("stop strings end the text before them, streamed or not", async () => {
  await using server = await startServer();
  const body = { prompt: PROMPT, max_tokens: 40, ...NO_END };
  const { choices: [{ text }] } = await answerOf(server, "/v1/completions", body);
  // Some string out of the middle of the text, and the text before its first occurrence.
  const middle = [...text].slice(5, 8).join("");
  const wanted = text.slice(0, text.indexOf(middle));
  for (const stop of [middle, [middle], ["not in the text", middle], [middle, middle]]) {
    const response = await server.post("/v1/completions", { ...body, stop });
    const { choices: [choice] } = await response.json();
    assertEquals([choice.text, choice.finish_reason], [wanted, "stop"]);
    const events = await readEvents(
      await server.post("/v1/completions", { ...body, stop, stream: true }),
    );
    assertEquals(events.map(({ choices }) => choices[0].text).join(""), wanted);
    assertEquals(events.at(-1).choices[0].finish_reason, "stop");
  }
});

Deno.test("echo puts the prompt in front, of text and of tokens, streamed or not", async () => {
  await using server = await startServer();
  const { tokenizer } = server.engine;
  for (const prompt of ["Hello é", tokenizer.encode("Hello é")]) {
    const body = { prompt, max_tokens: 4, ...NO_END };
    const { choices: [{ text }] } = await answerOf(server, "/v1/completions", body);
    const echoed = await server.post("/v1/completions", { ...body, echo: true });
    assertEquals((await echoed.json()).choices[0].text, "Hello é" + text);
    const events = await readEvents(
      await server.post("/v1/completions", { ...body, echo: true, stream: true }),
    );
    assertEquals(events[0].choices[0].text, "Hello é");
    assertEquals(events.map(({ choices }) => choices[0].text).join(""), "Hello é" + text);
  }
});

Deno.test("several prompts and n give choices in order, each as if asked for alone", async () => {
  await using server = await startServer();
  const alone = async (prompt: unknown, seed: number) => {
    const body = { prompt, max_tokens: 6, seed, temperature: 1.5 };
    const answer = await answerOf(server, "/v1/completions", body);
    return { text: answer.choices[0].text as string, usage: answer.usage };
  };
  for (
    const prompts of [["Hello", "World"], [[1, 5, 6], [1, 7, 8, 9]]] as (string | number[])[][]
  ) {
    const body = { prompt: prompts, n: 2, seed: 7, max_tokens: 6, temperature: 1.5 };
    const answer = await answerOf(server, "/v1/completions", body);
    const first = await alone(prompts[0], 7);
    const second = await alone(prompts[1], 7);
    const choices: { text: string; index: number }[] = answer.choices;
    assertEquals(choices.map(({ index }) => index), [0, 1, 2, 3]);
    assertEquals([choices[0].text, choices[2].text], [first.text, second.text]);
    assertNotEquals(choices[0].text, choices[1].text);
    assertEquals(
      answer.usage.prompt_tokens,
      first.usage.prompt_tokens + second.usage.prompt_tokens,
      "a prompt counts once",
    );
    const events = await readEvents(
      await server.post("/v1/completions", { ...body, stream: true }),
    );
    const texts = ["", "", "", ""];
    for (const { choices: [{ index, text }] } of events) texts[index] += text;
    assertEquals(texts, choices.map(({ text }) => text));
  }
});

Deno.test("one seed gives one text; logit_bias forces and forbids tokens", async () => {
  await using server = await startServer();
  const text = async (more: Record<string, unknown>) => {
    const body = { prompt: "Hello", max_tokens: 12, temperature: 2, ...more };
    return (await answerOf(server, "/v1/completions", body)).choices[0].text as string;
  };
  assertEquals(await text({ seed: 11 }), await text({ seed: 11 }));
  assertNotEquals(await text({ seed: 11 }), await text({ seed: 12 }));
  const token = 300;
  const forced = await text({ logit_bias: { [token]: 100 } });
  const { tokenizer } = server.engine;
  assertEquals(forced, tokenizer.decode(Array(12).fill(token), { continuing: true }));
});

Deno.test("logprobs are in the shape of legacy completions, and alike when streamed", async () => {
  await using server = await startServer();
  const body = { prompt: PROMPT, max_tokens: 24, ...NO_END };
  const { choices: [{ text, logprobs }] } = await answerOf(server, "/v1/completions", {
    ...body,
    logprobs: 3,
  });
  const { tokens, token_logprobs, top_logprobs, text_offset } = logprobs;
  assertEquals(
    [tokens.length, token_logprobs.length, top_logprobs.length, text_offset.length],
    [24, 24, 24, 24],
  );
  assertEquals(text_offset[0], 0);
  const characters = [...text];
  for (let i = 0; i < 24; i++) {
    assert(token_logprobs[i] <= 0);
    const likeliest: [string, number][] = Object.entries(top_logprobs[i]);
    assert(likeliest.length === 3 || likeliest.length === 4, JSON.stringify(likeliest));
    assertEquals(top_logprobs[i][tokens[i]], token_logprobs[i]);
    if (!tokens[i].startsWith("bytes:")) {
      const at = text_offset[i];
      assertEquals(characters.slice(at, at + [...tokens[i]].length).join(""), tokens[i]);
    }
  }
  const events = await readEvents(
    await server.post("/v1/completions", { ...body, logprobs: 3, stream: true }),
  );
  const streamed = events.map(({ choices }) => choices[0].logprobs).filter((one) => one !== null);
  for (const key of ["tokens", "token_logprobs", "top_logprobs", "text_offset"]) {
    assertEquals(streamed.flatMap((one) => one[key]), logprobs[key], key);
  }
  const none = await answerOf(server, "/v1/completions", { ...body, logprobs: 0 });
  assertEquals(none.choices[0].logprobs.token_logprobs, token_logprobs);
  assertEquals(Object.keys(none.choices[0].logprobs.top_logprobs[0]), [tokens[0]]);
});

Deno.test("the likeliest token of logprobs is what temperature 0 takes", async () => {
  await using server = await startServer();
  const body = { prompt: PROMPT, max_tokens: 8, temperature: 0, logprobs: 5 };
  const { choices: [{ logprobs }] } = await answerOf(server, "/v1/completions", body);
  for (const [i, likeliest] of logprobs.top_logprobs.entries()) {
    const values = Object.values(likeliest) as number[];
    assertEquals(logprobs.token_logprobs[i], Math.max(...values));
  }
});

Deno.test("POST /v1/generate gives the output, or streams it", async () => {
  await using server = await startServer();
  const body = { prompt: "Hello", max_tokens: 10, ...NO_END };
  const { output, usage, ...rest } = await answerOf(server, "/v1/generate", body);
  assertEquals(rest, {});
  assertEquals(usage.completion_tokens, 10);
  assertEquals(usage.total_tokens, usage.prompt_tokens + 10);
  const completion = await answerOf(server, "/v1/completions", body);
  assertEquals(output, completion.choices[0].text);
  const events = await readEvents(await server.post("/v1/generate", { ...body, stream: true }));
  assert(events.length > 2);
  for (const event of events) assertEquals(Object.keys(event), ["output"]);
  assertEquals(events.map((event) => event.output).join(""), output);
});

Deno.test("POST /v1/generate without max_tokens goes on to the end of the context", async () => {
  await using server = await startServer();
  const { usage } = await (await server.post("/v1/generate", { prompt: "Hello", ...NO_END }))
    .json();
  assertEquals(usage.total_tokens, 128);
});
