import { assert, assertAlmostEquals, assertEquals, assertLess } from "@std/assert";
import { GREEDY, type StepSampling } from "../../engine/device/step_sampling.ts";
import type { Sample } from "../../engine/device/step_result.ts";
import { TokenCounts } from "../../engine/device/token_counts.ts";
import { BACKEND, Random } from "../fixtures/device_harness.ts";
import { philox } from "../fixtures/philox.ts";
import { sampleRows } from "../fixtures/sample_rows.ts";

// The sample operation against an independent version of m40_sampling with whole sorts.

/** The token that m40_sampling's description leads to. */
function sampled(logits: Float32Array, s: StepSampling): number {
  const l = Array.from(logits);
  for (const [token, count] of s.tokenCounts ?? []) {
    const repeated = l[token] > 0
      ? l[token] / Math.fround(s.repetitionPenalty)
      : l[token] * Math.fround(s.repetitionPenalty);
    l[token] = Math.fround(
      repeated - count * Math.fround(s.frequencyPenalty) -
        (count > 0 ? Math.fround(s.presencePenalty) : 0),
    );
  }
  for (const [token, bias] of s.tokenBiases ?? []) l[token] = Math.fround(l[token] + bias);
  let order = [...l.keys()].filter((t) => !s.mask || (s.mask[t >> 5] >>> (t & 31)) & 1);
  order.sort((a, b) => l[b] - l[a] || a - b);
  if (s.temperature === 0) return order[0];
  const odds = (token: number) => Math.exp((l[token] - l[order[0]]) / Math.fround(s.temperature));
  const best = order[0];
  order = order.filter((token) => token === best || odds(token) >= Math.fround(s.minP));
  if (s.topK > 0) order = order.slice(0, s.topK);
  const total = order.reduce((sum, token) => sum + odds(token), 0);
  let kept = 0;
  let sum = 0;
  while (kept < order.length && (kept === 0 || sum < total * Math.fround(s.topP))) {
    sum += odds(order[kept++]);
  }
  if (s.topP === 1) kept = order.length;
  order = order.slice(0, kept);
  sum = order.reduce((sum, token) => sum + odds(token), 0);
  const [word] = philox([s.counter, s.stream, 0, 0], [
    Number(s.seed & 0xFFFFFFFFn),
    Number(s.seed >> 32n),
  ]);
  let passed = 0;
  for (const token of order) {
    passed += odds(token);
    if (passed > sum * word / 2 ** 32) return token;
  }
  return order.at(-1)!;
}

/** Samples one row of logits an output, none of which may fail. */
async function sample(
  rows: Float32Array[],
  samplings: StepSampling[],
  threads = 2,
): Promise<readonly Sample[]> {
  const outputs = await sampleRows(rows, samplings, { threads });
  return outputs.map(({ status, sample }) => {
    assertEquals(status, "ok");
    return sample!;
  });
}

Deno.test("Philox4x32-10 gives the paper's known answers, in the tests' own version", () => {
  const hex = (words: number[]) => words.map((word) => word.toString(16).padStart(8, "0"));
  const ones = 0xFFFFFFFF;
  assertEquals(hex(philox([0, 0, 0, 0], [0, 0])), ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]);
  assertEquals(
    hex(philox([ones, ones, ones, ones], [ones, ones])),
    ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"],
  );
  assertEquals(
    hex(philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0])),
    ["d16cfe09", "94fdcceb", "5001e420", "24126ea1"],
  );
});

Deno.test("of 2^20 equal logits, the sampled token is the high bits of Philox's first word", async () => {
  const random = new Random(1);
  const logits = new Float32Array(1 << 20).fill(0.5);
  const keys = [[0, 0, 0], ...Array.from({ length: 6 }, () => [0, 0, 0].map(() => random.word()))];
  const samples = await sample(
    keys.map(() => logits),
    keys.map(([low, high, counter]) => ({
      ...GREEDY,
      temperature: 1,
      seed: BigInt(high) << 32n | BigInt(low),
      counter,
    })),
  );
  assertEquals(samples[0].token, 0x6627e8d5 >>> 12);
  assertEquals(
    samples.map(({ token }) => token),
    keys.map(([low, high, counter]) => philox([counter, 0, 0, 0], [low, high])[0] >>> 12),
  );
});

Deno.test("temperature 0 takes the largest logit, the lowest id where several are equal", async () => {
  const logits = Float32Array.of(-1, 3, 2, 3, -5, 3);
  const masked = { ...GREEDY, mask: Uint32Array.of(0b111101) };
  const biased = { ...GREEDY, tokenBiases: new Map([[4, 8.5]]) };
  const penalised = {
    ...GREEDY,
    repetitionPenalty: 2,
    tokenCounts: new TokenCounts([[1, 0], [3, 0]]),
  };
  const samples = await sample(new Array(4).fill(logits), [GREEDY, masked, biased, penalised]);
  assertEquals(samples.map(({ token }) => token), [1, 3, 4, 5]);
});

const PARAMETERS: Record<string, Partial<StepSampling>> = {
  "temperature 0.1": { temperature: 0.1 },
  "temperature 5": { temperature: 5 },
  "a temperature that is the smallest float": { temperature: 1.4e-45 },
  "top_k 1": { topK: 1 },
  "top_k 7": { topK: 7 },
  "top_k larger than the vocabulary": { topK: 5000 },
  "top_p 0.5": { topP: 0.5 },
  "top_p 0.999": { topP: 0.999 },
  "top_p next to nothing": { topP: 1e-6 },
  "min_p 0.1": { minP: 0.1 },
  "min_p 1": { minP: 1 },
  "min_p, top_k and top_p together": { minP: 0.02, topK: 12, topP: 0.8 },
  "repetition penalty": {
    repetitionPenalty: 1.5,
    tokenCounts: new TokenCounts([[0, 0], [3, 2], [9, 1]]),
  },
  "a repetition penalty below 1": {
    repetitionPenalty: 0.5,
    tokenCounts: new TokenCounts([[5, 1]]),
  },
  "frequency penalty": {
    frequencyPenalty: 0.7,
    tokenCounts: new TokenCounts([[1, 3], [2, 0], [40, 1]]),
  },
  "presence penalty": {
    presencePenalty: 1.5,
    tokenCounts: new TokenCounts([[1, 3], [2, 0], [40, 1]]),
  },
  "negative penalties": {
    presencePenalty: -1.5,
    frequencyPenalty: -2,
    tokenCounts: new TokenCounts([[1, 3], [40, 1]]),
  },
  "biases": { tokenBiases: new Map([[0, 4], [1, -100], [999, 5]]) },
  "a mask": { mask: new Uint32Array(32).fill(0x00010100) },
  "another stream of the seed": { stream: 0xFEDCBA98 },
  "a mask with biases and top_p": {
    mask: new Uint32Array(32).fill(0x11111111),
    tokenBiases: new Map([[0, 6], [1, 100]]),
    topP: 0.9,
  },
};

for (const [name, changes] of Object.entries(PARAMETERS)) {
  Deno.test(`every sample is the one described: ${name}`, async () => {
    const random = new Random(2);
    const draws = 60;
    const vocab = 1000;
    // Halves: many logits are equal.
    const rows = Array.from(
      { length: draws },
      () => random.floats(vocab, 2).map((value) => Math.round(2 * value) / 2),
    );
    const samplings = rows.map((_, i): StepSampling => ({
      ...GREEDY,
      temperature: 0.8,
      seed: 0x1234_5678_9ABC_DEF0n,
      counter: i,
      ...changes,
    }));
    const samples = await sample(rows, samplings);
    assertEquals(
      samples.map(({ token }) => token),
      rows.map((logits, i) => sampled(logits, samplings[i])),
    );
  });
}

/** The emulation is slow. */
const DRAWS = BACKEND === "emulated" ? 2000 : 20_000;

Deno.test(`${DRAWS} samples have the distribution of the softmax`, async () => {
  const vocab = 40;
  const logits = new Random(3).floats(vocab, 1.5);
  const counts = new Array(vocab).fill(0);
  const draws = DRAWS;
  for (let first = 0; first < draws; first += 1000) {
    const samplings = Array.from({ length: 1000 }, (_, i) => ({
      ...GREEDY,
      temperature: 1.3,
      seed: 99n,
      counter: first + i,
    }));
    const samples = await sample(new Array(1000).fill(logits), samplings);
    for (const { token } of samples) counts[token]++;
  }
  const odds = Array.from(logits, (value) => Math.exp(value / 1.3));
  const total = odds.reduce((a, b) => a + b);
  const chiSquare = odds.reduce((sum, p, i) => {
    const wanted = draws * p / total;
    return sum + (counts[i] - wanted) ** 2 / wanted;
  }, 0);
  // 39 degrees of freedom: 72.1 is passed once in a thousand seeds.
  assertLess(chiSquare, 72.1);
  assert(counts.filter((n) => n > 0).length > 30, "most tokens are sampled at some time");
});

Deno.test("log-probabilities are the model's own, whatever the sampling parameters", async () => {
  const random = new Random(4);
  const vocab = 3000;
  const logits = random.floats(vocab, 4);
  logits[17] = logits[2000] = 30;
  const total = Math.log(logits.reduce((sum, value) => sum + Math.exp(value - 30), 0)) + 30;
  const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b);
  const parameters = {
    ...GREEDY,
    temperature: 3,
    topK: 5,
    tokenBiases: new Map([[17, -50]]),
    seed: 5n,
  };
  const rows = [0, 1, 20].map((topLogprobs) => ({ ...parameters, topLogprobs }));
  const samples = await sample(rows.map(() => logits), rows);
  samples.forEach(({ token, logprob, top }, i) => {
    assertAlmostEquals(logprob, logits[token] - total, 1e-5);
    assertEquals(top.map((t) => t.token), order.slice(0, rows[i].topLogprobs));
    for (const t of top) assertAlmostEquals(t.logprob, logits[t.token] - total, 1e-5);
  });
});

Deno.test("a token does not depend on the other outputs of the step, nor on the threads", async () => {
  const random = new Random(5);
  const rows = Array.from({ length: 9 }, () => random.floats(500, 2));
  const samplings = rows.map((_, i): StepSampling => ({
    ...GREEDY,
    temperature: 1,
    topP: 0.9,
    seed: BigInt(i),
    tokenCounts: new TokenCounts([[i, 3]]),
    tokenBiases: new Map([[i + 1, 2]]),
    mask: i % 2 ? new Uint32Array(16).fill(0x55555555) : undefined,
    topLogprobs: 2,
  }));
  const together = await sample(rows, samplings, 3);
  for (let i = 0; i < rows.length; i++) {
    assertEquals(await sample([rows[i]], [samplings[i]], 1), [together[i]]);
  }
});

Deno.test("logits that are not finite, and a mask that forbids every token, fail their own outputs alone", async () => {
  const random = new Random(6);
  for (const bad of [NaN, Infinity, -Infinity]) {
    const rows = Array.from({ length: 5 }, () => random.floats(1500));
    rows[1][700] = bad;
    rows[3][0] = bad;
    const drawing = { ...GREEDY, temperature: 1, topLogprobs: 2 };
    const nothing = { ...drawing, mask: new Uint32Array(Math.ceil(1500 / 32)) };
    const samplings = [drawing, drawing, nothing, nothing, GREEDY];
    const got = await sampleRows(rows, samplings);
    const healthy = await sample([rows[0], rows[4]], [drawing, GREEDY]);
    assertEquals(got, [
      { status: "ok", sample: healthy[0] },
      { status: "not_finite" },
      { status: "nothing_allowed" },
      { status: "not_finite" },
      { status: "ok", sample: healthy[1] },
    ]);
  }
});

Deno.test("streams of one seed differ; extreme penalties and biases are no failures", async () => {
  const logits = new Random(6).floats(64);
  const streams = Array.from(
    { length: 40 },
    (_, stream) => ({ ...GREEDY, temperature: 1, seed: 7n, stream }),
  );
  const sampled = await sample(streams.map(() => logits), streams);
  assert(new Set(sampled.map(({ token }) => token)).size > 10, "the stream changes the token");
  const huge = 3e38;
  const extreme: StepSampling[] = [
    { ...GREEDY, temperature: 1, tokenBiases: new Map([[3, huge], [4, huge], [5, -huge]]) },
    {
      ...GREEDY,
      temperature: 1e-30,
      repetitionPenalty: 1e-38,
      tokenCounts: new TokenCounts([[0, 0], [1, 4e9], [2, 1]]),
      frequencyPenalty: -huge,
      presencePenalty: huge,
    },
  ];
  for (const { token } of await sample([logits, logits], extreme)) {
    assert(token >= 0 && token < 64);
  }
});
