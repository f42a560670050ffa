/**
 * Whether and how much a model is to reason, from a client's words to a template's.
 *
 * @module
 */
import type { ChatRequest } from "../../engine/mod.ts";

type Variables = Readonly<Record<string, unknown>>;

/** What a template gets about reasoning, by the two names that templates know it by. */
export function thinkingVariables(thinks: boolean): Variables {
  return { enable_thinking: thinks, thinking: thinks };
}

/**
 * What a template gets for an effort in OpenAI's words, where "none" turns the reasoning off.
 *
 * @param variables What the client itself gives to the template, which counts first.
 */
export function effortFields(
  effort: string | null | undefined,
  variables: Variables | null | undefined,
): Pick<ChatRequest, "reasoningEffort" | "templateVariables"> {
  if (effort !== "none") {
    return {
      reasoningEffort: effort ?? undefined,
      templateVariables: variables ?? undefined,
    };
  }
  // A client that sets one of the two names does without the other.
  const said = THINKING.some((name) => variables?.[name] !== undefined);
  return { templateVariables: { ...(said ? {} : thinkingVariables(false)), ...variables } };
}

/** Tokens of reasoning that an effort leaves; undefined: as many as without it. */
export function effortBudget(
  effort: string | null | undefined,
  variables: Variables | null | undefined,
): number | undefined {
  const thinks = THINKING.some((name) => variables?.[name] === true);
  return effort === "none" && !thinks ? 0 : undefined;
}

const THINKING = Object.keys(thinkingVariables(true));
