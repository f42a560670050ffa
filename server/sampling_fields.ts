import type { z } from "zod";
import {
  type GenerateRequest,
  SAMPLING_RANGES as RANGES,
  type SamplingParameters,
} from "../engine/mod.ts";
import { logitBias, number, seed, stop } from "./fields.ts";

/** The fields that say how tokens are drawn, alike in every route that generates. */
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
  repetition_penalty: number(
    "Divides the positive and multiplies the negative logits of tokens that were there.",
    RANGES.repetition_penalty,
  ),
  frequency_penalty: number(
    "Taken from a token's logit for each time that it was drawn.",
    RANGES.frequency_penalty,
  ),
  presence_penalty: number(
    "Taken from the logits of tokens that were drawn.",
    RANGES.presence_penalty,
  ),
  logit_bias: logitBias(),
  seed: seed(),
  stop: stop(),
};

/** What a schema with {@link samplingFields} gives of them. */
export type SamplingFields = {
  [Field in keyof typeof samplingFields]?: z.output<(typeof samplingFields)[Field]>;
};

/** What the engine is asked for by the fields that all routes share. */
export function engineRequest(fields: SamplingFields): Omit<GenerateRequest, "prompt"> {
  const sampling: Partial<SamplingParameters> = {
    temperature: fields.temperature ?? undefined,
    topK: fields.top_k ?? undefined,
    topP: fields.top_p ?? undefined,
    minP: fields.min_p ?? undefined,
    repetitionPenalty: fields.repetition_penalty ?? undefined,
    frequencyPenalty: fields.frequency_penalty ?? undefined,
    presencePenalty: fields.presence_penalty ?? undefined,
    logitBias: fields.logit_bias,
    seed: fields.seed ?? undefined,
  };
  return { stop: fields.stop, sampling };
}
