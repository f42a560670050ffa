// A model's reasoning in a chat's answer: separated, left in, and ended by a budget.
import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  CHAT,
  chat,
  chatEvents,
  HELLO,
  joined,
  startChat,
} from "../fixtures/server_chat_fixture.ts";
import { answerOf, NO_END, openRequest, readError } from "../fixtures/server_fixture.ts";
import { until } from "../fixtures/waiting.ts";

/** Has the template open a reasoning block in the prompt. */
const THINKING = { chat_template_kwargs: { enable_thinking: true }, max_tokens: 24 };

Deno.test("reasoning is separated from content, whole and streamed, and the usage counts it", async () => {
  await using server = await startChat();
  const body = { ...THINKING, reasoning_budget: 5 };
  const { choices: [{ message, finish_reason }], usage } = await chat(server, body);
  assert(message.reasoning_content!.length > 0);
  assert(message.content.length > 0);
  assert(!(message.content + message.reasoning_content).includes("think>"), "the tags are gone");
  assertEquals(finish_reason, "length");
  assertEquals(usage.completion_tokens, 24);
  const { reasoning_tokens } = usage.completion_tokens_details;
  assert(reasoning_tokens >= 5 && reasoning_tokens < 24, String(reasoning_tokens));
  const all = await chatEvents(server, { ...body, stream_options: { include_usage: true } });
  const streamed = joined(all);
  assertEquals(streamed.reasoning, message.reasoning_content);
  assertEquals(streamed.content, message.content);
  assertEquals(all.at(-1)!.usage!.completion_tokens_details, { reasoning_tokens });
  const order = all.flatMap(({ choices }) => choices).map(({ delta }) => Object.keys(delta).join());
  assertEquals(order[0], "role,content,refusal");
  assert(
    order.indexOf("content") > order.lastIndexOf("reasoning_content"),
    "reasoning comes before content",
  );
});

Deno.test("log-probabilities are those of the content's tokens, not of its reasoning", async () => {
  await using server = await startChat();
  const body = { ...THINKING, reasoning_budget: 5, logprobs: true, top_logprobs: 1 };
  const { choices: [{ logprobs }], usage } = await chat(server, body);
  const { reasoning_tokens } = usage.completion_tokens_details;
  assertEquals(logprobs!.content.length, 24 - reasoning_tokens);
  const streamed = joined(await chatEvents(server, body));
  assertEquals(streamed.logprobs, logprobs!.content);
});

Deno.test("an answer that is cut off in its reasoning has no content, and finish_reason length", async () => {
  await using server = await startChat();
  const { choices: [{ message, finish_reason }], usage } = await chat(server, THINKING);
  assertEquals([message.content, finish_reason], ["", "length"]);
  assert(message.reasoning_content!.length > 0);
  assertEquals(usage.completion_tokens_details.reasoning_tokens, 24);
});

Deno.test("a budget of 0 ends reasoning at once; -1 is no limit, whatever the server's budget", async () => {
  await using server = await startChat({ app: { reasoningBudget: 3 } });
  const reasoned = async (more: Record<string, unknown>) =>
    (await chat(server, { ...THINKING, ...more })).usage.completion_tokens_details.reasoning_tokens;
  const none = await chat(server, { ...THINKING, reasoning_budget: 0 });
  assertEquals(none.choices[0].message.reasoning_content, undefined);
  assert(none.choices[0].message.content.length > 0);
  const own = await reasoned({});
  assert(own >= 3 && own < 24, `the server's budget: ${own}`);
  assert(await reasoned({ reasoning_budget: 8 }) > own, "a request's budget comes first");
  assertEquals(await reasoned({ reasoning_budget: -1 }), 24);
  const both = await reasoned({ reasoning_budget: 8 });
  assertEquals(await reasoned({ thinking_token_budget: 8 }), both, "vLLM's name of it");
});

Deno.test("reasoning_effort reaches the template in its words; none is no reasoning, unless more is said", async () => {
  const template = "{% for m in messages %}{{ m.content }}{% endfor %}" +
    "[{{ reasoning_effort }}|{{ enable_thinking }}|{{ thinking }}]" +
    "{% if enable_thinking is not defined or enable_thinking or thinking %}<think>{% endif %}";
  await using server = await startChat({}, template);
  const prompt = async (reasoning_effort: string | null, chat_template_kwargs?: unknown) => {
    const body = { messages: HELLO, reasoning_effort, chat_template_kwargs };
    return (await answerOf(server, "/apply-template", body)).prompt;
  };
  const words = { minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "high" };
  for (const [effort, word] of Object.entries({ ...words, max: "high", other: "other" })) {
    assertEquals(await prompt(effort), `Hello[${word}||]<think>`);
  }
  assertEquals(await prompt(null), "Hello[||]<think>");
  assertEquals(await prompt("none"), "Hello[|False|False]");
  assertEquals(await prompt("none", { a: 1 }), "Hello[|False|False]");
  assertEquals(await prompt("none", { enable_thinking: true }), "Hello[|True|]<think>");
  assertEquals(await prompt("xhigh", { reasoning_effort: "xhigh" }), "Hello[xhigh||]<think>");

  const rendered = async (more: Record<string, unknown>) =>
    (await answerOf(server, "/apply-template", { messages: HELLO, ...more })).prompt;
  const offs = [
    { enable_thinking: false },
    { thinking: { type: "disabled" } },
    { reasoning: { enabled: false } },
    { reasoning: { effort: "none" } },
  ];
  for (const off of offs) {
    assertEquals(await rendered(off), "Hello[|False|False]", JSON.stringify(off));
    const kwargs = { chat_template_kwargs: { enable_thinking: true } };
    assertMatch(await rendered({ ...off, ...kwargs }), /\|True\|.*<think>$/);
  }
  for (const on of [{ enable_thinking: true }, { thinking: { type: "enabled" } }]) {
    assertEquals(await rendered(on), "Hello[|True|True]<think>");
  }
  assertEquals(await rendered({ reasoning: { effort: "high" } }), "Hello[high||]<think>");
  const both = { reasoning_effort: "low", reasoning: { effort: "high" } };
  assertEquals(await rendered(both), "Hello[low||]<think>");
  // "constructor" is what every object of JavaScript has.
  for (const type of ["auto", "constructor", "__proto__"]) {
    assertEquals(await rendered({ thinking: { type }, reasoning: null }), "Hello[||]<think>", type);
  }
  for (const wrong of [{ enable_thinking: "no" }, { thinking: true }, { reasoning: "high" }]) {
    const refused = await server.post(CHAT, { messages: HELLO, ...wrong });
    assertEquals((await readError(refused, 400)).param, Object.keys(wrong)[0]);
  }

  // A template that has the model reason all the same.
  await using stubborn = await startChat({}, "{{ messages[0].content }}<think>");
  const reasoned = async (more: Record<string, unknown>) => {
    const { usage } = await chat(stubborn, { max_tokens: 24, ...more });
    return usage.completion_tokens_details.reasoning_tokens;
  };
  const reasoning_effort = "none";
  assertEquals(await reasoned({}), 24);
  const atOnce = await reasoned({ reasoning_budget: 0 });
  assert(atOnce < 24, String(atOnce));
  assertEquals(await reasoned({ reasoning_effort }), atOnce);
  const others = [...offs, { thinking_budget: 0 }, { reasoning: { max_tokens: 0 } }];
  for (const off of [...others, { thinking: { type: "enabled", budget_tokens: 0 } }]) {
    assertEquals(await reasoned(off), atOnce, JSON.stringify(off));
  }
  assertEquals(await reasoned({ reasoning_effort, reasoning_budget: -1 }), 24);
  const chat_template_kwargs = { thinking: true };
  assertEquals(await reasoned({ reasoning_effort, chat_template_kwargs }), 24);
});

Deno.test("--reasoning inline leaves reasoning in the content, tags and all", async () => {
  await using separate = await startChat();
  await using inline = await startChat({ app: { reasoning: "inline" } });
  const body = { ...THINKING, reasoning_budget: 5 };
  const { message } = (await chat(inline, body)).choices[0];
  assertEquals(message.reasoning_content, undefined);
  assertMatch(message.content, /<\/think>/);
  const apart = (await chat(separate, body)).choices[0].message;
  assertEquals(message.content.split("</think>")[1].trimStart(), apart.content);
  assertEquals(joined(await chatEvents(inline, body)).content, message.content);
});

Deno.test("stop strings end the content and not the reasoning", async () => {
  await using server = await startChat();
  const body = { ...THINKING, reasoning_budget: 5 };
  const { message } = (await chat(server, body)).choices[0];
  const reasoned = [...message.reasoning_content!];
  const stop = reasoned.slice(0, 1).join("");
  const inReasoning = (await chat(server, { ...body, stop })).choices[0].message;
  assertEquals(inReasoning.reasoning_content, message.reasoning_content);
  const said = [...message.content].slice(2, 4).join("");
  const ended = (await chat(server, { ...body, stop: said })).choices[0];
  assertEquals(ended.message.content, message.content.slice(0, message.content.indexOf(said)));
  assertEquals(ended.finish_reason, "stop");
});

Deno.test("a client that leaves while the model reasons frees the engine", async () => {
  await using server = await startChat({ contextLength: 65_536 });
  const body = { messages: HELLO, ...THINKING, ...NO_END, max_tokens: 60_000, stream: true };
  using connection = await openRequest(server.port, "/v1/chat/completions", body);
  await until("it reasons", () => server.engine.slots()[0]?.generatedTokens > 3);
  connection.close();
  await until("the engine is free", () => server.engine.status().running === 0);
});
