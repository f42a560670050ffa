import { MAX_TOKEN_BIASES } from "../device/mod.ts";
import { M40Error } from "../errors.ts";
import {
  NAMED_PARAMETERS,
  type ParameterNames,
  type Range,
  SAMPLING_DEFAULTS,
  SAMPLING_PARAMETERS,
  type SamplingParameters,
} from "./parameters.ts";

/** What a top_p or typical_p of 0 becomes: the smallest normal float32, as the device wants more than 0. */
export const LEAST_TOP_P: number = 2 ** -126;
/** How far a seed may be from 0. */
export const SEED_LIMIT: bigint = 2n ** 64n;

/** Sequence breakers that a request may have, and characters of each. */
const MAX_BREAKERS = 32;
const MAX_BREAKER_LENGTH = 64;

/**
 * Checks the parameters that are given, fills in the others, and converts them for the device: a topK of -1 becomes 0, a
 * topP or typicalP of 0 {@link LEAST_TOP_P}.
 *
 * @param vocabSize Tokens of the vocabulary, for the keys of the logit bias.
 * @param defaults What holds where nothing is given, checked before.
 * @param names What the caller calls parameters, where that is not the name in requests: for errors.
 * @throws {M40Error} "invalid_request" naming the parameter, what was got and what was wanted.
 */
export function validateSampling(
  given: Partial<SamplingParameters>,
  vocabSize: number,
  defaults: SamplingParameters = SAMPLING_DEFAULTS,
  names: ParameterNames = {},
): SamplingParameters {
  const all: Record<string, unknown> = { ...defaults };
  for (const one of NAMED_PARAMETERS) {
    const value = given[one.name];
    if (value === undefined) continue;
    if (one.type === "number") {
      checkRange(names[one.field] ?? one.field, value as number, one as Range);
      if (one.choices?.includes(value as number) === false) {
        throw invalid(
          "mirostat",
          "mirostat is 1, which there is not; wanted 2, its successor, or 0 for none",
        );
      }
    }
    if (one.type === "texts") checkBreakers(value as readonly string[]);
    if (one.type === "biases") checkBiases(value as SamplingParameters["logitBias"], vocabSize);
    if (one.type === "seed") checkSeed(value as number | bigint);
    all[one.name] = value;
  }
  all.topK = Math.max(all.topK as number, 0);
  all.topP = Math.max(all.topP as number, LEAST_TOP_P);
  all.typicalP = Math.max(all.typicalP as number, LEAST_TOP_P);
  return all as unknown as SamplingParameters;
}

function invalid(param: string, message: string): M40Error {
  return new M40Error("invalid_request", message, param);
}

function checkBreakers(breakers: readonly string[]): void {
  const fits = (text: unknown) =>
    typeof text === "string" && text.length > 0 && text.length <= MAX_BREAKER_LENGTH;
  const wrong = breakers.findIndex((text) => !fits(text));
  if (breakers.length <= MAX_BREAKERS && wrong < 0) return;
  const name = "dry_sequence_breakers";
  throw invalid(
    name,
    breakers.length > MAX_BREAKERS
      ? `${name} has ${breakers.length} strings; wanted at most ${MAX_BREAKERS}`
      : `${name}: the string at index ${wrong} has ${
        breakers[wrong]?.length
      } characters; wanted 1 to ` +
        MAX_BREAKER_LENGTH,
  );
}

function checkBiases(biases: SamplingParameters["logitBias"], vocabSize: number): void {
  if (biases.size > MAX_TOKEN_BIASES) {
    const most = MAX_TOKEN_BIASES;
    throw invalid("logit_bias", `logit_bias has ${biases.size} tokens; wanted at most ${most}`);
  }
  for (const [token, bias] of biases) {
    if (!Number.isInteger(token) || token < 0 || token >= vocabSize) {
      throw invalid(
        "logit_bias",
        `logit_bias names token ${token}; wanted an id from 0 to ${vocabSize - 1}`,
      );
    }
    checkRange(`logit_bias.${token}`, bias, SAMPLING_PARAMETERS.logitBias);
  }
}

function checkSeed(seed: number | bigint): void {
  const whole = typeof seed === "bigint" || Number.isInteger(seed);
  if (whole && seed >= -SEED_LIMIT && seed <= SEED_LIMIT) return;
  throw invalid("seed", `seed is ${seed}; wanted an integer from -2^64 to 2^64`);
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
  throw invalid(param, `${param} is ${value}; wanted ${kind} ${wanted}`);
}
