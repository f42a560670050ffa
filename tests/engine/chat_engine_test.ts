import { assert, assertEquals, assertRejects } from "@std/assert";
import { Engine, type EngineOptions, type Generation, M40Error } from "../../engine/mod.ts";
import { demoModelFile } from "../../engine/store/demo_model.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import { ENDLESS_TEMPLATE } from "../fixtures/render_jobs.ts";

function loadDemo(options: EngineOptions = {}): Promise<Engine> {
  const common = { device: BACKEND, threads: 1, contextTokens: 512 };
  return Engine.load(demoModelFile, { ...common, ...options });
}

async function outputOf(generation: Generation) {
  let [reasoning, text] = ["", ""];
  const tokens: number[] = [];
  let thought = 0;
  for await (const chunk of generation) {
    reasoning += chunk.reasoning;
    text += chunk.text;
    for (const { token, reasoning } of chunk.tokens) {
      tokens.push(token);
      if (reasoning) thought++;
    }
    if (chunk.usage) return { ...chunk, reasoning, text, tokens, thought };
  }
  throw new Error("the generation has no end");
}

const QUESTION = { messages: [{ role: "user" as const, content: "Tell me a story about a fox." }] };
const SAMPLING = { temperature: 0 };

/** The demo model's format, with a prompt that opens reasoning. */
const THINKING =
  "{{ bos_token }}{% for message in messages %}<|user|>\n{{ message.content }}<|end|>" +
  "{% endfor %}<|assistant|>\n<think>\n";

Deno.test("the demo model answers a conversation by its own template, and says what it took", async () => {
  await using engine = await loadDemo();
  const chat = engine.chat!;
  assertEquals(chat.source, "model");
  assertEquals(chat.template, engine.model.chatTemplate);
  const { text, tokens, format } = await chat.prompt(QUESTION);
  assertEquals(text, "<s><|user|>\nTell me a story about a fox.<|end|><|assistant|>\n");
  const { bos, eos } = engine.tokenizer;
  assertEquals(tokens.filter((token) => token === bos).length, 1);
  assertEquals(tokens.includes(eos!), false);
  const request = { prompt: tokens, format, sampling: SAMPLING, maxTokens: 400 };
  const answer = await outputOf(engine.generate(request));
  assertEquals(answer.finishReason, "stop");
  assert(/\bfox\b/.test(answer.text), answer.text);
  assertEquals(answer.usage?.reasoningTokens, 0);
  assertEquals(answer.usage?.cachedTokens, 0);
  // The same prefix is cached, but for the last token and a KV block that is not full.
  const messages = [...QUESTION.messages, {
    role: "assistant" as const,
    content: answer.text,
  }, { role: "user" as const, content: "Why?" }];
  const next = await chat.prompt({ messages });
  const second = await outputOf(engine.generate({ ...request, prompt: next.tokens, maxTokens: 1 }));
  assert(
    second.usage!.cachedTokens >= 32,
    `${second.usage!.cachedTokens} tokens came from the cache`,
  );
  assert(second.usage!.cachedTokens < next.tokens.length);
});

Deno.test("a message that goes on is continued where it ended", async () => {
  await using engine = await loadDemo();
  const messages = [...QUESTION.messages, { role: "assistant" as const, content: "Once upon" }];
  const { text } = await engine.chat!.prompt({ messages, continueFinal: true });
  assert(text.endsWith("<|assistant|>\nOnce upon"), text);
  const refused = engine.chat!.prompt({ ...QUESTION, continueFinal: true });
  await assertRejects(() => refused, M40Error, "only an assistant's can be continued");
});

Deno.test("a model without a template has no chat; one by name or text gives it one", async () => {
  const load = async (chatTemplate?: string) => {
    const engine = await Engine.load(GOLDEN, { device: BACKEND, threads: 1, chatTemplate });
    const source = engine.chat?.source;
    await engine.close();
    return source;
  };
  assertEquals(await load(), undefined);
  assertEquals(await load("chatml"), "chatml");
  assertEquals(await load("{{ messages[0].content }}"), "file");
  const error = await assertRejects(() => load("chatnl"), M40Error, '"chatnl"');
  assert(error.message.includes("chatml, command-r"), error.message);
  assertEquals(error.code, "invalid_request");
});

Deno.test("a budget ends reasoning in the engine, with several at once that preempt one another", async () => {
  // So few KV blocks that sequences are computed again.
  const small = { parallel: 4, contextTokens: 160, kvBlocks: 6, hostCacheBytes: 0 };
  await using engine = await loadDemo({ chatTemplate: THINKING, ...small });
  const { tokens, format } = await engine.chat!.prompt(QUESTION);
  const budgets = [0, 1, 7, 40, 40];
  const requests = budgets.map((reasoningBudget, i) => ({
    prompt: tokens,
    format,
    reasoningBudget,
    sampling: { temperature: 1, seed: i },
    maxTokens: 80,
  }));
  const answers = await Promise.all(engine.generateAll(requests).map(outputOf));
  const end = engine.tokenizer.encode("</think>", { addSpecial: false }).length;
  for (const [i, { thought, usage, tokens, reasoning }] of answers.entries()) {
    const all = engine.tokenizer.decode(tokens, { continuing: true });
    assert(all.includes("</think>\n\n"), all);
    assertEquals(usage?.reasoningTokens, thought);
    assert(thought <= budgets[i] + end + 2, `${thought} tokens of reasoning for ${budgets[i]}`);
    if (budgets[i] === 0) assertEquals(reasoning, "");
  }
  assert(engine.status().preemptions > 0, "no sequence was preempted");
});

Deno.test("stop strings are looked for in content, and inline reasoning is content", async () => {
  await using engine = await loadDemo({ chatTemplate: THINKING });
  const { tokens, format } = await engine.chat!.prompt(QUESTION);
  const request = {
    prompt: tokens,
    format,
    reasoningBudget: 12,
    sampling: SAMPLING,
    maxTokens: 60,
  };
  const whole = await outputOf(engine.generate(request));
  const word = /[a-z]{3,}/.exec(whole.reasoning)![0];
  const stopped = await outputOf(engine.generate({ ...request, stop: [word] }));
  assertEquals(stopped.reasoning, whole.reasoning);
  assertEquals(stopped.text, whole.text.split(word)[0]);
  const inline = await outputOf(engine.generate({ ...request, reasoning: "inline" }));
  assertEquals(inline.reasoning, "");
  assertEquals(inline.tokens, whole.tokens);
  assertEquals(inline.text, engine.tokenizer.decode(whole.tokens, { continuing: true }));
  assertEquals(inline.usage?.reasoningTokens, whole.usage?.reasoningTokens);
  const early = await outputOf(engine.generate({ ...request, reasoning: "inline", stop: [word] }));
  assertEquals(early.text, inline.text.split(word)[0]);
  const wrong = () => engine.generate({ ...request, reasoningBudget: -1 });
  assertEquals(
    (await assertRejects(async () => await wrong(), M40Error)).param,
    "reasoning_budget",
  );
});

Deno.test("closing an engine ends a rendering", async () => {
  const engine = await loadDemo({ chatTemplate: ENDLESS_TEMPLATE });
  const rendered = assertRejects(() => engine.chat!.prompt(QUESTION), M40Error, "closed");
  await engine.close();
  await rendered;
});

Deno.test("what is no conversation is refused, by its parameter", async () => {
  await using engine = await loadDemo();
  const refused = async (request: object, param: string, message: string) => {
    const prompt = () => engine.chat!.prompt({ ...QUESTION, ...request });
    const error = await assertRejects(prompt, M40Error, message);
    assertEquals([error.code, error.param], ["invalid_request", param]);
  };
  await refused({ messages: [] }, "messages", "empty");
  const [message] = QUESTION.messages;
  await refused({ messages: Array(20_000).fill(message) }, "messages", "20000 messages");
  const role = { role: "im_end", content: "x" };
  await refused({ messages: [role] }, "messages", '"im_end"');
  const long = { role: "user", content: "x".repeat(7 * 2 ** 20) };
  await refused({ messages: [long] }, "messages", "characters");
  const kwargs = "chat_template_kwargs";
  await refused({ templateVariables: { messages: [] } }, kwargs, '"messages"');
  await refused({ templateVariables: { "a b": 1 } }, kwargs, '"a b"');
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  await refused({ templateVariables: { deep } }, kwargs, "nested");
  await refused({ templateVariables: { call: () => 1 } }, kwargs, "values of JSON");
  await refused({ templateName: "tool_use" }, "chat_template", '"tool_use"');
});
