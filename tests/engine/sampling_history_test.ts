import { assert, assertEquals } from "@std/assert";
import { DryPenalties } from "../../engine/sampling/dry.ts";
import { SAMPLING_DEFAULTS, type SamplingParameters } from "../../engine/sampling/parameters.ts";
import { SequenceSampling } from "../../engine/sampling/sequence_sampling.ts";
import { Random } from "../fixtures/random.ts";

// The incremental history of sampling, compared with a fresh look at all earlier tokens.

const END = 0;
const TEXTS = ["", "a", "b", "c", "\n", "x:", ":y", "-", "-!", "z"];
const encoder = new TextEncoder();
const tokenBytes = (token: number) => encoder.encode(TEXTS[token] ?? "");

function samplingOf(
  prompt: readonly number[],
  sampling: Partial<SamplingParameters>,
  more: Partial<ConstructorParameters<typeof SequenceSampling>[0]> = {},
): SequenceSampling {
  return new SequenceSampling({
    prompt,
    sampling: { ...SAMPLING_DEFAULTS, seed: 1, ...sampling },
    topLogprobs: 0,
    endTokens: new Set([END]),
    tokenBytes,
    ...more,
  });
}

const sampleOf = (token: number) => ({ token, logprob: 0, top: [] });

/** What a token that would follow loses by DRY, looked up in all of the past. */
function dryPenalties(tokens: readonly number[], options: SamplingParameters): Map<number, number> {
  const n = options.dryPenaltyLastN;
  const past = n < 0 ? tokens : tokens.slice(Math.max(0, tokens.length - n));
  const text = (from: number, to: number) =>
    past.slice(from, to).map((token) => TEXTS[token] ?? "").join("");
  const breaks = (index: number) =>
    options.drySequenceBreakers.some((breaker) => {
      // It ends within the token's own text.
      const before = [...Array(index).keys()].reduce((sum, i) => sum + text(i, i + 1).length, 0);
      const own = text(index, index + 1).length;
      const all = text(0, index + 1);
      for (let at = all.indexOf(breaker); at >= 0; at = all.indexOf(breaker, at + 1)) {
        if (at + breaker.length > before && at + breaker.length <= before + own) return true;
      }
      return false;
    });
  const longest = new Map<number, number>();
  for (let next = 1; next < past.length; next++) {
    let length = 0;
    while (
      length < next && past[next - 1 - length] === past[past.length - 1 - length] &&
      !breaks(past.length - 1 - length)
    ) length++;
    if (length >= options.dryAllowedLength) {
      longest.set(past[next], Math.max(longest.get(past[next]) ?? 0, length));
    }
  }
  return new Map(
    [...longest].map(([token, length]) => [
      token,
      options.dryMultiplier * options.dryBase ** (length - options.dryAllowedLength),
    ]),
  );
}

const sorted = (entries: Iterable<readonly [number, number]> | undefined) =>
  [...entries ?? []].sort(([a], [b]) => a - b);

const negated = (entries: Iterable<readonly [number, number]> | undefined) =>
  sorted(entries).map(([token, bias]) => [token, -bias] as const);

Deno.test("DRY penalises what would go on a repetition as the formula says, at every token of random texts", () => {
  const random = new Random(7);
  for (let life = 0; life < 100; life++) {
    const alphabet = 2 + random.below(8);
    const token = () => 1 + random.below(alphabet);
    const prompt = Array.from({ length: 1 + random.below(40) }, token);
    const options = {
      ...SAMPLING_DEFAULTS,
      dryMultiplier: 0.8,
      dryBase: 1.75,
      dryAllowedLength: 1 + random.below(4),
      dryPenaltyLastN: random.once(2) ? -1 : 1 + random.below(30),
      drySequenceBreakers: [["\n", ":"], [], ["-", "a\n"], ["-!z", ":y"]][random.below(4)],
    };
    const sampling = samplingOf(prompt, options);
    const tokens = [...prompt];
    for (let i = 0; i < 30; i++) {
      assertEquals(
        negated(sampling.next().tokenBiases),
        sorted(dryPenalties(tokens, options)),
        `${tokens} ${JSON.stringify(options)}`,
      );
      const drafts = Array.from({ length: random.below(4) }, token);
      drafts.forEach((_, n) => {
        const upTo = drafts.slice(0, n + 1);
        assertEquals(
          negated(sampling.next(upTo).tokenBiases),
          sorted(dryPenalties([...tokens, ...upTo], options)),
          "after drafts",
        );
      });
      const next = token();
      sampling.append(sampleOf(next));
      tokens.push(next);
    }
  }
});

Deno.test("a window of penalties counts the last tokens and no others, the answer's in the answer's penalties", () => {
  const random = new Random(3);
  for (let life = 0; life < 200; life++) {
    const prompt = Array.from({ length: 1 + random.below(20) }, () => random.below(9));
    const repeatLastN = [-1, 1, 2, 5, 17, 100][random.below(6)];
    const sampling = samplingOf(prompt, { repetitionPenalty: 1.1, repeatLastN });
    const tokens = [...prompt];
    const counted = (all: readonly number[]) => {
      const first = repeatLastN < 0 ? 0 : Math.max(0, all.length - repeatLastN);
      const counts = new Map<number, number>();
      all.forEach((token, i) => {
        if (i < first) return;
        counts.set(token, (counts.get(token) ?? 0) + (i < prompt.length ? 0 : 1));
      });
      return sorted(counts);
    };
    for (let i = 0; i < 30; i++) {
      const drafts = Array.from({ length: random.below(3) }, () => random.below(9));
      assertEquals(
        sorted(sampling.next(drafts).tokenCounts),
        counted([...tokens, ...drafts]),
        "after drafts",
      );
      const { tokenCounts } = sampling.next();
      assertEquals(sorted(tokenCounts), counted(tokens));
      assertEquals(tokenCounts!.words.length, 2 * tokenCounts!.size);
      assertEquals(
        sorted(
          Array.from(
            { length: tokenCounts!.size },
            (_, at) => [tokenCounts!.words[2 * at], tokenCounts!.words[2 * at + 1]] as const,
          ),
        ),
        counted(tokens),
        "as the step block takes them",
      );
      const next = random.below(9);
      sampling.append(sampleOf(next));
      tokens.push(next);
    }
  }
});

Deno.test("repeat_last_n 0 and no penalties count nothing", () => {
  assertEquals(
    samplingOf([1, 2], { repetitionPenalty: 1.1, repeatLastN: 0 }).next().tokenCounts,
    undefined,
  );
  assertEquals(samplingOf([1, 2], { repeatLastN: 5 }).next().tokenCounts, undefined);
});

Deno.test("penalties of repetitions are taken off the request's own biases, and stay finite however long it is", () => {
  const prompt = Array.from({ length: 400 }, (_, i) => 1 + i % 2);
  const logitBias = new Map([[1, 5], [7, -3]]);
  const { tokenBiases } = samplingOf(prompt, { dryMultiplier: 100, dryBase: 100, logitBias })
    .next();
  assertEquals([...tokenBiases!.keys()].sort(), [1, 7]);
  assertEquals(tokenBiases!.get(7), -3);
  assert(tokenBiases!.get(1)! < -1e29);
  assert(Number.isFinite(Math.fround(tokenBiases!.get(1)!)));
});

Deno.test("DRY penalises no more tokens than a step has room for: those that would go on the longest repetitions", () => {
  // The last token occurs before 3000 others; before the first ten of these, after a 2 as it does now.
  const prompt = Array.from({ length: 3000 }, (_, i) => [i < 10 ? 2 : 3, 1, 100 + i]).flat();
  const dry = new DryPenalties(
    [...prompt, 2, 1],
    { ...SAMPLING_DEFAULTS, dryMultiplier: 1, dryAllowedLength: 1 },
    tokenBytes,
  );
  const penalties = dry.penalties();
  assertEquals(penalties.size, 1024);
  for (let i = 0; i < 10; i++) assertEquals(penalties.get(100 + i), 1.75);
});

Deno.test("the answer does not end before min_tokens, nor ever where end tokens are ignored", () => {
  const least = samplingOf([1], { minTokens: 2 });
  assertEquals(least.next().forbidden, new Set([END]));
  assertEquals(least.next([3]).forbidden, new Set([END]), "token 2, after a draft");
  assertEquals(least.next([3, 4]).forbidden, undefined, "token 3, after two drafts");
  least.append(sampleOf(3));
  least.append(sampleOf(4));
  assertEquals(least.next().forbidden, undefined);
  const ignoring = samplingOf([1], { ignoreEos: true });
  for (let i = 0; i < 5; i++) ignoring.append(sampleOf(2));
  assertEquals(ignoring.next().forbidden, new Set([END]));
  const none = samplingOf([1], { ignoreEos: true }, { endTokens: new Set() });
  assertEquals(none.next().forbidden, undefined);
});

Deno.test("steering is asked after the answer so far, and after each draft", () => {
  const asked: number[][] = [];
  const steering = {
    next(generated: readonly number[]) {
      asked.push([...generated]);
      return generated.length === 2 ? 9 : undefined;
    },
  };
  const sampling = samplingOf([5, 6], {}, { steering });
  sampling.append(sampleOf(7));
  assertEquals(sampling.next().only, undefined);
  assertEquals(sampling.next([8]).only, 9);
  sampling.append(sampleOf(8));
  assertEquals(sampling.next().only, 9);
  assertEquals(asked, [[7], [7, 8], [7, 8]]);
});

Deno.test("mirostat's cut starts at twice the surprise wanted and follows what was sampled, but not what was forced", () => {
  const steering = {
    next: (generated: readonly number[]) => generated.length === 1 ? 9 : undefined,
  };
  const sampling = samplingOf(
    [1],
    { mirostat: 2, mirostatTau: 5, mirostatEta: 0.25 },
    { steering },
  );
  assertEquals([sampling.next().mirostat, sampling.next().mirostatMu], [2, 10]);
  sampling.append({ ...sampleOf(3), surprise: 7 });
  assertEquals(sampling.next().mirostat, 0);
  sampling.append(sampleOf(9));
  assertEquals([sampling.next().mirostat, sampling.next().mirostatMu], [2, 9.5]);
  sampling.append({ ...sampleOf(4), surprise: 1 });
  assertEquals(sampling.next().mirostatMu, 10.5);
  assert(!sampling.canDraft, "a draft would be sampled by a cut that its own sample changes");
  assert(samplingOf([1], {}).canDraft);
  assert(samplingOf([1], { mirostat: 2, temperature: 0 }).canDraft);
});
