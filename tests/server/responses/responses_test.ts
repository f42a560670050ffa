// OpenAI's responses: answers and streams field by field, and what of a request reaches the model.
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { chat, completionOf, HELLO, startChat } from "../../fixtures/server_chat_fixture.ts";
import {
  answerOf,
  MODEL,
  openRequest,
  RawClient,
  rawPost,
  readError,
} from "../../fixtures/server_fixture.ts";
import {
  assembled,
  readResponseEvents,
  respond,
  responseEvents,
  RESPONSES,
  responsesBody,
  textOf,
  withoutIds,
} from "../../fixtures/server_responses_fixture.ts";
import { until } from "../../fixtures/waiting.ts";

const said = (role: string, content: unknown) => ({ role, content });
const text = (text: string) => ({ type: "input_text", text });

Deno.test("a response has the text of OpenAI's chat, and the fields that OpenAI sends", async () => {
  await using server = await startChat();
  const { choices: [{ message: { content } }], usage } = await chat(server, { max_tokens: 6 });
  assertEquals(withoutIds(await respond(server)), {
    object: "response",
    status: "incomplete",
    error: null,
    incomplete_details: { reason: "max_output_tokens" },
    model: MODEL,
    output: [{
      type: "message",
      status: "incomplete",
      role: "assistant",
      content: [{ type: "output_text", text: content, annotations: [], logprobs: [] }],
    }],
    usage: {
      input_tokens: usage.prompt_tokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 6,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.prompt_tokens + 6,
    },
    instructions: null,
    previous_response_id: null,
    max_output_tokens: 6,
    max_tool_calls: null,
    metadata: {},
    parallel_tool_calls: true,
    reasoning: { effort: null, summary: null },
    store: true,
    temperature: 0,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    background: false,
    prompt_cache_key: null,
    safety_identifier: null,
    service_tier: "default",
  });
});

Deno.test("a stream's events are the published ones in their order, and make the whole response", async () => {
  await using server = await startChat();
  const events = await responseEvents(server);
  const types = events.map(({ type }) => type).filter((one) =>
    one !== "response.output_text.delta"
  );
  assertEquals(types, [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.incomplete",
  ]);
  assert(events.length > types.length + 1, "the text comes in pieces");
  assertEquals(withoutIds(assembled(events)), withoutIds(await respond(server)));
});

Deno.test("a response that the model ends is completed, a stop string's too", async () => {
  await using server = await startChat();
  const [letter] = textOf(await respond(server)).slice(1);
  const more = { stop: [letter], max_output_tokens: 6 };
  const whole = await respond(server, more);
  assertEquals([whole.status, whole.incomplete_details], ["completed", null]);
  assert(!textOf(whole).includes(letter));
  const end = assembled(await responseEvents(server, more));
  assertEquals(withoutIds(end), withoutIds(whole));
});

Deno.test("an answer of nothing is a message of nothing, so that clients find one", async () => {
  await using server = await startChat();
  const ends = { logit_bias: { "2": 100 } };
  const whole = await respond(server, ends);
  assertEquals([whole.status, whole.output.length, textOf(whole)], ["completed", 1, ""]);
  assertEquals(withoutIds(assembled(await responseEvents(server, ends))), withoutIds(whole));
});

Deno.test("reasoning is an item of its own, before the message", async () => {
  await using server = await startChat();
  const more = {
    chat_template_kwargs: { enable_thinking: true },
    reasoning_budget: 3,
    max_output_tokens: 20,
  };
  const whole = await respond(server, more);
  assertEquals(whole.output.map(({ type }) => type), ["reasoning", "message"]);
  const [reasoning] = whole.output;
  assert(reasoning.type === "reasoning" && reasoning.content[0].text !== "");
  assertEquals([reasoning.status, reasoning.summary, "encrypted_content" in reasoning], [
    "completed",
    [],
    false,
  ]);
  assert(whole.usage!.output_tokens_details.reasoning_tokens >= 3);
  assertEquals(withoutIds(assembled(await responseEvents(server, more))), withoutIds(whole));
  // A budget that holds for all of the answer cuts it off in its reasoning.
  const cut = await respond(server, { ...more, reasoning_budget: 50, max_output_tokens: 3 });
  assertEquals(cut.output.map(({ type, status }) => [type, status]), [["reasoning", "incomplete"]]);
});

Deno.test("reasoning comes back as plain text, or as what include gave of it; another server's is left out", async () => {
  const template =
    "{% for m in messages %}{{ m.role[0] }}:{{ m.reasoning_content }}|{{ m.content }}\n" +
    "{% endfor %}a:{% if enable_thinking %}<think>{% endif %}";
  await using server = await startChat({}, template);
  const first = await respond(server, {
    chat_template_kwargs: { enable_thinking: true },
    include: ["reasoning.encrypted_content"],
    reasoning_budget: 2,
    max_output_tokens: 16,
  });
  const [reasoning] = first.output;
  assert(reasoning.type === "reasoning" && reasoning.encrypted_content !== undefined);
  const thought = reasoning.content[0].text;
  const asked = async (...items: unknown[]) =>
    textOf(await respond(server, { input: [...HELLO, ...items, said("user", "b")] }));
  const wanted = await completionOf(server, `u:|Hello\na:${thought}|A\nu:|b\na:`);
  const { encrypted_content } = reasoning;
  for (
    const item of [
      reasoning,
      { type: "reasoning", summary: [], encrypted_content },
      { type: "reasoning", summary: [{ type: "summary_text", text: thought }] },
      { type: "reasoning", summary: null, content: [{ type: "output_text", text: thought }] },
    ]
  ) {
    assertEquals(await asked(item, said("assistant", "A")), wanted, JSON.stringify(item));
  }
  const none = await completionOf(server, "u:|Hello\na:|A\nu:|b\na:");
  assertNotEquals(none, wanted);
  for (const encrypted_content of ["gAAAA", "m40:%", null]) {
    const foreign = { type: "reasoning", summary: [], encrypted_content };
    assertEquals(await asked(foreign, said("assistant", "A")), none);
  }
});

Deno.test("items become the messages that the template wants", async () => {
  await using server = await startChat();
  const cases: [Record<string, unknown>, string][] = [
    [{ input: "Hello" }, "u:Hello\na:"],
    [{ input: [said("user", "Hello")] }, "u:Hello\na:"],
    [{ input: [said("user", [text("b"), text("c")])] }, "u:b\nc\na:"],
    [{ input: "b", instructions: "I" }, "s:I\nu:b\na:"],
    // The developer speaks for the system.
    [
      { input: [said("developer", "D"), said("user", "b")], instructions: "I" },
      "s:I\ns:D\nu:b\na:",
    ],
    [{ input: [said("user", "b"), said("user", "c")] }, "u:b\nu:c\na:"],
    [{
      input: [
        said("user", "b"),
        {
          ...said("assistant", [{ type: "output_text", text: "c", annotations: [] }]),
          type: "message",
        },
        said("assistant", [{ type: "refusal", refusal: "no" }]),
        said("user", "d"),
      ],
    }, "u:b\na:c\nno\nu:d\na:"],
  ];
  for (const [more, prompt] of cases) {
    assertEquals(textOf(await respond(server, more)), await completionOf(server, prompt), prompt);
  }
});

Deno.test("what a developer says between others is the user's where the template wants none there", async () => {
  const template = "{% for m in messages %}{% if m.role == 'system' and not loop.first %}" +
    "{{ raise_exception('first alone') }}{% endif %}{{ m.role[0] }}:{{ m.content }}\n{% endfor %}a:";
  await using server = await startChat({}, template);
  const input = [said("user", "b"), said("developer", "D"), said("user", "c")];
  const made = await respond(server, { input, instructions: "I" });
  assertEquals(
    textOf(made),
    await completionOf(server, "s:I\nu:b\n\n<system-reminder>\nD\n</system-reminder>\n\nc\na:"),
  );
});

Deno.test("truncation auto leaves out the oldest turns, and nothing where all fits", async () => {
  await using server = await startChat();
  const turns = Array.from({ length: 20 }, (_, i) => [
    said("user", `question ${i}`),
    said("assistant", `answer ${i}`),
  ]).flat();
  const input = [...turns, said("user", "last")];
  const long = responsesBody({ input, instructions: "I", max_output_tokens: 3 });
  const { code } = await readError(await server.post(RESPONSES, long), 400);
  assertEquals(code, "context_length_exceeded");
  const cut = await respond(server, { ...long, truncation: "auto" });
  assertEquals(cut.truncation, "auto");
  const { input_tokens } = cut.usage!;
  assert(input_tokens <= 125, "there is room for the answer");
  const prompts = await Promise.all(
    Array.from({ length: 20 }, (_, from) => input.slice(2 * from)).map(async (rest) => {
      const counted = await server.post(RESPONSES + "/input_tokens", {
        input: rest,
        instructions: "I",
      });
      return counted.status === 200 ? (await counted.json()).input_tokens as number : Infinity;
    }),
  );
  assertEquals(
    input_tokens,
    Math.max(...prompts.filter((tokens) => tokens <= 125)),
    "no turn too many",
  );
  // One turn that is too long by itself is as it is.
  const alone = { input: "word ".repeat(500), truncation: "auto" };
  const refused = await readError(await server.post(RESPONSES, responsesBody(alone)), 400);
  assertEquals(refused.code, "context_length_exceeded");
  const short = await respond(server, { truncation: "auto" });
  assertEquals(textOf(short), textOf(await respond(server)));
});

Deno.test("the text is held to text.format, and shown with it", async () => {
  await using server = await startChat();
  const schema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
  const format = { type: "json_schema", name: "n", schema, strict: true };
  const made = await respond(server, { text: { format }, max_output_tokens: 60, logit_bias: null });
  assertEquals(made.text.format, format);
  assert(/^\s*\{\s*"a"\s*:/.test(textOf(made)), textOf(made));
  const object = {
    text: { format: { type: "json_object" } },
    max_output_tokens: 4,
    logit_bias: null,
  };
  assert(textOf(await respond(server, object)).trimStart().startsWith("{"));
  // vLLM's and llama.cpp's names, and chat's, are known here too; but one at a time.
  const choice = await respond(server, {
    choice: ["yes", "no"],
    logit_bias: null,
    max_output_tokens: 9,
  });
  assert(["yes", "no"].includes(textOf(choice)), textOf(choice));
  const both = await server.post(RESPONSES, responsesBody({ text: { format }, choice: ["a"] }));
  assertEquals((await readError(both, 400)).param, "text.format");
});

Deno.test("log-probabilities are those of OpenAI's chat, whole and streamed", async () => {
  await using server = await startChat();
  const more = { include: ["message.output_text.logprobs"], top_logprobs: 2 };
  const whole = await respond(server, more);
  const { choices: [{ logprobs }] } = await chat(server, { logprobs: true, top_logprobs: 2 });
  const [item] = whole.output;
  assert(item.type === "message");
  // Here a control token has no bytes; chat says null.
  const wanted = JSON.stringify(logprobs!.content).replaceAll('"bytes":null', '"bytes":[]');
  assertEquals(item.content[0].logprobs, JSON.parse(wanted));
  const events = await responseEvents(server, more);
  const logprobsOfEvents = events.flatMap((event) =>
    event.type === "response.output_text.delta" ? event.logprobs : []
  );
  assertEquals(
    logprobsOfEvents.map(({ logprob }) => logprob),
    logprobs!.content.map(({ logprob }) => logprob),
  );
  assertEquals(withoutIds(assembled(events)), withoutIds(whole));
});

Deno.test("effort reaches the template, and none of it ends the reasoning at once", async () => {
  const template = "{% for m in messages %}{{ m.content }}{% endfor %}" +
    "[{{ reasoning_effort }}{{ enable_thinking }}]" +
    "{% if enable_thinking is not defined or enable_thinking %}<think>{% endif %}";
  await using server = await startChat({}, template);
  const tokens = async (effort: string) => {
    const body = { input: "Hello", reasoning: { effort } };
    return (await answerOf(server, RESPONSES + "/input_tokens", body)).input_tokens;
  };
  const counted = async (prompt: string) => {
    const body = { content: prompt, add_special: true, parse_special: true };
    return (await answerOf(server, "/tokenize", body)).tokens.length;
  };
  assertEquals(await tokens("minimal"), await counted("Hello[low]<think>"));
  assertEquals(await tokens("xhigh"), await counted("Hello[high]<think>"));
  assertEquals(await tokens("none"), await counted("Hello[False]"));
  const none = await respond(server, { reasoning: { effort: "none" } });
  assertEquals(none.output.map(({ type }) => type), ["message"]);
  assertEquals(textOf(none), await completionOf(server, "Hello[False]"));
});

Deno.test("a stream that is silent has events that say nothing, after its first", async () => {
  await using server = await startChat({ contextLength: 65_536, app: { commentMs: 20 } });
  const long = responsesBody({ max_output_tokens: 60_000, stream: true });
  using first = await openRequest(server.port, RESPONSES, long);
  await until("the first runs", () => server.engine.status().running === 1);
  using second = await RawClient.connect(
    server.port,
    rawPost(RESPONSES, responsesBody({ stream: true })),
  );
  await second.until(/response\.in_progress[^]*event: keepalive[^]*event: keepalive/);
  first.close();
  await second.until(/event: response\.incomplete\ndata: .*\n\n/);
});

Deno.test("what goes wrong in a stream is a response that failed, with what there was of it", async () => {
  await using server = await startChat({ contextLength: 65_536, drainMs: 0 });
  const response = await server.post(
    RESPONSES,
    responsesBody({ max_output_tokens: 60_000, stream: true }),
  );
  let read = "";
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    read += piece;
    if (read.includes("output_text.delta")) server.stop();
  }
  const events = readResponseEvents(read);
  const end = events.at(-1)!;
  assert(end.type === "response.failed", end.type);
  assertEquals([end.response.status, end.response.error!.code], ["failed", "server_error"]);
  assertStringIncludes(end.response.error!.message, "send it again");
  assert(textOf(end.response) !== "");
  assertEquals(end.response.output.map(({ status }) => status), ["incomplete"]);
});

Deno.test("a client that leaves in the middle frees the engine, and nothing is kept", async () => {
  await using server = await startChat({ contextLength: 65_536 });
  const response = await server.post(
    RESPONSES,
    responsesBody({ max_output_tokens: 60_000, stream: true }),
  );
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  const [, id] = /"id":"(resp_\w+)"/.exec(value)!;
  await reader.cancel();
  await until("the engine is free", () => server.engine.status().running === 0);
  await readError(await fetch(`${server.url}${RESPONSES}/${id}`), 404);
});
