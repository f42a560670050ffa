/**
 * Whether and how much the model is to reason, by the names that other servers have for it.
 *
 * @module
 */
import { z } from "zod";
import type { ChatRequest } from "../../engine/mod.ts";
import {
  boolean,
  effortBudget,
  effortFields,
  integer,
  string,
  thinkingVariables,
  wants,
} from "../request/mod.ts";

const tokens = (description: string) => integer(-1, 2 ** 31, description);

/** Fields of chat in addition to reasoning_effort, reasoning_budget and chat_template_kwargs, which count first. */
export const thinkingFields = {
  enable_thinking: boolean("SGLang's and DashScope's word for whether the model reasons."),
  thinking_budget: tokens("DashScope's name of reasoning_budget."),
  thinking_token_budget: tokens("vLLM's name of reasoning_budget."),
  thinking: z.looseObject({
    type: string("enabled or disabled; others say nothing."),
    budget_tokens: tokens("The same as reasoning_budget."),
  }, wants("an object")).nullish().meta({
    description: "Whether the model reasons, as in GLM's, Kimi's and DeepSeek's APIs.",
  }),
  reasoning: z.looseObject({
    effort: string("The same as reasoning_effort."),
    enabled: boolean("Whether the model reasons."),
    max_tokens: tokens("The same as reasoning_budget."),
  }, wants("an object")).nullish().meta({ description: "The same as in OpenRouter's API." }),
};

/** What a schema with {@link thinkingFields} and m40's own fields gives of them. */
export type ThinkingFields =
  & { [F in keyof typeof thinkingFields]?: z.output<(typeof thinkingFields)[F]> }
  & {
    reasoning_effort?: string | null;
    chat_template_kwargs?: Record<string, unknown> | null;
    reasoning_budget?: number | null;
  };

/** What all of these fields say together, for the template and for the engine. */
export interface Thinking extends Pick<ChatRequest, "reasoningEffort" | "templateVariables"> {
  /** Tokens of reasoning; -1 is no limit. */
  readonly budget?: number;
}

/** Reads the fields, those of m40's own first. */
export function thinkingOf(body: ThinkingFields): Thinking {
  const { thinking, reasoning } = body;
  const type = { enabled: true, disabled: false }[thinking?.type ?? ""];
  const thinks = body.enable_thinking ?? type ?? reasoning?.enabled;
  const given = body.chat_template_kwargs ?? undefined;
  const templateVariables = thinks == null ? given : { ...thinkingVariables(thinks), ...given };
  const reasoningEffort = body.reasoning_effort ?? reasoning?.effort ??
    (thinks === false ? "none" : undefined);
  const budget = body.reasoning_budget ?? body.thinking_token_budget ?? body.thinking_budget ??
    thinking?.budget_tokens ?? reasoning?.max_tokens ?? undefined;
  if (reasoningEffort !== "none") return { reasoningEffort, templateVariables, budget };
  return {
    ...effortFields(reasoningEffort, templateVariables),
    budget: budget ?? effortBudget(reasoningEffort, templateVariables),
  };
}
