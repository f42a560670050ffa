import { z } from "zod";
import type { Generation, Usage } from "../../engine/mod.ts";

const milliseconds = (description: string) => z.number().min(0).meta({ description });

/** How long an answer took, as llama.cpp's server tells it. */
export const Timings = z.strictObject({
  cache_n: z.int().min(0).meta({ description: "Tokens of the prompt found in the prefix cache." }),
  prompt_n: z.int().min(0).meta({ description: "Tokens of the prompt that were computed." }),
  prompt_ms: milliseconds("To the first token, the time in the queue left out."),
  prompt_per_token_ms: z.number().min(0),
  prompt_per_second: z.number().min(0),
  predicted_n: z.int().min(0).meta({ description: "Tokens sampled." }),
  predicted_ms: milliseconds("From the first token to the last."),
  predicted_per_token_ms: z.number().min(0),
  predicted_per_second: z.number().min(0),
}).meta({ id: "Timings", description: "How long an answer took." });
export type Timings = z.output<typeof Timings>;

/** How long generations of one request took, of which the first computes the prompt. */
export function timingsOf(generation: Generation, usage: Usage): Timings {
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
    predicted_per_token_ms: ratio(decodeMs, completionTokens),
    predicted_per_second: ratio(1000 * completionTokens, decodeMs),
  };
}

/** 0 where there is nothing to divide by: JSON has no infinity. */
function ratio(dividend: number, divisor: number): number {
  return divisor > 0 ? dividend / divisor : 0;
}
