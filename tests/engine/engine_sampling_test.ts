import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import type { Engine, GenerateRequest, SamplingParameters } from "../../engine/mod.ts";
import { M40Error } from "../../engine/errors.ts";
import { asking, collect, loadEngine, promptOf, withEngine } from "../fixtures/engine_fixture.ts";
import { Rewritten } from "../fixtures/rewritten_model.ts";
import { TemporaryFile } from "../fixtures/temporary.ts";

// Samplers through the whole engine: what requests and a model's file ask for.

const END = 2;
const EVERYTHING: Partial<SamplingParameters> = {
  temperature: 1.2,
  topK: 300,
  topP: 0.98,
  minP: 0.0001,
  typicalP: 0.97,
  repetitionPenalty: 1.1,
  repeatLastN: 20,
  dryMultiplier: 0.8,
  xtcProbability: 0.3,
  xtcThreshold: 0.02,
  dynatempRange: 0.4,
  dynatempExponent: 1.3,
  mirostat: 2,
  mirostatTau: 6,
  ignoreEos: true,
};

function drawing(
  prompt: readonly number[],
  maxTokens: number,
  sampling: Partial<SamplingParameters>,
): GenerateRequest {
  return { prompt, maxTokens, sampling: { seed: 5, ...sampling }, topLogprobs: 0 };
}

const answers = (engine: Engine, requests: readonly GenerateRequest[]) =>
  Promise.all(engine.generateAll(requests).map(collect));

Deno.test("an answer by all samplers is the same alone, concurrently with others, and after preemption and recomputation", async () => {
  const requests = Array.from(
    { length: 4 },
    (_, i) => drawing(promptOf(40, i), 60, { ...EVERYTHING, seed: i }),
  );
  const alone = await withEngine({ parallel: 1 }, async (engine) => {
    const all = [];
    for (const request of requests) all.push(await collect(engine.generate(request)));
    return all;
  });
  for (const { tokens } of alone) assertEquals(tokens.length, 60);
  await using engine = await loadEngine({ parallel: 4, kvBlocks: 7, hostCacheBytes: 0 });
  assertEquals(await answers(engine, requests), alone);
  assert(engine.status().recomputations > 0, "no sequence was recomputed");
});

Deno.test("several answers to one prompt keep their penalties, repetitions and mirostat apart", async () => {
  const prompt = promptOf(33);
  const requests = [0, 1, 2].map((stream) => drawing(prompt, 40, { ...EVERYTHING, stream }));
  await using engine = await loadEngine({ parallel: 3 });
  const together = await answers(engine, requests);
  for (const [i, request] of requests.entries()) {
    const copy = { ...request, prompt: [...prompt] };
    assertEquals(await collect(engine.generate(copy)), together[i]);
  }
  assertNotEquals(together[0].tokens, together[1].tokens);
});

Deno.test("an answer goes on where it would have ended, for min_tokens and where end tokens are ignored", async () => {
  // The likeliest token is always the end.
  const logitBias = new Map([[END, 100]]);
  const prompt = promptOf(10);
  await using engine = await loadEngine();
  const answer = async (sampling: Partial<SamplingParameters>) => {
    const { tokens, finishReason } = await collect(
      engine.generate(drawing(prompt, 12, { temperature: 0, logitBias, ...sampling })),
    );
    return [tokens.length, finishReason];
  };
  assertEquals(await answer({}), [0, "stop"]);
  assertEquals(await answer({ minTokens: 5 }), [5, "stop"]);
  assertEquals(await answer({ minTokens: 12 }), [12, "length"]);
  assertEquals(await answer({ ignoreEos: true }), [12, "length"]);
});

Deno.test("what is steered is said, with the model's own log-probability, and the model goes on from there", async () => {
  const prompt = promptOf(10);
  const forced = [50, 51, 52];
  const steering = { next: (generated: readonly number[]) => forced[generated.length - 3] };
  await using engine = await loadEngine({ parallel: 4 });
  const request = asking(prompt, 12);
  const free = await collect(engine.generate(request));
  const { tokens, logprobs } = await collect(engine.generate({ ...request, steering }));
  assertEquals(tokens.slice(0, 3), free.tokens.slice(0, 3));
  assertEquals(tokens.slice(3, 6), forced);
  const after = await collect(engine.generate(asking([...prompt, ...tokens.slice(0, 6)], 6)));
  assertEquals(tokens.slice(6), after.tokens);
  // Sampled at the same position, with a bias that allows nothing else, the token has the same log-probability.
  const biased = await collect(engine.generate({
    ...asking([...prompt, ...tokens.slice(0, 3)], 1),
    sampling: { temperature: 0, logitBias: new Map([[50, 100]]) },
  }));
  assertEquals(biased.tokens, [50]);
  assert(Math.abs(biased.logprobs[0] - logprobs[3]) < 1e-4);
});

Deno.test("steering that throws, or names no token that there is, ends its own answer alone", async () => {
  const prompt = promptOf(10);
  const failing = (next: () => number) => ({
    ...asking(prompt, 20),
    steering: {
      next: (generated: readonly number[]) => generated.length === 3 ? next() : undefined,
    },
  });
  await using engine = await loadEngine({ parallel: 4 });
  const free = await collect(engine.generate(asking(prompt, 20)));
  const [thrown, outside, negative, other] = await answers(engine, [
    failing(() => {
      throw new TypeError("a steering");
    }),
    failing(() => 1_000_000),
    failing(() => -1),
    asking(prompt, 20),
  ]);
  for (const answer of [thrown, outside, negative]) {
    assertEquals(answer.tokens, free.tokens.slice(0, 3));
    assert(answer.error instanceof M40Error);
  }
  assertEquals((thrown.error as M40Error).code, "internal");
  assertEquals((outside.error as M40Error).code, "nothing_allowed");
  assertEquals((negative.error as M40Error).code, "nothing_allowed");
  assertEquals(other, free);
});

Deno.test("with DRY no sequence of tokens comes again that is longer than allowed", async () => {
  await using engine = await loadEngine();
  const repeats = (tokens: readonly number[], length: number) => {
    const seen = new Set<string>();
    for (let i = 0; i + length <= tokens.length; i++) {
      const part = tokens.slice(i, i + length).join();
      if (seen.has(part)) return true;
      seen.add(part);
    }
    return false;
  };
  const logitBias = new Map([[END, -100]]);
  const prompt = promptOf(5);
  const text = async (sampling: Partial<SamplingParameters>) => {
    const request = drawing(prompt, 100, { temperature: 0, logitBias, ...sampling });
    return [...prompt, ...(await collect(engine.generate(request))).tokens];
  };
  assert(repeats(await text({}), 3), "the model does not repeat itself: nothing is shown here");
  const dry = { dryMultiplier: 100, drySequenceBreakers: [] };
  assert(!repeats(await text(dry), 3));
  assert(!repeats(await text({ ...dry, dryAllowedLength: 1 }), 2));
});

/** A copy of the small model whose file recommends samplers. */
async function withDefaults(
  defaults: Record<string, number | string>,
  work: (engine: Engine, warnings: string[]) => Promise<void>,
): Promise<void> {
  using temporary = new TemporaryFile(".gguf");
  const path = temporary.path;
  const file = await Rewritten.of("llama");
  for (const [key, value] of Object.entries(defaults)) {
    const type = typeof value === "string"
      ? "string"
      : Number.isInteger(value)
      ? "int32"
      : "float32";
    file.set(`general.sampling.${key}`, { type, value });
  }
  await file.write(path);
  const warnings: string[] = [];
  const onWarning = (warning: string) => void warnings.push(warning);
  await withEngine({ path, onWarning }, (engine) => work(engine, warnings));
}

Deno.test("what a model's file recommends holds where a request says nothing, and nowhere else", async () => {
  const defaults = { temp: 0.6, top_k: 20, top_p: 0.95, min_p: 0.05, penalty_last_n: 64 };
  await withDefaults(defaults, async (engine, warnings) => {
    assertEquals(warnings, []);
    assertEquals(engine.samplingDefaults, {
      temperature: 0.6,
      topK: 20,
      topP: 0.95,
      minP: 0.05,
      repeatLastN: 64,
    });
    const prompt = promptOf(10);
    const said = { temperature: 0.6, topK: 20, topP: 0.95, minP: 0.05 };
    const plain = { temperature: 1.5, topK: 0, topP: 1, minP: 0 };
    const text = async (engine: Engine, sampling: Partial<SamplingParameters>) =>
      (await collect(engine.generate(drawing(prompt, 30, sampling)))).tokens;
    const silent = await text(engine, {});
    const explicit = await text(engine, plain);
    await withEngine({}, async (other) => {
      assertEquals(other.samplingDefaults, {});
      assertEquals(await text(other, said), silent);
      assertEquals(await text(other, plain), explicit);
    });
    assertNotEquals(silent, explicit);
  });
});

Deno.test("what a request asks for goes before the model's defaults that would contradict it", async () => {
  const sampling = { minTokens: 20, ignoreEos: true, temperature: 0 };
  const defaults = { sampling, stop: [] };
  await using engine = await loadEngine({ defaults });
  const prompt = promptOf(10);
  const { tokens, error } = await collect(engine.generate({ prompt, maxTokens: 5 }));
  assertEquals([tokens.length, error], [5, undefined]);
  const constraint = { kind: "choice", texts: ["a"] } as const;
  const held = await collect(engine.generate({ prompt, maxTokens: 5, constraint }));
  assertEquals([held.finishReason, held.error], ["stop", undefined]);
});

Deno.test("recommendations that no request may have are not used, and reported", async () => {
  const defaults = { temp: -1, top_k: 40, mirostat: 1, min_p: "much", sequence: "kpmt", top_p: 0 };
  await withDefaults(defaults, (engine, warnings) => {
    assertEquals(engine.samplingDefaults, { topK: 40, topP: 0 });
    assertEquals(warnings, [
      "the model's general.sampling.temp is not used: temperature is -1; wanted a number from 0 to 100",
      "the model's general.sampling.mirostat is not used: mirostat is 1, which there is not; wanted " +
      "2, its successor, or 0 for none",
      `the model's general.sampling.min_p is not used: ${engine.model.path}: metadata ` +
      '"general.sampling.min_p": got string "much", wanted a number',
      "the model's general.sampling.sequence is not known, and not used",
    ]);
    return Promise.resolve();
  });
});

Deno.test("parameters out of range are refused by the names that requests have for them", async () => {
  const wrong: readonly [Partial<SamplingParameters>, string, RegExp][] = [
    [{ typicalP: 1.1 }, "typical_p", /wanted a number from 0 to 1/],
    [{ repeatLastN: -2 }, "repeat_last_n", /wanted an integer from -1/],
    [{ repeatLastN: 1.5 }, "repeat_last_n", /wanted an integer/],
    [{ dryMultiplier: NaN }, "dry_multiplier", /is NaN/],
    [{ dryBase: 0.5 }, "dry_base", /from 1 to 100/],
    [{ dryAllowedLength: 0 }, "dry_allowed_length", /an integer from 1/],
    [{ dryPenaltyLastN: -2 }, "dry_penalty_last_n", /an integer from -1/],
    [{ drySequenceBreakers: new Array(33).fill("a") }, "dry_sequence_breakers", /33 strings/],
    [{ drySequenceBreakers: ["a", ""] }, "dry_sequence_breakers", /index 1 has 0 characters/],
    [{ drySequenceBreakers: ["a".repeat(65)] }, "dry_sequence_breakers", /65 characters/],
    [{ xtcProbability: 2 }, "xtc_probability", /from 0 to 1/],
    [{ xtcThreshold: -1 }, "xtc_threshold", /from 0 to 1/],
    [{ mirostat: 1 }, "mirostat", /wanted 2/],
    [{ mirostat: 3 }, "mirostat", /an integer from 0 to 2/],
    [{ mirostatTau: -1 }, "mirostat_tau", /from 0 to 100/],
    [{ mirostatEta: Infinity }, "mirostat_eta", /from 0 to 1/],
    [{ dynatempRange: 101 }, "dynatemp_range", /from 0 to 100/],
    [{ dynatempExponent: 0 }, "dynatemp_exponent", /above 0, up to 10/],
    [{ minTokens: -1 }, "min_tokens", /an integer from 0/],
    [{ minTokens: 11 }, "min_tokens", /no more than max_tokens, 10/],
  ];
  await using engine = await loadEngine();
  for (const [sampling, param, message] of wrong) {
    const request = drawing(promptOf(3), 10, sampling);
    const error = assertThrows(() => engine.generate(request), M40Error, undefined, param);
    assertEquals([error.code, error.param], ["invalid_request", param]);
    assert(message.test(error.message), error.message);
  }
  return Promise.resolve();
});

Deno.test("tokens that a request stops at end the output and are not in it, concurrently with others that do not stop there", async () => {
  await using engine = await loadEngine({ parallel: 2 });
  const free = asking(promptOf(20), 12);
  const { tokens } = await collect(engine.generate(free));
  assertEquals(tokens.length, 12);
  const at = tokens.findIndex((token, i) => i > 2 && tokens.indexOf(token) === i);
  assert(at > 0, "the answer has one token alone");
  const stopTokens = [tokens[at], 7];
  const [stopped, concurrent] = await answers(engine, [{ ...free, stopTokens }, free]);
  assertEquals(stopped.tokens, tokens.slice(0, at));
  assertEquals(stopped.finishReason, "stop");
  assertEquals(concurrent.tokens, tokens);
  // The model's own end is ignored then, a request's is not.
  const on = { ...free, stopTokens, sampling: { temperature: 0, ignoreEos: true } };
  const ignoring = await collect(engine.generate({ ...on, stopTokens: [] }));
  const end = ignoring.tokens.indexOf(stopTokens[0]);
  if (end >= 0) {
    assertEquals((await collect(engine.generate(on))).tokens, ignoring.tokens.slice(0, end));
  }
  const later = { ...free, stopTokens, sampling: { ...free.sampling, minTokens: at + 2 } };
  const { tokens: longer } = await collect(engine.generate(later));
  assert(longer.length >= at + 2, "it stops before it has so many tokens");
  assertEquals(longer.slice(0, at), tokens.slice(0, at));
});

Deno.test("what stops a request must be tokens of the model", async () => {
  await using engine = await loadEngine();
  const wrong = (stopTokens: number[], message: string) => {
    const error = assertThrows(
      () => engine.generate({ ...asking([5], 2), stopTokens }),
      M40Error,
      message,
    );
    assertEquals([error.code, error.param], ["invalid_request", "stop_token_ids"]);
  };
  wrong([3, 352], "names token 352; wanted an id from 0 to 351");
  wrong([-1], "names token -1");
  wrong([1.5], "names token 1.5");
  wrong(Array(129).fill(3), "has 129 tokens; wanted at most 128");
  return Promise.resolve();
});
