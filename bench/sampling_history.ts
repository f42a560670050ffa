/**
 * What a token costs the host by the samplers that look at a sequence's past, in microseconds. The past has 32,768
 * tokens, for DRY and the window of penalties, in texts that repeat themselves in different ways. It is spent on the
 * event loop. `deno run -A bench/sampling_history.ts`
 *
 * @module
 */
import { SAMPLING_DEFAULTS, type SamplingParameters } from "../engine/sampling/parameters.ts";
import { SequenceSampling } from "../engine/sampling/sequence_sampling.ts";

const PROMPT_TOKENS = 32_768;
const SAMPLED_TOKENS = 500;
const VOCABULARY = 32_000;

/** Numerical Recipes' LCG, the same in every run: 0 to 1. */
let state = 1;
function random(): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
}

/** What comes next in a text. */
const TEXTS: Record<string, (index: number) => number> = {
  // The n-th most frequent word of a language is about 1/n as frequent as the first (Zipf).
  "as frequent as words": () => Math.floor(VOCABULARY ** random()) - 1,
  "any token alike": () => Math.floor(VOCABULARY * random()),
  "one line again and again": (index) => index % 40,
  "one token only": () => 7,
};

const SAMPLERS: Record<string, Partial<SamplingParameters>> = {
  "none": {},
  "penalties, all tokens": { repetitionPenalty: 1.1 },
  "penalties, the last 64": { repetitionPenalty: 1.1, repeatLastN: 64 },
  "DRY": { dryMultiplier: 0.8 },
  "DRY, the last 1024": { dryMultiplier: 0.8, dryPenaltyLastN: 1024 },
};

/** Texts of tokens: every hundredth ends a line. */
const NEWLINE = new TextEncoder().encode("\n");
const WORD = new TextEncoder().encode(" word");
const tokenBytes = (token: number) => token % 100 === 99 ? NEWLINE : WORD;

for (const [text, tokenAt] of Object.entries(TEXTS)) {
  const prompt = Array.from({ length: PROMPT_TOKENS }, (_, i) => tokenAt(i));
  for (const [name, changes] of Object.entries(SAMPLERS)) {
    const sampling = { ...SAMPLING_DEFAULTS, seed: 1, ...changes };
    const start = performance.now();
    const sequence = new SequenceSampling({
      prompt,
      sampling,
      topLogprobs: 0,
      endTokens: new Set(),
      tokenBytes,
    });
    const made = performance.now();
    const times: number[] = [];
    for (let i = 0; i < SAMPLED_TOKENS; i++) {
      const before = performance.now();
      sequence.next();
      sequence.append({ token: tokenAt(PROMPT_TOKENS + i), logprob: 0, top: [] });
      times.push(1000 * (performance.now() - before));
    }
    times.sort((a, b) => a - b);
    const [median, most] = [0.5, 0.95].map((share) => times[Math.floor(share * SAMPLED_TOKENS)]);
    console.log(
      `${text.padEnd(26)}${name.padEnd(26)}` +
        `${median.toFixed(1).padStart(8)} us a token (95% below ${most.toFixed(1)}); ` +
        `the prompt ${(made - start).toFixed(1)} ms`,
    );
  }
}
