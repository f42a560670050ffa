import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { GREEDY, type StepSampling } from "../../engine/device/step_sampling.ts";
import type { Sample, StepOutput } from "../../engine/device/step_result.ts";
import { TokenCounts } from "../../engine/device/token_counts.ts";
import { BACKEND, Random } from "../fixtures/device_harness.ts";
import { philox } from "../fixtures/philox.ts";
import { sampleRows } from "../fixtures/sample_rows.ts";

// Shaped sampling (typical_p, XTC, dynamic temperature, mirostat 2) against an independent version of m40_sampling in
// float64 with whole sorts.

/** A token that is left, and its share of the likeliest's probability. */
interface Kept {
  readonly token: number;
  readonly logit: number;
  readonly weight: number;
}

/** The token that m40_sampling's description leads to, and its surprise with mirostat. */
function sampled(logits: Float32Array, s: StepSampling): { token: number; surprise?: number } {
  const single = (value: number) => Math.fround(value);
  const [word, chance] = philox([s.counter, s.stream, 0, 0], [
    Number(s.seed & 0xFFFFFFFFn),
    Number(s.seed >> 32n),
  ]);
  const l = Array.from(logits);
  for (const [token, count] of s.tokenCounts ?? []) {
    l[token] -= count * single(s.frequencyPenalty) + (count > 0 ? single(s.presencePenalty) : 0);
    l[token] = single(l[token]);
  }
  for (const [token, bias] of s.tokenBiases ?? []) l[token] = single(l[token] + bias);
  for (const token of s.forbidden ?? []) l[token] = -Infinity;
  const order = [...l.keys()].filter((token) =>
    l[token] > -Infinity && (!s.mask || (s.mask[token >> 5] >>> (token & 31)) & 1)
  );
  order.sort((a, b) => l[b] - l[a] || a - b);
  const weigh = (tokens: readonly number[], temperature: number): Kept[] =>
    tokens.map((token) => ({
      token,
      logit: l[token],
      weight: Math.exp((l[token] - l[tokens[0]]) / temperature),
    })).filter(({ weight }) => weight * 2 ** 41 >= 0.5);
  const sum = (tokens: readonly Kept[]) => tokens.reduce((all, { weight }) => all + weight, 0);
  /** As many as it takes to reach a share. */
  const reaching = (tokens: readonly Kept[], share: number) => {
    const wanted = sum(tokens) * single(share);
    let passed = 0;
    const n = tokens.findIndex(({ weight }) => (passed += weight) >= wanted);
    return n < 0 ? tokens : tokens.slice(0, n + 1);
  };

  const dynamic = s.dynatempRange > 0;
  const first = dynamic ? 1 : single(s.temperature);
  let kept: readonly Kept[] = weigh(order, first);
  kept = kept.filter(({ weight }) => weight >= single(s.minP));
  if (s.topK > 0) kept = kept.slice(0, s.topK);
  const depth = ({ logit }: Kept) => (l[order[0]] - logit) / first;
  if (s.typicalP < 1) {
    const total = sum(kept);
    const grid = (value: number) => Math.floor(value * 2 ** 24 + 0.5);
    const mean = grid(kept.reduce((all, one) => all + one.weight * depth(one), 0) / total);
    const away = (one: Kept) => Math.abs(grid(depth(one)) - mean);
    const typical = kept.toSorted((a, b) => away(a) - away(b) || a.token - b.token);
    kept = reaching(typical, s.typicalP).toSorted((a, b) => b.logit - a.logit || a.token - b.token);
  }
  if (s.topP < 1) kept = reaching(kept, s.topP);
  if (chance / 2 ** 32 < single(s.xtcProbability)) {
    const least = single(s.xtcThreshold) * sum(kept);
    const top = kept.filter(({ weight }) => weight >= least);
    if (top.length > 1) kept = kept.slice(top.length - 1);
  }
  let temperature = first;
  if (dynamic) {
    const total = sum(kept);
    const entropy = -kept.reduce((all, { weight: w }) => all + w / total * Math.log(w / total), 0);
    const share = kept.length < 2 ? 0 : Math.max(0, entropy / Math.log(kept.length));
    const low = Math.max(0, single(s.temperature) - single(s.dynatempRange));
    const high = single(s.temperature) + single(s.dynatempRange);
    temperature = low + (high - low) * Math.min(share, 1) ** single(s.dynatempExponent);
  }
  const tokens = kept.map(({ token }) => token);
  kept = temperature === 0 ? weigh(tokens.slice(0, 1), 1) : weigh(tokens, temperature);
  let total = sum(kept);
  const surprise = ({ weight }: Kept) => -Math.log2(weight / total);
  if (s.mirostat) {
    kept = kept.filter((one, i) => i === 0 || surprise(one) <= single(s.mirostatMu));
    total = sum(kept);
  }
  const target = total * word / 2 ** 32;
  let passed = 0;
  const one = kept.find(({ weight }) => (passed += weight) > target) ?? kept.at(-1)!;
  return { token: one.token, surprise: s.mirostat ? surprise(one) : undefined };
}

/** The CPU library, where the tests are of another and it is built. */
const CPU = fromFileUrl(new URL("../../dist/libm40_cpu.so", import.meta.url));
const BESIDE_CPU = BACKEND !== "cpu" && isFile(CPU);

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** The same where none may fail; the CPU library samples every token as this one does, to the last bit. */
async function sample(
  rows: readonly Float32Array[],
  samplings: readonly StepSampling[],
): Promise<readonly Sample[]> {
  const outputs = await sampleRows(rows, samplings);
  if (BESIDE_CPU) {
    const choice = ({ status, sample }: StepOutput) => [status, sample?.token, sample?.surprise];
    const cpu = await sampleRows(rows, samplings, { library: CPU });
    assertEquals(outputs.map(choice), cpu.map(choice));
  }
  return outputs.map(({ status, sample }) => {
    assertEquals(status, "ok");
    return sample!;
  });
}

/** Each row is sampled from as described. */
async function assertDescribed(
  rows: readonly Float32Array[],
  samplings: readonly StepSampling[],
): Promise<void> {
  const samples = await sample(rows, samplings);
  samples.forEach(({ token, surprise }, i) => {
    const wanted = sampled(rows[i], samplings[i]);
    assertEquals(token, wanted.token, `output ${i}: ${describe(samplings[i])}`);
    if (wanted.surprise === undefined) assertEquals(surprise, undefined);
    else assertAlmostEquals(surprise!, wanted.surprise, 1e-5);
  });
}

function describe(sampling: StepSampling): string {
  return JSON.stringify(sampling, (_, value) => typeof value === "bigint" ? String(value) : value);
}

/** The emulation is slow. */
const DRAWS = BACKEND === "emulated" ? 10 : 40;
const XTC_DRAWS = BACKEND === "emulated" ? 200 : 4000;

const DRAWING: StepSampling = { ...GREEDY, temperature: 0.8, seed: 0x1234_5678_9ABC_DEF0n };

const SHAPES: Record<string, Partial<StepSampling>> = {
  "typical_p 0.5": { typicalP: 0.5 },
  "typical_p 0.95": { typicalP: 0.95 },
  "typical_p next to nothing": { typicalP: 1e-30 },
  "typical_p in what top_k and min_p leave, before top_p": {
    typicalP: 0.7,
    topK: 40,
    minP: 0.01,
    topP: 0.9,
  },
  "XTC": { xtcProbability: 0.5, xtcThreshold: 0.05 },
  "XTC always": { xtcProbability: 1, xtcThreshold: 0.01 },
  "XTC with a threshold that no two tokens reach": { xtcProbability: 1, xtcThreshold: 0.6 },
  "XTC with a threshold that all reach": { xtcProbability: 1, xtcThreshold: 0 },
  "dynamic temperature": { dynatempRange: 0.5 },
  "dynamic temperature from 0 on, with an exponent": { dynatempRange: 2, dynatempExponent: 2.5 },
  "dynamic temperature with an exponent below 1": { dynatempRange: 0.4, dynatempExponent: 0.3 },
  "mirostat": { mirostat: 2, mirostatMu: 4 },
  "mirostat that leaves the likeliest alone": { mirostat: 2, mirostatMu: -3 },
  "mirostat that cuts nothing": { mirostat: 2, mirostatMu: 100 },
  "a temperature that is the smallest float": { temperature: 1.4e-45, typicalP: 0.9 },
  "a temperature that is the largest": { temperature: 3.4e38, typicalP: 0.9 },
  "all of them": {
    topK: 200,
    topP: 0.97,
    minP: 0.001,
    typicalP: 0.9,
    xtcProbability: 0.6,
    xtcThreshold: 0.03,
    dynatempRange: 0.3,
    dynatempExponent: 1.4,
    mirostat: 2,
    mirostatMu: 5,
    frequencyPenalty: 0.3,
    tokenCounts: new TokenCounts([[1, 3], [40, 1]]),
    tokenBiases: new Map([[7, 2]]),
    forbidden: new Set([2, 5]),
    mask: new Uint32Array(32).fill(0xF0F0FFFF),
  },
};

for (const [name, changes] of Object.entries(SHAPES)) {
  Deno.test(`every shaped sample is the one described: ${name}`, async () => {
    const random = new Random(2);
    // Half of the rows have halves for logits: many are equal.
    const rows = Array.from({ length: DRAWS }, (_, i) => {
      const logits = random.floats(1000, 2);
      return i % 2 ? logits.map((value) => Math.round(2 * value) / 2) : logits;
    });
    await assertDescribed(rows, rows.map((_, counter) => ({ ...DRAWING, counter, ...changes })));
  });
}

/** Parameters at random: each sampler in half of the cases. */
function anyShape(random: Random, vocab: number): Partial<StepSampling> {
  const half = () => random.below(2) === 0;
  const share = () => (1 + random.below(1000)) / 1001;
  const some = (most: number) =>
    Array.from({ length: random.below(most) }, () => random.below(vocab));
  const mask = new Uint32Array(Math.ceil(vocab / 32)).map(() => random.word() | random.word());
  mask[0] |= 1;
  return {
    temperature: [0.05, 0.7, 1, 2, 30][random.below(5)],
    topK: half() ? 1 + random.below(2 * vocab) : 0,
    topP: half() ? share() : 1,
    minP: half() ? share() ** 4 : 0,
    typicalP: half() ? share() : 1,
    xtcProbability: half() ? share() : 0,
    xtcThreshold: share() ** 2,
    dynatempRange: half() ? 2 * share() : 0,
    dynatempExponent: half() ? 3 * share() : 1,
    mirostat: half() ? 2 : 0,
    mirostatMu: 20 * share() - 2,
    tokenBiases: half() ? new Map(some(9).map((token) => [token, random.below(9) - 4])) : undefined,
    forbidden: half() ? new Set(some(4).map((token) => 1 + token % vocab)) : undefined,
    mask: half() ? mask : undefined,
  };
}

Deno.test("samplers in any combination, over vocabularies of any size, sample as described", async () => {
  const random = new Random(12);
  for (const vocab of [1, 2, 3, 31, 33, 500, 2049, 9000]) {
    const rows = Array.from({ length: DRAWS }, (_, i) => {
      const logits = random.floats(vocab, [0, 0.01, 1, 4, 20][random.below(5)]);
      return i % 3 === 0 ? logits.map((value) => Math.round(value)) : logits;
    });
    const samplings = rows.map((_, counter) => {
      const shape = anyShape(random, vocab);
      // Tokens from 1 on may be forbidden, so that there is always one.
      const forbidden = vocab === 1
        ? undefined
        : new Set([...shape.forbidden ?? []].map((token) => 1 + token % (vocab - 1)));
      return { ...DRAWING, ...shape, forbidden, seed: BigInt(random.word()), counter };
    });
    await assertDescribed(rows, samplings);
  }
});

Deno.test("over 150,000 tokens, flat, nearly flat, steep and with most of them equal, samples are the ones described", async () => {
  const random = new Random(21);
  const vocab = 150_000;
  const rows = [
    new Float32Array(vocab).fill(-3),
    random.floats(vocab, 1e-3),
    random.floats(vocab, 3),
    random.floats(vocab, 3).map((value) => Math.round(value)),
  ];
  const shapes: Partial<StepSampling>[] = [
    { typicalP: 0.3, mirostat: 2, mirostatMu: 17.5 },
    { typicalP: 0.9, topP: 0.8, dynatempRange: 0.5 },
    { xtcProbability: 1, xtcThreshold: 0.00001, topK: 100_000 },
  ];
  for (const shape of BACKEND === "emulated" ? shapes.slice(0, 1) : shapes) {
    const samplings = rows.map((_, counter) => ({ ...DRAWING, ...shape, temperature: 1, counter }));
    await assertDescribed(rows, samplings);
  }
});

Deno.test("XTC leaves the likeliest tokens out as often as its probability says, whatever the token's own number", async () => {
  // Two tokens above the threshold; the likelier comes only where XTC does not act.
  const logits = Float32Array.of(2, 1.99, -4);
  const draws = XTC_DRAWS;
  const samplings = Array.from({ length: draws }, (_, counter) => ({
    ...DRAWING,
    temperature: 1,
    xtcProbability: 0.25,
    xtcThreshold: 0.1,
    seed: 77n,
    counter,
  }));
  const tokens = (await sample(samplings.map(() => logits), samplings)).map(({ token }) => token);
  const total = Math.exp(2) + Math.exp(1.99) + Math.exp(-4);
  const wanted = 0.75 * Math.exp(2) / total;
  const deviation = Math.sqrt(wanted * (1 - wanted) / draws);
  const got = tokens.filter((token) => token === 0).length / draws;
  // Four standard deviations: one seed in 16,000.
  assert(Math.abs(got - wanted) < 4 * deviation, `${got} of the samples; wanted ${wanted}`);
});

Deno.test("shaped sampling of an output changes no other output, nor do they change it", async () => {
  const random = new Random(5);
  const rows = Array.from({ length: 12 }, () => random.floats(3000, 2));
  const samplings = rows.map((_, i): StepSampling => ({
    ...DRAWING,
    topP: 0.9,
    counter: i,
    topLogprobs: i % 4,
    tokenBiases: i % 3 === 0 ? new Map([[i, 3]]) : undefined,
    ...(i % 2 ? { typicalP: 0.8, mirostat: i % 4 === 1 ? 2 : 0, mirostatMu: 6 } : {}),
  }));
  const together = await sample(rows, samplings);
  for (let i = 0; i < rows.length; i++) {
    assertEquals(await sample([rows[i]], [samplings[i]]), [together[i]]);
  }
});

Deno.test("the log-probabilities of a shaped sample are the model's own, of the sampled token", async () => {
  const logits = new Random(8).floats(5000, 3);
  const total = Math.log(logits.reduce((sum, value) => sum + Math.exp(value), 0));
  const shape = { xtcProbability: 1, xtcThreshold: 0.001, temperature: 2, topLogprobs: 5 };
  const samplings = Array.from({ length: 8 }, (_, counter) => ({ ...DRAWING, ...shape, counter }));
  for (const { token, logprob, top } of await sample(samplings.map(() => logits), samplings)) {
    assertAlmostEquals(logprob, logits[token] - total, 1e-5);
    const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b);
    assertEquals(top.map((one) => one.token), order.slice(0, 5));
  }
});

Deno.test("logits that are not finite and tokens that are all forbidden fail shaped sampling of their output alone", async () => {
  const rows = Array.from({ length: 4 }, () => new Random(6).floats(100));
  rows[1][50] = NaN;
  const shaped = { ...DRAWING, typicalP: 0.5, mirostat: 2, mirostatMu: 5 };
  const nothing = { ...shaped, forbidden: new Set([...rows[0].keys()]) };
  const few = { ...nothing, mask: Uint32Array.of(3, 0, 0, 0), forbidden: new Set([0, 1]) };
  const outputs = await sampleRows(rows, [shaped, shaped, nothing, few]);
  assertEquals(
    outputs.map(({ status }) => status),
    ["ok", "not_finite", "nothing_allowed", "nothing_allowed"],
  );
});

Deno.test("biases of -infinity forbid tokens, however often and with whatever else they are named", async () => {
  const logits = Float32Array.of(5, 4, 3, 2);
  const greedy = { ...GREEDY, forbidden: new Set([0]) };
  const both = { ...greedy, tokenBiases: new Map([[0, 100], [1, -50]]) };
  const only = { ...both, only: 3, tokenCounts: new TokenCounts([[3, 9]]), frequencyPenalty: 2 };
  const samples = await sample([logits, logits, logits], [greedy, both, only]);
  assertEquals(samples.map(({ token }) => token), [1, 2, 3]);
  const total = Math.log(logits.reduce((sum, value) => sum + Math.exp(value), 0));
  assertAlmostEquals(samples[2].logprob, 2 - total, 1e-6);
});
