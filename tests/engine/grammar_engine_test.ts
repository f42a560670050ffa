import { assert, assertEquals, assertThrows } from "@std/assert";
import { Automaton } from "../../engine/grammar/automaton.ts";
import { parseGbnf } from "../../engine/grammar/gbnf.ts";
import { jsonObjectGrammar } from "../../engine/grammar/json.ts";
import { parseRegex } from "../../engine/grammar/regex.ts";
import { type Constraint, type Engine, type GenerateRequest, M40Error } from "../../engine/mod.ts";
import { demoModelFile } from "../../engine/store/demo_model.ts";
import { loadEngine, promptOf, withEngine } from "../fixtures/engine_fixture.ts";
import { grammarOf, matches } from "../fixtures/grammar_texts.ts";

const LIST =
  'root ::= "[" item ("," item)* "]"\nitem ::= root | [a-z]{1,8} | "é" | "😀" [^\\x00-\\x7f]{0,3}';

/** Constraints, and checks of whether a text satisfies them. */
const CASES: [string, Constraint, Automaton][] = [
  ["JSON", { kind: "json_object" }, new Automaton(jsonObjectGrammar())],
  ["GBNF", { kind: "gbnf", text: LIST }, new Automaton(parseGbnf(LIST))],
  [
    "a regular expression",
    { kind: "regex", pattern: "(\\d{1,3}\\.){3}\\d{1,3}|[日本語]{2,5}" },
    new Automaton(grammarOf(parseRegex("(\\d{1,3}\\.){3}\\d{1,3}|[日本語]{2,5}"))),
  ],
  [
    "choices",
    { kind: "choice", texts: ["yes", "no", "yes and no", "ja: äöü"] },
    new Automaton(grammarOf(parseRegex("yes|no|yes and no|ja: äöü"))),
  ],
];

async function answerOf(engine: Engine, request: GenerateRequest) {
  return (await answersOf(engine, [request]))[0];
}

async function answersOf(engine: Engine, requests: GenerateRequest[]) {
  return await Promise.all(
    engine.generateAll(requests).map(async (generation) => {
      const answer = { text: "", reasoning: "", tokens: [] as number[], logprobs: [] as number[] };
      for await (const chunk of generation) {
        answer.text += chunk.text;
        answer.reasoning += chunk.reasoning;
        for (const { token, logprob } of chunk.tokens) {
          answer.tokens.push(token);
          if (logprob !== undefined) answer.logprobs.push(logprob);
        }
        const { finishReason, usage } = chunk;
        if (usage) return { ...answer, finishReason, completionTokens: usage.completionTokens };
      }
      throw new Error("the generation has no end");
    }),
  );
}

for (const path of [demoModelFile, undefined]) {
  const model = path === undefined ? "a model of noise" : "the demo model";
  Deno.test(`${model} at temperature 1.5 says what its constraint demands, and ends there`, async () => {
    await using engine = await loadEngine({ path, parallel: 8, contextTokens: 128 });
    for (const [name, constraint, automaton] of CASES) {
      const requests = Array.from({ length: 8 }, (_, stream): GenerateRequest => ({
        prompt: promptOf(8),
        maxTokens: 120,
        sampling: { temperature: 1.5, seed: 7, stream },
        constraint,
      }));
      let complete = 0;
      for (const { text, finishReason } of await answersOf(engine, requests)) {
        if (finishReason === "stop") {
          complete++;
          assert(matches(automaton, text), `${name}: ${JSON.stringify(text)}`);
        } else {
          // Cut off: its start is valid, except for an incomplete character.
          const bytes = new TextEncoder().encode(text.replace(/\ufffd+$/, ""));
          assert(automaton.after(automaton.start, bytes), `${name}: ${JSON.stringify(text)}`);
        }
      }
      if (name !== "JSON") assert(complete > 0, `${name}: no answer was complete`);
    }
  });
}

Deno.test("where the grammar is complete the end token follows, whatever min_tokens says", async () => {
  await using engine = await loadEngine();
  const answer = await answerOf(engine, {
    prompt: promptOf(5),
    maxTokens: 50,
    sampling: { temperature: 1.5, seed: 1, minTokens: 40 },
    constraint: { kind: "choice", texts: ["abc"] },
  });
  assertEquals([answer.text, answer.finishReason], ["abc", "stop"]);
  assertEquals(answer.completionTokens, answer.tokens.length + 1);
});

Deno.test("several answers to one prompt, each by itself and with log-probabilities of the model's own, are the same", async () => {
  await using engine = await loadEngine({ parallel: 4 });
  const request = (stream: number): GenerateRequest => ({
    prompt: promptOf(20),
    maxTokens: 24,
    sampling: { temperature: 1.5, seed: 3, stream },
    constraint: CASES[1][1],
    topLogprobs: 2,
  });
  const all = [0, 1, 2, 3].map(request);
  const together = await answersOf(engine, all);
  for (const [i, one] of all.entries()) assertEquals(await answerOf(engine, one), together[i]);
  assert(new Set(together.map(({ text }) => text)).size > 1, "all answers are the same");
  // What is not allowed keeps its share: the likeliest token is not always one that is.
  assert(together.some(({ logprobs }) => logprobs.some((logprob) => logprob < Math.log(0.5))));
});

Deno.test("an answer that was preempted and resumed goes on in its grammar, token for token", async () => {
  const requests = [0, 1, 2, 3].map((stream): GenerateRequest => ({
    prompt: promptOf(40, stream),
    maxTokens: 60,
    sampling: { temperature: 1.5, seed: 5, stream },
    constraint: { kind: "regex", pattern: "([a-z]{3} ){50}" },
  }));
  const roomy = await withEngine({ parallel: 4 }, (engine) => answersOf(engine, requests));
  for (const hostCacheBytes of [0, 2 ** 24]) {
    await using engine = await loadEngine({ parallel: 4, kvBlocks: 6, hostCacheBytes });
    assertEquals(await answersOf(engine, requests), roomy);
    assert(engine.status().preemptions > 0, "no sequence was preempted");
  }
});

Deno.test("what cannot be is refused before anything is computed, naming its field", async () => {
  await using engine = await loadEngine();
  const refused: [Constraint, RegExp][] = [
    [{ kind: "gbnf", text: "root ::= x" }, /^gbnf: there is no rule "x"/],
    [{ kind: "gbnf", text: 'root ::= "', param: "guided_grammar" }, /^guided_grammar, line 1/],
    [{ kind: "regex", pattern: "(?=a)" }, /lookahead/],
    [{ kind: "choice", texts: [] }, /^choice has 0 texts/],
    [{ kind: "choice", texts: ["a\ud800"] }, /lone surrogate/],
  ];
  for (const [constraint, message] of refused) {
    const error = assertThrows(() => engine.generate({ prompt: "a", constraint }), M40Error);
    assert(message.test(error.message), error.message);
    assertEquals([error.code, error.param], [
      "invalid_request",
      constraint.param ?? constraint.kind,
    ]);
  }
  const endless = { prompt: "a", sampling: { ignoreEos: true }, constraint: CASES[0][1] };
  assertThrows(() => engine.generate(endless), M40Error, "ignore_eos");
  assertEquals(engine.status().running, 0);
  return Promise.resolve();
});

/** Sends a chat whose template has opened the model's reasoning. */
async function thinking(reasoningBudget: number | undefined) {
  const template = "{% for m in messages %}{{ m.content }}\n{% endfor %}<think>";
  return await withEngine(
    { path: demoModelFile, contextTokens: 512, chatTemplate: template },
    async (engine) => {
      const { tokens, format } = await engine.chat!.prompt({
        messages: [{ role: "user", content: "Hi" }],
      });
      return await answerOf(engine, {
        prompt: tokens,
        format,
        reasoningBudget,
        maxTokens: 100,
        sampling: { temperature: 1.5, seed: 11 },
        constraint: { kind: "choice", texts: ["left", "right"] },
      });
    },
  );
}

Deno.test("reasoning is free; the grammar holds for the answer behind it", async () => {
  const answer = await thinking(20);
  assert(answer.reasoning.length > 10, answer.reasoning);
  assert(["left", "right"].includes(answer.text), JSON.stringify(answer.text));
  assertEquals(answer.finishReason, "stop");
});

Deno.test("reasoning cannot end the answer before there is one", async () => {
  const answer = await thinking(undefined);
  assert(answer.text === "" || ["left", "right"].includes(answer.text), answer.text);
  assertEquals(answer.finishReason, answer.text === "" ? "length" : "stop");
});
