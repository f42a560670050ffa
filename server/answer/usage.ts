import { z } from "zod";
import type { Generation, Usage as EngineUsage } from "../../engine/mod.ts";

const tokens = (description: string) => z.int().min(0).meta({ description });

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
