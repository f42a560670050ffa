// What a model thinks before its answer, in Anthropic's shape.
import { assert, assertEquals } from "@std/assert";
import { startChat } from "../../fixtures/server_chat_fixture.ts";
import {
  assembled,
  message,
  messageEvents,
  textOf,
  withoutId,
} from "../../fixtures/server_anthropic_fixture.ts";

/** Has the template open a reasoning block in the prompt. */
const THINKING = { thinking: { type: "enabled", budget_tokens: 5 }, max_tokens: 24 };

Deno.test("thinking is a block before the text, with a signature, whole and streamed", async () => {
  await using server = await startChat();
  const whole = await message(server, THINKING);
  const [thinking, said, ...others] = whole.content;
  assert(thinking.type === "thinking" && thinking.thinking !== "" && thinking.signature !== "");
  assert(said.type === "text" && said.text !== "" && !said.text.includes("think>"));
  assertEquals([others, whole.stop_reason], [[], "max_tokens"]);
  const { output_tokens, output_tokens_details } = whole.usage;
  const { thinking_tokens } = output_tokens_details!;
  assert(output_tokens === 24 && thinking_tokens >= 5 && thinking_tokens < 24);
  const events = await messageEvents(server, THINKING);
  assertEquals(withoutId(assembled(events)), withoutId(whole));
  const deltas = events.flatMap((event) =>
    event.type === "content_block_delta" ? [event.delta.type] : []
  );
  const kinds = deltas.filter((kind, i) => kind !== deltas[i - 1]);
  assertEquals(kinds, ["thinking_delta", "signature_delta", "text_delta"]);
});

Deno.test("disabled turns thinking off, also where the template would begin it", async () => {
  await using server = await startChat(
    {},
    "{% for m in messages %}{{ m.content }}{% endfor %}<think>",
  );
  const off = { thinking: { type: "disabled" }, max_tokens: 12 };
  const { content } = await message(server, off);
  assertEquals(content.map(({ type }) => type), ["text"]);
});

Deno.test("adaptive and no word leave thinking to the template and to the server's budget", async () => {
  const template = "{% for m in messages %}{{ m.content }}{% endfor %}" +
    "{% if enable_thinking is defined %}no{% else %}<think>{% endif %}";
  await using server = await startChat({ app: { reasoningBudget: 3 } }, template);
  const absent = await message(server, { max_tokens: 16 });
  assertEquals(absent.content.map(({ type }) => type), ["thinking", "text"]);
  const adaptive = await message(server, { max_tokens: 16, thinking: { type: "adaptive" } });
  assertEquals(adaptive.content, absent.content);
});

Deno.test("an answer that is cut off in its thinking has that block alone, ended as any", async () => {
  await using server = await startChat();
  const cut = { thinking: { type: "enabled", budget_tokens: 1000 }, max_tokens: 8 };
  const whole = await message(server, cut);
  assertEquals(whole.content.map(({ type }) => type), ["thinking"]);
  assertEquals(withoutId(assembled(await messageEvents(server, cut))), withoutId(whole));
});

Deno.test("display omitted leaves the thinking out, and says that there was some", async () => {
  await using server = await startChat();
  const shown = await message(server, THINKING);
  const omitted = { ...THINKING, thinking: { ...THINKING.thinking, display: "omitted" } };
  const whole = await message(server, omitted);
  const [thinking] = whole.content;
  assert(thinking.type === "thinking" && thinking.thinking === "" && thinking.signature !== "");
  assertEquals(textOf(whole), textOf(shown));
  assertEquals(whole.usage.output_tokens_details, shown.usage.output_tokens_details);
  assertEquals(withoutId(assembled(await messageEvents(server, omitted))), withoutId(whole));
});

Deno.test("effort reaches the template; more than high is high", async () => {
  const template = "{{ reasoning_effort }}:{% for m in messages %}{{ m.content }}{% endfor %}";
  await using server = await startChat({}, template);
  const prompted = async (effort: string) =>
    textOf(await message(server, { output_config: { effort } }));
  assertEquals(await prompted("max"), await prompted("high"));
  assertEquals(await prompted("xhigh"), await prompted("high"));
  assert(await prompted("low") !== await prompted("high"));
});

Deno.test("stop sequences end the text and not the thinking", async () => {
  await using server = await startChat();
  const [thinking, said] = (await message(server, THINKING)).content;
  assert(thinking.type === "thinking" && said.type === "text");
  const stop = [...thinking.thinking][0];
  const answer = await message(server, { ...THINKING, stop_sequences: [stop] });
  assertEquals(answer.content[0], thinking);
});
