/**
 * Fields of other servers: by which of their names the model is to reason, and which change the answer or what it
 * reports in ways that m40 does not support.
 *
 * @module
 */
import { z } from "zod";
import type { ChatRequest } from "../../engine/mod.ts";
import { unsupported } from "../errors.ts";
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
    type: string("enabled or disabled; others have no effect."),
    budget_tokens: tokens("The same as reasoning_budget."),
  }, wants("an object")).nullish().describe(
    "Whether the model reasons, as in GLM's, Kimi's and DeepSeek's APIs.",
  ),
  reasoning: z.looseObject({
    effort: string("The same as reasoning_effort."),
    enabled: boolean("Whether the model reasons."),
    max_tokens: tokens("The same as reasoning_budget."),
  }, wants("an object")).nullish().describe("The same as in OpenRouter's API."),
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
  const type = thinking?.type;
  const typed = type === "enabled" || type === "disabled" ? type === "enabled" : undefined;
  const thinks = body.enable_thinking ?? typed ?? reasoning?.enabled;
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

const BANS = "Send logit_bias with the tokens, or a grammar.";

/** What to do instead, by field. */
const INSTEAD = {
  allowed_token_ids: "Send a choice, a regex, a grammar or logit_bias.",
  bad_words: BANS,
  banned_strings: BANS,
  banned_tokens: BANS,
  custom_token_bans: BANS,
  include_stop_str_in_output: "The answer ends before the stop string. Leave it out.",
  logits_processors: "Leave it out.",
  prompt_logprobs: "/v1/completions returns them with echo and logprobs.",
  return_token_ids: "/tokenize returns the tokens of a text. Leave it out.",
  return_tokens_as_token_ids: "/tokenize returns the tokens of a text. Leave it out.",
  truncate_prompt_tokens: "Send fewer or shorter messages.",
  use_beam_search: "Tokens are sampled. Leave it out.",
} as const;

type Field = keyof typeof INSTEAD;
const FIELDS = Object.keys(INSTEAD) as readonly Field[];

/** For the schemas of requests: accepted where they ask for nothing. */
export const othersFields = Object.fromEntries(
  FIELDS.map((field) => [
    field,
    z.unknown().optional().describe("Not supported: absent, null, false or empty."),
  ]),
) as Record<Field, z.ZodOptional<z.ZodUnknown>>;

/** Whether a value asks for nothing; -1 is vLLM's word for no limit. */
const isNothing = (value: unknown) =>
  value == null || value === false || value === -1 || value === "" ||
  (Array.isArray(value) && value.length === 0);

/**
 * Refuses what is not done, rather than answering something else than was asked for.
 *
 * @throws {HttpError} 400 `unsupported` naming the field.
 */
export function refuseOthersFields(body: { readonly [F in Field]?: unknown }): void {
  for (const field of FIELDS) {
    if (body[field] === undefined || isNothing(body[field])) continue;
    throw unsupported(field, `${field} is not supported. ${INSTEAD[field]}`);
  }
}
