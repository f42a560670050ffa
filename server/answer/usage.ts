/**
 * What an answer took: tokens, as OpenAI counts them, and time, as llama.cpp's server tells it.
 *
 * @module
 */
import { z } from "zod";
import type { Generation, Usage as EngineUsage } from "../../engine/mod.ts";

const tokens = (description: string) => z.int().min(0).describe(description);

/** Tokens that a request took, in OpenAI's words. */
export const Usage = z.strictObject({
  prompt_tokens: tokens(
    "Tokens of the prompts; a prompt counts once, however many answers it has.",
  ),
  completion_tokens: tokens("Tokens sampled, end tokens included."),
  total_tokens: tokens("Both together."),
  prompt_tokens_details: z.strictObject({
    cached_tokens: tokens("Tokens of the prompts that were found in the prefix cache."),
  }),
  completion_tokens_details: z.strictObject({
    reasoning_tokens: tokens("Tokens sampled that are reasoning."),
  }),
}).meta({ id: "Usage", description: "Tokens that a request took." });
export type Usage = z.output<typeof Usage>;

/**
 * What the generations of a request took.
 *
 * @param ended The usage of each that has ended, by its index.
 * @param candidates Generations of each prompt; the others of a prompt share what the first computes.
 */
export function usageOf(
  generations: readonly Generation[],
  ended: readonly (EngineUsage | undefined)[],
  candidates = generations.length,
): Usage {
  let [prompt, cached, completion, reasoning] = [0, 0, 0, 0];
  for (const [index, { promptTokens }] of generations.entries()) {
    const usage = ended[index];
    if (index % candidates === 0) {
      prompt += promptTokens;
      cached += usage?.cachedTokens ?? 0;
    }
    completion += usage?.completionTokens ?? 0;
    reasoning += usage?.reasoningTokens ?? 0;
  }
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

const milliseconds = (description: string) => z.number().min(0).describe(description);

/** How long an answer took, as llama.cpp's server tells it. */
export const Timings = z.strictObject({
  cache_n: z.int().min(0).describe("Tokens of the prompt found in the prefix cache."),
  prompt_n: z.int().min(0).describe("Tokens of the prompt that were computed."),
  prompt_ms: milliseconds("To the first token, the time in the queue left out."),
  prompt_per_token_ms: z.number().min(0),
  prompt_per_second: z.number().min(0),
  predicted_n: z.int().min(0).describe("Tokens sampled."),
  predicted_ms: milliseconds("From the first token to the last, as the device gave them."),
  predicted_per_token_ms: z.number().min(0).nullable(),
  predicted_per_second: z.number().min(0).nullable().describe(
    "Null, as the one before, where the device gave all tokens at once, or only one.",
  ),
}).meta({ id: "Timings", description: "How long an answer took." });
export type Timings = z.output<typeof Timings>;

/** How long generations of one request took, of which the first computes the prompt. */
export function timingsOf(generation: Generation, usage: EngineUsage): Timings {
  const { queueMs = 0, firstTokenMs = 0, decodeMs = 0 } = generation.times;
  const { promptTokens, cachedTokens, completionTokens } = usage;
  const computed = promptTokens - cachedTokens;
  const promptMs = Math.max(0, firstTokenMs - queueMs);
  return {
    cache_n: cachedTokens,
    prompt_n: computed,
    prompt_ms: promptMs,
    prompt_per_token_ms: ratio(promptMs, computed),
    prompt_per_second: ratio(1000 * computed, promptMs),
    predicted_n: completionTokens,
    predicted_ms: decodeMs,
    predicted_per_token_ms: decodeMs > 0 ? decodeMs / completionTokens : null,
    predicted_per_second: decodeMs > 0 ? 1000 * completionTokens / decodeMs : null,
  };
}

/** 0 where there is nothing to divide by: JSON has no infinity. */
function ratio(dividend: number, divisor: number): number {
  return divisor > 0 ? dividend / divisor : 0;
}
