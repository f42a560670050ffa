import { z } from "zod";
import type { Usage as EngineUsage } from "../../engine/mod.ts";

const tokens = (description: string) => z.int().min(0).meta({ description });

/** Tokens that a request took, in OpenAI's words. */
export const Usage = z.strictObject({
  prompt_tokens: tokens(
    "Tokens of the prompts; a prompt counts once, however many answers it has.",
  ),
  completion_tokens: tokens("Tokens drawn, end tokens included."),
  total_tokens: tokens("Both together."),
  prompt_tokens_details: z.strictObject({
    cached_tokens: tokens("Tokens of the prompts that were found in the prefix cache."),
  }),
  completion_tokens_details: z.strictObject({
    reasoning_tokens: tokens("Tokens drawn that are reasoning."),
  }),
}).meta({ id: "Usage", description: "Tokens that a request took." });
export type Usage = z.output<typeof Usage>;

/** Adds up what the generations of a request took. */
export class UsageSum {
  private cached = 0;
  private completion = 0;
  private reasoning = 0;

  /** @param promptTokens Tokens of the request's prompts, each counted once. */
  constructor(private readonly promptTokens: number) {}

  /**
   * A generation has ended.
   *
   * @param usage What it took; of its last chunk.
   * @param first Whether it is the first of its prompt: the others share what that one computes.
   */
  add(usage: EngineUsage, first: boolean): void {
    if (first) this.cached += usage.cachedTokens;
    this.completion += usage.completionTokens;
    this.reasoning += usage.reasoningTokens;
  }

  /** What all of them took so far. */
  get usage(): Usage {
    return {
      prompt_tokens: this.promptTokens,
      completion_tokens: this.completion,
      total_tokens: this.promptTokens + this.completion,
      prompt_tokens_details: { cached_tokens: this.cached },
      completion_tokens_details: { reasoning_tokens: this.reasoning },
    };
  }
}
