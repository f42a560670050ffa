import type { z } from "zod";
import {
  type GenerateRequest,
  SAMPLING_RANGES as RANGES,
  type SamplingParameters,
} from "../../engine/mod.ts";
import { type ConstraintFields, constraintOf } from "./constraint_fields.ts";
import { boolean, logitBias, number, seed, stop, strings, tokenIds } from "./fields.ts";

/** The fields that say how tokens are sampled, alike in every route that generates. */
export const samplingFields = {
  temperature: number(
    "Divides the logits; 0 always takes the likeliest token.",
    RANGES.temperature,
  ),
  top_p: number(
    "Only the likeliest tokens that reach this probability together; 0 is the likeliest alone.",
    RANGES.top_p,
  ),
  top_k: number("Only so many of the likeliest tokens; 0 and -1 are no limit.", RANGES.top_k),
  min_p: number("Only tokens at least this times as likely as the likeliest.", RANGES.min_p),
  typical_p: number(
    "Only the tokens with the surprise nearest to the expected one that reach this probability together; 1 is " +
      "all.",
    RANGES.typical_p,
  ),
  repetition_penalty: number(
    "Divides the positive and multiplies the negative logits of tokens that were there.",
    RANGES.repetition_penalty,
  ),
  repeat_penalty: number("llama.cpp's name of repetition_penalty.", RANGES.repetition_penalty),
  frequency_penalty: number(
    "Subtracted from a token's logit for each time that it was sampled.",
    RANGES.frequency_penalty,
  ),
  presence_penalty: number(
    "Subtracted from the logits of tokens that were sampled.",
    RANGES.presence_penalty,
  ),
  repeat_last_n: number(
    "How many of the last tokens, prompt and output, these three penalties look at; -1 is all, 0 none.",
    RANGES.repeat_last_n,
  ),
  dry_multiplier: number(
    "Above 0, tokens that would go on with a repetition lose logits (DRY): this, times dry_base for each token " +
      "of the repetition beyond dry_allowed_length.",
    RANGES.dry_multiplier,
  ),
  dry_base: number("How fast that grows with the repetition's length.", RANGES.dry_base),
  dry_allowed_length: number(
    "A repetition of fewer tokens costs nothing.",
    RANGES.dry_allowed_length,
  ),
  dry_penalty_last_n: number(
    "How many of the last tokens are looked through for repetitions; -1 is all, 0 none.",
    RANGES.dry_penalty_last_n,
  ),
  dry_sequence_breakers: strings(
    'Texts over which no repetition goes; default "\\n", ":", "\\"" and "*".',
  ),
  xtc_probability: number(
    "How often the likeliest tokens are left out, but the least likely of those above xtc_threshold (XTC).",
    RANGES.xtc_probability,
  ),
  xtc_threshold: number(
    "From which probability on a token counts as one of the likeliest.",
    RANGES.xtc_threshold,
  ),
  mirostat: number(
    "2: what is too surprising is cut so that surprise stays near mirostat_tau. 0: not. There is no 1.",
    RANGES.mirostat,
  ),
  mirostat_tau: number("The surprise that is wanted, in bits.", RANGES.mirostat_tau),
  mirostat_eta: number("How fast the cut follows the surprise.", RANGES.mirostat_eta),
  dynatemp_range: number(
    "Above 0, the temperature is so much less where the model has no doubt, and so much more where it has most.",
    RANGES.dynatemp_range,
  ),
  dynatemp_exponent: number(
    "Above 1, it takes more doubt for a high temperature.",
    RANGES.dynatemp_exponent,
  ),
  ignore_eos: boolean("Whether the output goes on where the model would end it."),
  min_tokens: number(
    "Tokens before which the model does not end the output; stop strings do.",
    RANGES.min_tokens,
  ),
  logit_bias: logitBias(),
  seed: seed(),
  stop: stop(),
  stop_token_ids: tokenIds().nullish().meta({
    description: "Up to 128 tokens that end the output, which does not have them.",
  }),
};

/** What a schema with {@link samplingFields} gives of them. */
export type SamplingFields = {
  [Field in keyof typeof samplingFields]?: z.output<(typeof samplingFields)[Field]>;
};

/**
 * What the engine is asked for by the fields that all routes share.
 *
 * @throws {HttpError} 400 for what the answer cannot be held to.
 */
export function engineRequest(
  fields: SamplingFields & ConstraintFields,
): Omit<GenerateRequest, "prompt"> {
  const sampling: Partial<SamplingParameters> = {
    temperature: fields.temperature ?? undefined,
    topP: fields.top_p ?? undefined,
    topK: fields.top_k ?? undefined,
    minP: fields.min_p ?? undefined,
    typicalP: fields.typical_p ?? undefined,
    repetitionPenalty: fields.repetition_penalty ?? fields.repeat_penalty ?? undefined,
    frequencyPenalty: fields.frequency_penalty ?? undefined,
    presencePenalty: fields.presence_penalty ?? undefined,
    repeatLastN: fields.repeat_last_n ?? undefined,
    dryMultiplier: fields.dry_multiplier ?? undefined,
    dryBase: fields.dry_base ?? undefined,
    dryAllowedLength: fields.dry_allowed_length ?? undefined,
    dryPenaltyLastN: fields.dry_penalty_last_n ?? undefined,
    drySequenceBreakers: fields.dry_sequence_breakers ?? undefined,
    xtcProbability: fields.xtc_probability ?? undefined,
    xtcThreshold: fields.xtc_threshold ?? undefined,
    mirostat: fields.mirostat ?? undefined,
    mirostatTau: fields.mirostat_tau ?? undefined,
    mirostatEta: fields.mirostat_eta ?? undefined,
    dynatempRange: fields.dynatemp_range ?? undefined,
    dynatempExponent: fields.dynatemp_exponent ?? undefined,
    ignoreEos: fields.ignore_eos ?? undefined,
    minTokens: fields.min_tokens ?? undefined,
    logitBias: fields.logit_bias,
    seed: fields.seed ?? undefined,
  };
  const stopTokens = fields.stop_token_ids ?? undefined;
  return { stop: fields.stop, stopTokens, sampling, constraint: constraintOf(fields) };
}
