/**
 * Fields of other servers that change the answer or what it reports, and that m40 does not support.
 *
 * @module
 */
import { z } from "zod";
import { unsupported } from "../errors.ts";

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

/** For the schemas of requests: accepted where they ask for nothing. */
export const othersFields = Object.fromEntries(
  Object.keys(INSTEAD).map((field) => [
    field,
    z.unknown().optional().meta({ description: "Not supported: absent, null, false or empty." }),
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
  for (const field of Object.keys(INSTEAD) as Field[]) {
    if (isNothing(body[field])) continue;
    throw unsupported(field, `${field} is not supported. ${INSTEAD[field]}`);
  }
}
