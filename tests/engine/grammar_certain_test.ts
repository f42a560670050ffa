// What a constraint leaves no choice of: taken in without a step of its own, or drafted; the tokens stay the same.
import { assert, assertEquals } from "@std/assert";
import type { Constraint, Engine, EngineOptions, GenerateRequest } from "../../engine/mod.ts";
import { Constraints } from "../../engine/grammar/constraints.ts";
import type { Steering } from "../../engine/sampling/steering.ts";
import { demoModelFile } from "../../engine/store/demo_model.ts";
import { loadEngine, promptOf, withEngine } from "../fixtures/engine_fixture.ts";
import { golden } from "../fixtures/goldens.ts";

/** An object as an agent's tool has it: most of its text is certain. */
const TOOL: Constraint = {
  kind: "json_schema",
  schema: {
    type: "object",
    properties: {
      name: { const: "search_files" },
      arguments: {
        type: "object",
        properties: {
          directory: { enum: ["/home", "/etc"] },
          case_sensitive: { type: "boolean" },
          note: { type: "string", maxLength: 6 },
        },
        required: ["directory", "case_sensitive", "note"],
        additionalProperties: false,
      },
    },
    required: ["name", "arguments"],
    additionalProperties: false,
  },
};

/** The same constraint, token by token: nothing is taken in that was not sampled, nothing is drafted. */
function oneByOne(engine: Engine, constraint: Constraint): Steering {
  const { tokenizer, model } = engine;
  const steering = new Constraints(tokenizer, model.vocabSize).steering(constraint);
  return {
    next: () => undefined,
    allowed(generated) {
      const { sole: _, ...allowed } = steering.allowed!(generated)!;
      return allowed;
    },
  };
}

const REQUESTS = Array.from({ length: 6 }, (_, stream): GenerateRequest => ({
  prompt: promptOf(2 + 3 * stream, stream).map((token) => token % 100 + 10),
  maxTokens: 100,
  sampling: stream % 2 === 0 ? { temperature: 1.2, seed: 4, stream } : { temperature: 0 },
}));

async function answersOf(engine: Engine, requests: readonly GenerateRequest[]) {
  return await Promise.all(
    engine.generateAll(requests).map(async (generation) => {
      const tokens: unknown[] = [];
      let text = "";
      for await (const chunk of generation) {
        text += chunk.text;
        tokens.push(...chunk.tokens.map(({ token, logprob, top }) => [token, logprob, top]));
        const { finishReason, stopString, usage } = chunk;
        if (usage) {
          const { completionTokens } = usage;
          return { text, tokens, finishReason, stopString, completionTokens };
        }
      }
      throw new Error("the generation has no end");
    }),
  );
}

/** Answers with and without, and what the engine says afterwards. */
async function both(
  options: EngineOptions & { path?: string },
  requests: readonly GenerateRequest[] = REQUESTS,
) {
  const roomy = { ...options, kvBlocks: undefined, stateSlots: undefined };
  const [alone, slow] = await withEngine(roomy, async (engine) => {
    const answers = await answersOf(
      engine,
      requests.map((one) => ({ ...one, steering: oneByOne(engine, TOOL) })),
    );
    return [answers, engine.status()] as const;
  });
  assertEquals([slow.certainTokens, slow.draftTokens], [0, 0]);
  const status = await withEngine(options, async (engine) => {
    const answers = await answersOf(engine, requests.map((one) => ({ ...one, constraint: TOOL })));
    assertEquals(answers, alone);
    await engine.idle();
    return engine.status();
  });
  assertEquals([status.usedKvBlocks, status.usedSlots], [0, 0]);
  return { answers: alone, status, slow };
}

const MODELS: [string, string | undefined][] = [
  ["a model of noise", undefined],
  ["the demo model", demoModelFile],
  ["a model with states and attention", golden("qwen35")],
  ["a model of states alone", golden("mamba2")],
];

for (const [name, path] of MODELS) {
  Deno.test(`${name} says the same in fewer steps where its constraint leaves one token`, async () => {
    const { status, slow, answers } = await both({ path, parallel: 6, contextTokens: 128 });
    assert(answers.some(({ text }) => text.length > 50), "no answer comes far");
    assert(status.certainTokens > 0, "no token was certain");
    assert(status.steps < slow.steps, `${status.steps} steps, and ${slow.steps} one by one`);
  });

  if (path === demoModelFile) continue;

  Deno.test(`${name} has the same log-probabilities where they are wanted, which needs every token sampled`, async () => {
    const requests = REQUESTS.slice(0, 3).map((one) => ({ ...one, topLogprobs: 2 }));
    const { status } = await both({ path, parallel: 3, contextTokens: 128 }, requests);
    assertEquals(status.certainTokens, 0);
  });

  Deno.test(`${name} says the same when it is preempted among certain tokens`, async () => {
    for (const hostCacheBytes of [0, 2 ** 24]) {
      const few = { kvBlocks: 6, stateSlots: 1, hostCacheBytes };
      const { status } = await both({ path, parallel: 6, contextTokens: 128, ...few });
      const attends = path !== golden("mamba2");
      assertEquals(status.preemptions > 0, attends, "preemptions");
    }
  });
}

Deno.test("max_tokens and stop strings end an answer among certain tokens, where they do one by one", async () => {
  const [first] = REQUESTS;
  const requests = Array.from({ length: 40 }, (_, i) => ({ ...first, maxTokens: 1 + i }));
  const lengths = (await both({ parallel: 8 }, requests)).answers.map((one) =>
    one.completionTokens
  );
  assertEquals(lengths, requests.map(({ maxTokens }) => maxTokens));
  for (const stop of ["_fil", '"arg', "ory", "}"]) {
    const { answers } = await both({ parallel: 2 }, [{ ...first, stop: [stop] }]);
    assertEquals(answers[0].stopString, stop);
  }
});

Deno.test("right drafts of a certain text are accepted together: a text forced in the tokenizer's own tokens needs few steps", async () => {
  await using engine = await loadEngine({ path: demoModelFile, contextTokens: 256 });
  const text = "These are the only words that there may be, whatever the model thinks of them.";
  // So that it is the likeliest way to write it.
  const usual = engine.tokenizer.encode(text, { addSpecial: false });
  const logitBias = new Map(usual.map((token) => [token, 100]));
  const [answer] = await answersOf(engine, [{
    prompt: "x",
    constraint: { kind: "choice", texts: [text] },
    sampling: { temperature: 0, logitBias },
  }]);
  assertEquals(answer.text, text);
  const { steps, draftTokens } = engine.status();
  assert(draftTokens > usual.length / 2, `${draftTokens} of ${usual.length} were drafted`);
  assert(steps < answer.completionTokens / 2, `${steps} steps for ${answer.completionTokens}`);
});
