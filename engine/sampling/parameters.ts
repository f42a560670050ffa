import { MAX_TOKEN_BIASES } from "../device/step_block.ts";
import { M40Error } from "../errors.ts";

/** How tokens are drawn from a model's logits; see m40_sampling for the order in which these act. */
export interface SamplingParameters {
  /** Divides the logits; 0 always takes the likeliest token. */
  readonly temperature: number;
  /** Only this many of the likeliest tokens; 0 is no limit. */
  readonly topK: number;
  /** Only the likeliest tokens whose probabilities reach this sum. */
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
  /** An integer; the same seed draws the same tokens. Absent: a new one for each request. */
  readonly seed?: number;
}

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
  top_k: { min: 0, max: 1_000_000, integer: true },
  top_p: { min: 0, max: 1, above: true },
  min_p: { min: 0, max: 1 },
  repetition_penalty: { min: 0, max: 10, above: true },
  frequency_penalty: { min: -2, max: 2 },
  presence_penalty: { min: -2, max: 2 },
  logit_bias: { min: -100, max: 100 },
  seed: { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER, integer: true },
} as const satisfies Record<string, Range>;

/**
 * Fills in what is absent and checks what is there.
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
  if (all.seed !== undefined) checkRange("seed", all.seed, SAMPLING_RANGES.seed);
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
    checkRange("logit_bias", bias, SAMPLING_RANGES.logit_bias);
  }
  return all;
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
