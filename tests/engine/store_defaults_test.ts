import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ChatMessage } from "../../engine/chat/conversation.ts";
import { loadChat } from "../../engine/chat/load.ts";
import { recordDefaults } from "../../engine/store/mod.ts";
import type { ParameterValue } from "../../engine/store/record.ts";
import { loadTokenizer } from "../../engine/tokenizer/load.ts";
import { asking, collect, loadEngine, withEngine } from "../fixtures/engine_fixture.ts";
import { BASIC, string, vocabularyMetadata } from "../fixtures/tokenizer_metadata.ts";

// The files that come with a model.

/** The defaults of parameters, and the warnings that they give. */
function defaultsOf(parameters: Record<string, ParameterValue>) {
  const warnings: string[] = [];
  return { ...recordDefaults({ parameters }, (warning) => warnings.push(warning)), warnings };
}

Deno.test("defaults: Ollama's parameters become ours; how it uses its machine is left out silently", () => {
  const found = defaultsOf({
    temperature: 0.6,
    top_k: 20,
    top_p: 0.95,
    min_p: 0.05,
    typical_p: 0.9,
    repeat_last_n: 64,
    repeat_penalty: 1.1,
    presence_penalty: 1.5,
    frequency_penalty: 0.5,
    mirostat: 2,
    mirostat_tau: 5,
    mirostat_eta: 0.2,
    seed: 42,
    num_ctx: 8192,
    stop: ["<|im_end|>", "", "<|im_start|>"],
    num_gpu: 99,
    use_mmap: true,
  });
  assertEquals(found, {
    sampling: {
      temperature: 0.6,
      topK: 20,
      topP: 0.95,
      minP: 0.05,
      typicalP: 0.9,
      repeatLastN: 64,
      repetitionPenalty: 1.1,
      presencePenalty: 1.5,
      frequencyPenalty: 0.5,
      mirostat: 2,
      mirostatTau: 5,
      mirostatEta: 0.2,
      seed: 42,
    },
    stop: ["<|im_end|>", "<|im_start|>"],
    system: undefined,
    messages: undefined,
    contextTokens: 8192,
    warnings: [],
  });
  assertEquals(defaultsOf({ stop: "one" }).stop, ["one"]);
  // In Ollama that is a new one for each request.
  assertEquals(defaultsOf({ seed: -1 }), { ...defaultsOf({}), sampling: {} });
  assertEquals(recordDefaults({ system: " \n" }).system, undefined);
  assertEquals(recordDefaults(undefined).sampling, {});
});

Deno.test("defaults: what cannot be used is said, and the rest is used", () => {
  const { sampling, stop, contextTokens, warnings } = defaultsOf({
    temperature: -1,
    top_k: "40",
    top_p: 0.5,
    mirostat: 1,
    num_ctx: 0.5,
    num_predict: 100,
    constructor: 1,
    stop: Array.from({ length: 20 }, (_, i) => `stop ${i}`),
  });
  assertEquals([sampling, stop.length, contextTokens], [{ topP: 0.5 }, 16, undefined]);
  assertEquals(warnings.length, 7);
  const wanted = [
    "temperature",
    "top_k",
    "mirostat",
    "num_ctx",
    "num_predict",
    "constructor",
    "stop",
  ];
  wanted.forEach((name, i) => {
    assertMatch(warnings[i], new RegExp(`^the parameter ${name} that comes with the model`));
  });
});

Deno.test("defaults: a request that says nothing has the model's stop, sampling and context", async () => {
  const [first, second] = await withEngine({}, async (engine) => {
    const { tokens } = await collect(engine.generate(asking([10, 17, 24], 8)));
    return [tokens, engine.tokenizer.tokenText(tokens[5])];
  });
  const defaults = { sampling: { temperature: 0 }, stop: [String(second)], contextTokens: 64 };
  await withEngine({ defaults }, async (engine) => {
    assertEquals(engine.plan.contextTokens, 64);
    const { sampling: { logitBias } = {} } = asking([], 1);
    const request = { prompt: [10, 17, 24], maxTokens: 8, sampling: { logitBias } };
    const silent = await collect(engine.generate(request));
    assertEquals(silent.tokens, (first as number[]).slice(0, silent.tokens.length));
    assertEquals(silent.finishReason, "stop");
    assert(silent.tokens.length <= 6);
    const said = await collect(engine.generate({ ...request, stop: ["no such text"] }));
    assertEquals(said.tokens, first, "the request's own stop is the only one");
  });
  // What is asked for goes before; a default that is too large is none of the user's fault.
  await withEngine({ defaults, contextTokens: 96 }, (engine) => {
    assertEquals(engine.plan.contextTokens, 96);
    return Promise.resolve();
  });
  await using engine = await loadEngine({ defaults: { contextTokens: 100_000 } });
  assertEquals(engine.plan.contextTokens, 128);
  return Promise.resolve();
});

/** The prompt of a model with this template and system message. */
async function promptOf(
  template: string,
  messages: ChatMessage[],
  system = "SYS",
  beginning: ChatMessage[] = [],
): Promise<string> {
  const metadata = vocabularyMetadata(BASIC, { "tokenizer.chat_template": string(template) });
  await using chat = loadChat(metadata, loadTokenizer(metadata), undefined, {
    system,
    messages: beginning,
  })!;
  return (await chat.prompt({ messages })).text;
}

const LIST = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}";
const REFUSING = "{% for m in messages %}{% if m.role == 'system' %}" +
  "{{ raise_exception('System role not supported') }}{% endif %}{% endfor %}" + LIST;
const user: ChatMessage = { role: "user", content: "q" };

Deno.test("defaults: a conversation without a system message gets the model's, one with its own keeps it", async () => {
  assertEquals(await promptOf(LIST, [user]), "system:SYS;user:q;");
  for (const role of ["system", "developer"] as const) {
    assertEquals(await promptOf(LIST, [{ role, content: "own" }, user]), "system:own;user:q;");
  }
  assertEquals(await promptOf(LIST, [user, { role: "system", content: "" }]), "user:q;system:;");
});

Deno.test("defaults: a conversation goes on with what the model's begin with, behind every leading system message", async () => {
  const beginning: ChatMessage[] = [
    { role: "user", content: "u" },
    { role: "assistant", content: "a" },
  ];
  const asked = (messages: ChatMessage[]) => promptOf(LIST, messages, "SYS", beginning);
  assertEquals(await asked([user]), "system:SYS;user:u;assistant:a;user:q;");
  const own: ChatMessage = { role: "system", content: "own" };
  assertEquals(await asked([own, user]), "system:own;user:u;assistant:a;user:q;");
});

Deno.test("defaults: a template that refuses system messages gets the model's in front of the first question", async () => {
  const answer: ChatMessage = { role: "assistant", content: "a" };
  assertEquals(await promptOf(REFUSING, [user, answer, user]), "user:SYS\n\nq;assistant:a;user:q;");
});
