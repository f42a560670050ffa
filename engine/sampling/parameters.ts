import { MAX_TOKEN_BIASES } from "../device/mod.ts";
import { M40Error } from "../errors.ts";

/** How tokens are sampled from a model's logits; see m40_sampling for the order in which these act. */
export interface SamplingParameters {
  /** Divides the logits; 0 always takes the likeliest token. */
  readonly temperature: number;
  /** Only this many of the likeliest tokens; 0 and -1 are no limit. */
  readonly topK: number;
  /**
   * Only the likeliest tokens whose probabilities reach this sum; 0 is the likeliest token alone. The
   * device gets the smallest positive float for it ({@link LEAST_TOP_P}), as it wants more than 0.
   */
  readonly topP: number;
  /** Only tokens at least this times as likely as the likeliest. */
  readonly minP: number;
  /**
   * Only tokens whose surprise is nearest to the one expected, until their probabilities reach this sum
   * (locally typical sampling, Meister et al. 2022); 1 keeps all.
   */
  readonly typicalP: number;
  /** Divides the positive and multiplies the negative logits of tokens in the prompt and the output. */
  readonly repetitionPenalty: number;
  /** Subtracted from a token's logit for each time that the output has it. */
  readonly frequencyPenalty: number;
  /** Subtracted from the logits of tokens that the output has. */
  readonly presencePenalty: number;
  /** How many of the last tokens, prompt and output, these three look at; -1 is all, 0 none. */
  readonly repeatLastN: number;
  /**
   * Above 0, tokens that would extend an earlier repetition lose logits, the more the longer it is ("don't repeat
   * yourself"): see {@link DryPenalties}.
   */
  readonly dryMultiplier: number;
  /** How fast that grows with each token of the repetition. */
  readonly dryBase: number;
  /** A repetition of fewer tokens costs nothing. */
  readonly dryAllowedLength: number;
  /** How many of the last tokens are looked through for repetitions; -1 is all, 0 none. */
  readonly dryPenaltyLastN: number;
  /** No repetition extends beyond a position where one of these texts ends. */
  readonly drySequenceBreakers: readonly string[];
  /** How often the likeliest tokens are left out, but the least likely of those above {@link xtcThreshold}. */
  readonly xtcProbability: number;
  /** From which probability on a token counts as one of the likeliest; above 0.5 there are no two of them. */
  readonly xtcThreshold: number;
  /** 2: what is too surprising is cut so that surprise stays near {@link mirostatTau} (Basu et al. 2021). */
  readonly mirostat: number;
  /** The surprise that is wanted, in bits. */
  readonly mirostatTau: number;
  /** How fast the cut follows the surprise. */
  readonly mirostatEta: number;
  /** Above 0, the temperature is so much below or above what it is set to: with no doubt, and in most. */
  readonly dynatempRange: number;
  /** Above 1, it takes more doubt for a high temperature. */
  readonly dynatempExponent: number;
  /** Whether the answer goes on where the model would end it. */
  readonly ignoreEos: boolean;
  /** The answer does not end before it has so many tokens; stop strings end it nevertheless. */
  readonly minTokens: number;
  /** Added to the logits of these tokens. */
  readonly logitBias: ReadonlyMap<number, number>;
  /**
   * An integer from -2^64 to 2^64, of which the low 64 bits count; the same seed samples the same tokens.
   * Beyond 2^53 a number has not all of them, a bigint has. Absent: a new one for each request.
   */
  readonly seed?: number | bigint;
  /** Which of the seed's random streams is sampled from; no two streams of any seeds are alike. */
  readonly stream: number;
}

/** What a top_p or typical_p of 0 becomes: the smallest normal float32, which no device takes for 0. */
export const LEAST_TOP_P: number = 2 ** -126;
/** How far a seed may be from 0. */
export const SEED_LIMIT: bigint = 2n ** 64n;

/** What holds where a request does not say. */
export const SAMPLING_DEFAULTS: SamplingParameters = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  typicalP: 1,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repeatLastN: -1,
  dryMultiplier: 0,
  dryBase: 1.75,
  dryAllowedLength: 2,
  dryPenaltyLastN: -1,
  drySequenceBreakers: ["\n", ":", '"', "*"],
  xtcProbability: 0,
  xtcThreshold: 0.1,
  mirostat: 0,
  mirostatTau: 5,
  mirostatEta: 0.1,
  dynatempRange: 0,
  dynatempExponent: 1,
  ignoreEos: false,
  minTokens: 0,
  logitBias: new Map(),
  stream: 0,
};

/** The range of a number: `min` to `max`, both included unless `above` excludes `min`. */
export interface Range {
  readonly min: number;
  readonly max: number;
  /** Only values above `min`. */
  readonly above?: boolean;
  readonly integer?: boolean;
}

/** The ranges of the parameters, by their names in requests. */
export const SAMPLING_RANGES = {
  // From some 50 on every token is as likely; frontends for role play send up to 5 with min-p.
  temperature: { min: 0, max: 100 },
  top_k: { min: -1, max: 1_000_000, integer: true },
  top_p: { min: 0, max: 1 },
  min_p: { min: 0, max: 1 },
  typical_p: { min: 0, max: 1 },
  repetition_penalty: { min: 0, max: 10, above: true },
  frequency_penalty: { min: -2, max: 2 },
  presence_penalty: { min: -2, max: 2 },
  repeat_last_n: { min: -1, max: 2 ** 31 - 1, integer: true },
  dry_multiplier: { min: 0, max: 100 },
  dry_base: { min: 1, max: 100 },
  dry_allowed_length: { min: 1, max: 2 ** 31 - 1, integer: true },
  dry_penalty_last_n: { min: -1, max: 2 ** 31 - 1, integer: true },
  xtc_probability: { min: 0, max: 1 },
  xtc_threshold: { min: 0, max: 1 },
  mirostat: { min: 0, max: 2, integer: true },
  mirostat_tau: { min: 0, max: 100 },
  mirostat_eta: { min: 0, max: 1 },
  dynatemp_range: { min: 0, max: 100 },
  dynatemp_exponent: { min: 0, max: 10, above: true },
  logit_bias: { min: -100, max: 100 },
  stream: { min: 0, max: 2 ** 32 - 1, integer: true },
  min_tokens: { min: 0, max: 2 ** 31 - 1, integer: true },
} as const satisfies Record<string, Range>;

/** Names of the parameters that are numbers, as requests have them. */
const NUMBERS = {
  temperature: "temperature",
  topK: "top_k",
  topP: "top_p",
  minP: "min_p",
  typicalP: "typical_p",
  repetitionPenalty: "repetition_penalty",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  repeatLastN: "repeat_last_n",
  dryMultiplier: "dry_multiplier",
  dryBase: "dry_base",
  dryAllowedLength: "dry_allowed_length",
  dryPenaltyLastN: "dry_penalty_last_n",
  xtcProbability: "xtc_probability",
  xtcThreshold: "xtc_threshold",
  mirostat: "mirostat",
  mirostatTau: "mirostat_tau",
  mirostatEta: "mirostat_eta",
  dynatempRange: "dynatemp_range",
  dynatempExponent: "dynatemp_exponent",
  minTokens: "min_tokens",
  stream: "stream",
} as const satisfies Partial<Record<keyof SamplingParameters, keyof typeof SAMPLING_RANGES>>;

/** A parameter that is a number. */
export type NumericParameter = keyof typeof NUMBERS;

/** Sequence breakers that a request may have, and characters of each. */
const MAX_BREAKERS = 32;
const MAX_BREAKER_LENGTH = 64;

/**
 * Fills in absent parameters, checks the given ones, and converts them for the device: a topK of -1 becomes 0, a topP
 * or typicalP of 0 {@link LEAST_TOP_P}.
 *
 * @param vocabSize Tokens of the vocabulary, for the keys of the logit bias.
 * @param defaults What holds instead of {@link SAMPLING_DEFAULTS}; see {@link modelSamplingDefaults}.
 * @throws {M40Error} "invalid_request" naming the parameter, what was got and what was wanted.
 */
export function validateSampling(
  parameters: Partial<SamplingParameters>,
  vocabSize: number,
  defaults: Partial<SamplingParameters> = {},
): SamplingParameters {
  const given = Object.fromEntries(
    Object.entries(parameters).filter(([, value]) => value !== undefined),
  ) as Partial<SamplingParameters>;
  const all = { ...SAMPLING_DEFAULTS, ...defaults, ...given };
  for (const name of Object.keys(NUMBERS) as NumericParameter[]) checkNumber(name, all[name]);
  if (all.seed !== undefined) checkSeed(all.seed);
  checkBreakers(all.drySequenceBreakers);
  checkBiases(all.logitBias, vocabSize);
  return {
    ...all,
    topK: Math.max(all.topK, 0),
    topP: Math.max(all.topP, LEAST_TOP_P),
    typicalP: Math.max(all.typicalP, LEAST_TOP_P),
  };
}

function checkNumber(parameter: NumericParameter, value: number): void {
  const name = NUMBERS[parameter];
  checkRange(name, value, SAMPLING_RANGES[name]);
  if (parameter !== "mirostat" || value !== 1) return;
  throw new M40Error(
    "invalid_request",
    "mirostat is 1, which there is not; wanted 2, its successor, or 0 for none",
    name,
  );
}

function checkBreakers(breakers: readonly string[]): void {
  const fits = (text: unknown) =>
    typeof text === "string" && text.length > 0 && text.length <= MAX_BREAKER_LENGTH;
  const wrong = breakers.findIndex((text) => !fits(text));
  if (breakers.length <= MAX_BREAKERS && wrong < 0) return;
  const name = "dry_sequence_breakers";
  throw new M40Error(
    "invalid_request",
    breakers.length > MAX_BREAKERS
      ? `${name} has ${breakers.length} strings; wanted at most ${MAX_BREAKERS}`
      : `${name}: the string at index ${wrong} has ${
        breakers[wrong]?.length
      } characters; wanted 1 to ` +
        MAX_BREAKER_LENGTH,
    name,
  );
}

function checkBiases(biases: SamplingParameters["logitBias"], vocabSize: number): void {
  if (biases.size > MAX_TOKEN_BIASES) {
    throw new M40Error(
      "invalid_request",
      `logit_bias has ${biases.size} tokens; wanted at most ${MAX_TOKEN_BIASES}`,
      "logit_bias",
    );
  }
  for (const [token, bias] of biases) {
    if (!Number.isInteger(token) || token < 0 || token >= vocabSize) {
      throw new M40Error(
        "invalid_request",
        `logit_bias names token ${token}; wanted an id from 0 to ${vocabSize - 1}`,
        "logit_bias",
      );
    }
    checkRange(`logit_bias.${token}`, bias, SAMPLING_RANGES.logit_bias);
  }
}

function checkSeed(seed: number | bigint): void {
  const whole = typeof seed === "bigint" || Number.isInteger(seed);
  if (whole && seed >= -SEED_LIMIT && seed <= SEED_LIMIT) return;
  throw new M40Error(
    "invalid_request",
    `seed is ${seed}; wanted an integer from -2^64 to 2^64`,
    "seed",
  );
}

/**
 * Checks a number against a range.
 *
 * @throws {M40Error} "invalid_request" naming `param`, what was got and what was wanted.
 */
export function checkRange(param: string, value: number, range: Range): void {
  const { min, max, above = false, integer = false } = range;
  const inside = typeof value === "number" && value <= max &&
    // The device computes in single precision, where a tiny number would be 0.
    (above ? Math.fround(value) > min : value >= min);
  if (inside && (!integer || Number.isInteger(value))) return;
  const kind = integer ? "an integer" : "a number";
  const wanted = above ? `above ${min}, up to ${max}` : `from ${min} to ${max}`;
  throw new M40Error("invalid_request", `${param} is ${value}; wanted ${kind} ${wanted}`, param);
}
