// /tokenize, /detokenize, /apply-template and /infill: what editors and tools of llama.cpp's server send.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { entry } from "../../engine/gguf/entries.ts";
import { AppliedTemplate } from "../../server/llama_cpp/apply_template.ts";
import { Detokenized, Tokenized, TokenizeRequest } from "../../server/llama_cpp/tokens.ts";
import { LlamaPiece, LlamaText } from "../../server/llama_cpp/text_answer.ts";
import { testBadRequests } from "../fixtures/bad_requests.ts";
import { byteLevelModel, type ModelFile } from "../fixtures/byte_level_model.ts";
import { gapTokens, shorten } from "../../server/request/fill_in_the_middle.ts";
import { startChat } from "../fixtures/server_chat_fixture.ts";
import {
  answerOf,
  NO_END,
  readError,
  startServer,
  type TestServer,
} from "../fixtures/server_fixture.ts";

async function tokenize(server: TestServer, body: unknown) {
  return Tokenized.parse(await answerOf(server, "/tokenize", body)).tokens;
}

Deno.test("/tokenize gives a text's tokens, special ones as asked, and /detokenize gives the text back", async () => {
  await using server = await startServer();
  const { tokenizer } = server.engine;
  const content = "Hello é 世界</s> 👩‍👩‍👧";
  const plain = { addSpecial: false };
  assertEquals(
    await tokenize(server, { content }),
    tokenizer.encode(content, { ...plain, parseSpecial: true }),
  );
  const literal = await tokenize(server, { content, parse_special: false }) as number[];
  assertEquals(literal, tokenizer.encode(content, { ...plain, parseSpecial: false }));
  assert(!literal.includes(tokenizer.eos!));
  const whole = await tokenize(server, { content, add_special: true }) as number[];
  assertEquals(whole[0], tokenizer.bos);
  assertEquals(await tokenize(server, { content: "" }), []);
  for (const tokens of [literal, await tokenize(server, { content })]) {
    const answer = Detokenized.parse(await answerOf(server, "/detokenize", { tokens }));
    assertEquals(answer.content, content);
  }
  assertEquals(await answerOf(server, "/detokenize", { tokens: [] }), {
    content: "",
    prompt: "",
  });
});

Deno.test("/tokenize with_pieces gives each token's text, or its bytes where they are no whole characters", async () => {
  await using server = await startServer();
  const content = "</s>Hello 世";
  const pieces = await tokenize(server, { content, with_pieces: true }) as {
    id: number;
    piece: string | number[];
  }[];
  assertEquals(pieces.map(({ id }) => id), await tokenize(server, { content }));
  assertEquals(pieces[0].piece, "</s>");
  assert(pieces.some(({ piece }) => Array.isArray(piece)), "the test's vocabulary has no 世");
  const bytes = pieces.slice(1).flatMap(({ piece }) =>
    typeof piece === "string" ? [...new TextEncoder().encode(piece)] : piece
  );
  assertMatch(new TextDecoder().decode(new Uint8Array(bytes)), /^ ?Hello 世$/);
});

Deno.test("/apply-template gives what a conversation's model would read", async () => {
  const template =
    "{% for m in messages %}[{{ m.role }}|{{ m.name }}|{{ m.content }}]{% endfor %}" +
    "{% if add_generation_prompt %}{{ reasoning_effort }} {{ flavour }}:{% endif %}";
  await using server = await startChat({}, template);
  const messages = [
    { role: "system", content: "S" },
    { role: "user", name: "Ann", content: "U" },
    { role: "assistant", content: [{ type: "refusal", refusal: "Never." }], tool_calls: [] },
    { role: "tool", tool_call_id: "1", content: [{ type: "text", text: "T" }] },
  ];
  const rendered = async (body: unknown) =>
    AppliedTemplate.parse(await answerOf(server, "/apply-template", body)).prompt;
  const head = "[system||S][user|Ann|U][assistant||Never.][tool||T]";
  const body = { messages, reasoning_effort: "low", chat_template_kwargs: { flavour: "mild" } };
  assertEquals(await rendered(body), head + "low mild:");
  const unfinished = [...messages, { role: "assistant", content: "I am" }];
  const open = { ...body, messages: unfinished, add_generation_prompt: false };
  assertMatch(await rendered(open), /\|I am$/);
  const error = await readError(await server.post("/apply-template", { messages: [] }), 400);
  assertEquals(error.param, "messages");
});

Deno.test("/apply-template takes the bodies of all dialects, and says what it found out about the template", async () => {
  const template = "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}" +
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('first') }}{% endif %}" +
    "[{{ m.role }}|{{ m.content }}]{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}{% endfor %}";
  await using server = await startChat({}, template);
  const called = { type: "function", function: { name: "f", arguments: "{}" } };
  const parameters = { type: "object", properties: {} };
  const bodies = {
    chat: {
      messages: [
        { role: "system", content: "S" },
        { role: "user", content: "U" },
        { role: "assistant", content: "A", tool_calls: [{ id: "1", ...called }] },
        { role: "tool", tool_call_id: "1", content: "R" },
      ],
      tools: [{ type: "function", function: { name: "f", parameters } }],
    },
    responses: {
      instructions: "S",
      input: [
        { role: "user", content: "U" },
        { role: "assistant", content: "A" },
        { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "1", output: "R" },
      ],
      tools: [{ type: "function", name: "f", parameters }],
    },
    anthropic: {
      system: "S",
      messages: [
        { role: "user", content: "U" },
        {
          role: "assistant",
          content: [{ type: "text", text: "A" }, {
            type: "tool_use",
            id: "1",
            name: "f",
            input: {},
          }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "R" }] },
      ],
      tools: [{ name: "f", input_schema: parameters }],
    },
    ollama: {
      messages: [
        { role: "system", content: "S" },
        { role: "user", content: "U" },
        {
          role: "assistant",
          content: "A",
          tool_calls: [{ function: { name: "f", arguments: {} } }],
        },
        { role: "tool", tool_name: "f", content: "R" },
      ],
      tools: [{ type: "function", function: { name: "f", parameters } }],
    },
  };
  const wanted =
    '{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}' +
    '[system|S][user|U][assistant|A]<tool_call>{"name": "f", "arguments": {}}</tool_call>[tool|R]';
  for (const [dialect, body] of Object.entries(bodies)) {
    const answer = AppliedTemplate.parse(await answerOf(server, "/apply-template", body));
    assertEquals([answer.prompt, answer.dialect], [wanted, dialect]);
    assertEquals(answer.call_format, "hermes");
    const { abilities } = answer;
    assertEquals([abilities.calls, abilities.tools, abilities.results], ["object", true, true]);
    assertEquals(
      [abilities.order.system_first, abilities.order.system_later, abilities.order.users_in_row],
      [true, false, true],
    );
  }
});

Deno.test("a conversation is rendered with the template of the file that it names, or the error lists them", async () => {
  const named = [
    "tokenizer.chat_template.tool_use",
    entry("string", "named {{ messages[0].content }}"),
  ] as const;
  using file = await byteLevelModel(1, [named]);
  await using server = await startServer({ path: file.path, engine: { kvBlocks: 64 } });
  const messages = [{ role: "user", content: "Hello" }];
  const { prompt } = await answerOf(server, "/apply-template", {
    messages,
    chat_template: "tool_use",
  });
  assertEquals(prompt, "named Hello");
  assertMatch((await answerOf(server, "/apply-template", { messages })).prompt, /im_start/);
  const chat = { messages, chat_template: "rag", max_tokens: 1 };
  const error = await readError(await server.post("/v1/chat/completions", chat), 400);
  assertEquals(error.param, "chat_template");
  assertMatch(error.message, /"rag".*tool_use/);
});

/** A server with a model that fills in the middle. */
async function startInfill(file: ModelFile, more: Parameters<typeof startServer>[0] = {}) {
  return await startServer({
    ...more,
    path: file.path,
    engine: { kvBlocks: 128, ...more.engine },
  });
}

/** Keeps the model from ending its text. */
function endless(server: TestServer) {
  const ends = [...server.engine.tokenizer.endTokens].map((token) => [token, -100]);
  return { temperature: 0, logit_bias: Object.fromEntries(ends) };
}

Deno.test("/infill asks with the gap's tokens around prefix, suffix, other files and the started text", async () => {
  using file = await byteLevelModel();
  await using server = await startInfill(file);
  const { tokenizer } = server.engine;
  const fim = tokenizer.fim!;
  const encode = (text: string) => tokenizer.encode(text, { addSpecial: false });
  const body = {
    input_prefix: "def add(a, b):<|im_end|>\n",
    input_suffix: "\nprint(add(1, 2))",
    input_extra: [{ filename: "a.py", text: "import os" }],
    prompt: "    return",
    n_predict: 6,
    ...endless(server),
  };
  const answer = LlamaText.parse(await answerOf(server, "/infill", body));
  const prompt = [
    fim.separator!,
    ...encode("a.py\nimport os"),
    fim.prefix,
    ...encode(body.input_prefix),
    fim.suffix,
    ...encode(body.input_suffix),
    fim.middle,
    ...encode("    return"),
  ];
  const same = { prompt, max_tokens: 6, ...endless(server) };
  const { choices: [{ text }] } = await answerOf(server, "/v1/completions", same);
  const { timings, ...others } = answer;
  assertEquals([timings.prompt_n, timings.cache_n, timings.predicted_n], [prompt.length, 0, 6]);
  assertEquals(others, {
    index: 0,
    id_slot: -1,
    tokens: [],
    stopping_word: "",
    content: text,
    stop: true,
    stop_type: "limit",
    model: "golden",
    tokens_predicted: 6,
    tokens_evaluated: prompt.length,
    tokens_cached: 0,
    truncated: false,
  });
  const stream = await (await server.post("/infill", { ...body, stream: true })).text();
  const events = stream.trimEnd().split("\n\n").map((one) => JSON.parse(one.slice(6)));
  const last = LlamaText.parse(events.pop());
  assertEquals([last.content, last.stop_type, last.tokens_predicted], ["", "limit", 6]);
  assertEquals(events.map((one) => LlamaPiece.parse(one).content).join(""), text);
});

Deno.test("/infill says what ended it: the model or a stop string", async () => {
  using file = await byteLevelModel();
  await using server = await startInfill(file);
  const [end] = server.engine.tokenizer.endTokens;
  const body = { input_prefix: "a", input_suffix: "b" };
  const ended = await answerOf(server, "/infill", { ...body, logit_bias: { [end]: 100 } });
  assertEquals([ended.stop_type, ended.content], ["eos", ""]);
  const { content } = await answerOf(server, "/infill", {
    ...body,
    n_predict: 20,
    ...endless(server),
  });
  const stop = content.slice(4, 7);
  const stopped = await answerOf(server, "/infill", { ...body, stop, ...endless(server) });
  assertEquals([stopped.stop_type, stopped.content], [
    "word",
    content.slice(0, content.indexOf(stop)),
  ]);
});

Deno.test("/infill keeps what is nearest to the gap where the context has no room for all", async () => {
  using file = await byteLevelModel();
  await using server = await startInfill(file, { engine: { contextTokens: 256, kvBlocks: 32 } });
  const before = Array.from({ length: 400 }, (_, i) => `a${i}`).join("\n");
  const after = Array.from({ length: 400 }, (_, i) => `z${i}`).join("\n");
  const body = {
    input_prefix: before,
    input_suffix: after,
    input_extra: [{ text: "other" }],
    n_predict: 8,
    ...endless(server),
  };
  const answer = LlamaText.parse(await answerOf(server, "/infill", body));
  assertEquals([answer.truncated, answer.tokens_predicted], [true, 8]);
  assertEquals(answer.tokens_evaluated, 256 - 8);
  // A short text leaves its share to the other, and to files from the last one on.
  const files = ["one", "two", "three"].map((text) => ({ filename: "f", text: text.repeat(20) }));
  const short = { ...body, input_suffix: "z", input_prefix: "a", input_extra: files };
  const some = LlamaText.parse(await answerOf(server, "/infill", short));
  assert(some.tokens_evaluated <= 256 - 8);
  const open = LlamaText.parse(
    await answerOf(server, "/infill", { ...short, n_predict: undefined }),
  );
  assertEquals(open.tokens_evaluated + open.tokens_predicted, 256);
});

Deno.test("suffix fills the gap between prompt and suffix, streamed or not, for texts and tokens", async () => {
  using file = await byteLevelModel();
  await using server = await startInfill(file);
  const { tokenizer } = server.engine;
  const fim = tokenizer.fim!;
  const encode = (text: string) => tokenizer.encode(text, { addSpecial: false });
  const tokens = [fim.prefix, ...encode("Once"), fim.suffix, ...encode(" end."), fim.middle];
  const rest = { max_tokens: 8, ...endless(server) };
  const wanted =
    (await answerOf(server, "/v1/completions", { prompt: tokens, ...rest })).choices[0];
  for (const prompt of ["Once", encode("Once")]) {
    const body = { prompt, suffix: " end.", ...rest };
    const { choices: [choice], usage } = await answerOf(server, "/v1/completions", body);
    assertEquals(choice, wanted);
    assertEquals(usage.prompt_tokens, tokens.length);
    const echoed = await answerOf(server, "/v1/completions", { ...body, echo: true });
    assertEquals(echoed.choices[0].text, "Once" + wanted.text);
  }
  const none = await answerOf(server, "/v1/completions", { prompt: "Once", suffix: "", ...rest });
  assertEquals(none.usage.prompt_tokens, encode("Once").length);
});

Deno.test("parse_special false takes the text of special tokens for text", async () => {
  await using server = await startServer();
  const tokens = async (parse_special?: boolean) => {
    const body = { prompt: "</s></s></s>", max_tokens: 1, parse_special, ...NO_END };
    return (await answerOf(server, "/v1/completions", body)).usage.prompt_tokens;
  };
  assertEquals([await tokens(), await tokens(true)], [4, 4]);
  assert(await tokens(false) > 4);
});

Deno.test("fields of a wrong kind are answered with 400 by their name, and a model without FIM tokens says so", async () => {
  await using server = await startServer({ engine: { chatTemplate: "{{ messages[0].content }}" } });
  await testBadRequests(server, "/tokenize", {}, [
    [{}, "content"],
    [{ content: 5 }, "content"],
    [{ content: "a", add_special: "no" }, "add_special"],
    [{ content: "a", parse_special: 1 }, "parse_special"],
    [{ content: "a", with_pieces: 1 }, "with_pieces"],
  ]);
  const tokens = [undefined, "1", [1.5], [-1], [352]];
  await testBadRequests(server, "/detokenize", {}, tokens.map((tokens) => [{ tokens }, "tokens"]));
  await testBadRequests(server, "/apply-template", {}, [
    [{}, "messages"],
    [{ messages: [{ role: "user", content: 5 }] }, "messages.0.content"],
  ]);
  await testBadRequests(server, "/infill", {}, [
    [{ input_prefix: 5 }, "input_prefix"],
    [{ input_suffix: [] }, "input_suffix"],
    [{ input_extra: "a" }, "input_extra"],
    [{ input_extra: [{ text: 5 }] }, "input_extra.0.text"],
    [{ n_predict: -2 }, "n_predict"],
    [{ prompt: 5 }, "prompt"],
    [{ stream: "yes" }, "stream"],
    [{ input_prefix: "a", input_suffix: "b" }, "input_suffix", undefined, "unsupported"],
  ]);
  const error = await readError(await server.post("/infill", { input_prefix: "a" }), 400);
  assertEquals(error.code, "unsupported");
  assertMatch(error.message, /vocabulary has no tokens/);
  assertEquals(TokenizeRequest.safeParse({ content: "a", unknown: 1 }).success, true);
});

Deno.test("a gap's prompt is shortened from its far ends: files first, then the longer text", () => {
  const fim = { prefix: 1, suffix: 2, middle: 3 };
  const run = (length: number, first: number) => Array.from({ length }, (_, i) => first + i);
  const prompt = {
    begin: [0],
    files: [run(6, 100), run(5, 200), run(4, 300)],
    before: run(40, 1000),
    after: run(40, 2000),
    started: [9],
    fim,
  };
  // One that starts, one that was started, and three between the parts.
  const lengths = (most: number, more: Partial<typeof prompt> = {}) => {
    const short = shorten({ ...prompt, ...more }, most);
    assert(gapTokens(short).length <= Math.max(most, 5), `${most}`);
    return [short.files.map(([first]) => first), short.before.length, short.after.length];
  };
  assertEquals(lengths(5 + 80 + 15), [[100, 200, 300], 40, 40]);
  assertEquals(lengths(5 + 80 + 14), [[200, 300], 40, 40]);
  assertEquals(lengths(5 + 80 + 3), [[], 40, 40]);
  assertEquals(lengths(5 + 60), [[], 40, 20]);
  assertEquals(lengths(5 + 40), [[], 30, 10]);
  assertEquals(lengths(5 + 40, { before: run(4, 1000) }), [[], 4, 36]);
  assertEquals(lengths(5 + 40, { after: run(4, 2000) }), [[], 36, 4]);
  assertEquals(lengths(5), [[], 0, 0]);
  assertEquals(lengths(0), [[], 0, 0]);
  const short = shorten(prompt, 5 + 40);
  assertEquals([short.before[0], short.before.at(-1)], [1010, 1039], "the end is nearest");
  assertEquals([short.after[0], short.after.at(-1)], [2000, 2009], "the start is nearest");
  const whole = gapTokens({ ...prompt, files: [[100]], before: [10], after: [20] });
  assertEquals(whole, [0, 100, 1, 10, 2, 20, 3, 9]);
});
