import { MAX_TOKEN_BIASES } from "../device/step_block.ts";
import { M40Error } from "../errors.ts";

/** How tokens are drawn from a model's logits; see m40_sampling for the order in which these act. */
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
  /** Divides the positive and multiplies the negative logits of tokens in the prompt and the output. */
  readonly repetitionPenalty: number;
  /** Subtracted from a token's logit for each time that the output has it. */
  readonly frequencyPenalty: number;
  /** Subtracted from the logits of tokens that the output has. */
  readonly presencePenalty: number;
  /** Added to the logits of these tokens. */
  readonly logitBias: ReadonlyMap<number, number>;
  /**
   * An integer from -2^64 to 2^64, of which the low 64 bits count; the same seed draws the same tokens.
   * Beyond 2^53 a number has not all of them, a bigint has. Absent: a new one for each request.
   */
  readonly seed?: number | bigint;
  /** Which of the seed's random streams is drawn from; no two streams of any seeds are alike. */
  readonly stream: number;
}

/** What a top_p of 0 becomes: the smallest normal float32, which no device takes for 0. */
export const LEAST_TOP_P: number = 2 ** -126;
/** How far a seed may be from 0. */
export const SEED_LIMIT: bigint = 2n ** 64n;

/** What holds where a request does not say. */
export const SAMPLING_DEFAULTS: SamplingParameters = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
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
  temperature: { min: 0, max: 2 },
  top_k: { min: -1, max: 1_000_000, integer: true },
  top_p: { min: 0, max: 1 },
  min_p: { min: 0, max: 1 },
  repetition_penalty: { min: 0, max: 10, above: true },
  frequency_penalty: { min: -2, max: 2 },
  presence_penalty: { min: -2, max: 2 },
  logit_bias: { min: -100, max: 100 },
  stream: { min: 0, max: 2 ** 32 - 1, integer: true },
} as const satisfies Record<string, Range>;

/**
 * Fills in what is absent, checks what is there, and brings it into the form that the device wants: a
 * topK of -1 becomes 0, a topP of 0 {@link LEAST_TOP_P}.
 *
 * @param vocabSize Tokens of the vocabulary, for the keys of the logit bias.
 * @throws {M40Error} "invalid_request" naming the parameter, what was got and what was wanted.
 */
export function validateSampling(
  parameters: Partial<SamplingParameters>,
  vocabSize: number,
): SamplingParameters {
  const given = Object.fromEntries(
    Object.entries(parameters).filter(([, value]) => value !== undefined),
  ) as Partial<SamplingParameters>;
  const all = { ...SAMPLING_DEFAULTS, ...given };
  checkRange("temperature", all.temperature, SAMPLING_RANGES.temperature);
  checkRange("top_k", all.topK, SAMPLING_RANGES.top_k);
  checkRange("top_p", all.topP, SAMPLING_RANGES.top_p);
  checkRange("min_p", all.minP, SAMPLING_RANGES.min_p);
  checkRange("repetition_penalty", all.repetitionPenalty, SAMPLING_RANGES.repetition_penalty);
  checkRange("frequency_penalty", all.frequencyPenalty, SAMPLING_RANGES.frequency_penalty);
  checkRange("presence_penalty", all.presencePenalty, SAMPLING_RANGES.presence_penalty);
  if (all.seed !== undefined) checkSeed(all.seed);
  checkRange("stream", all.stream, SAMPLING_RANGES.stream);
  if (all.logitBias.size > MAX_TOKEN_BIASES) {
    throw new M40Error(
      "invalid_request",
      `logit_bias has ${all.logitBias.size} tokens; wanted at most ${MAX_TOKEN_BIASES}`,
      "logit_bias",
    );
  }
  for (const [token, bias] of all.logitBias) {
    if (!Number.isInteger(token) || token < 0 || token >= vocabSize) {
      throw new M40Error(
        "invalid_request",
        `logit_bias names token ${token}; wanted an id from 0 to ${vocabSize - 1}`,
        "logit_bias",
      );
    }
    checkRange(`logit_bias.${token}`, bias, SAMPLING_RANGES.logit_bias);
  }
  return { ...all, topK: Math.max(all.topK, 0), topP: Math.max(all.topP, LEAST_TOP_P) };
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
