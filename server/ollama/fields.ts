/**
 * What `/api/generate` and `/api/chat` have in common: fields of their requests and of their answers.
 *
 * @module
 */
import { z } from "zod";
import { isJsonObject } from "../../engine/json/mod.ts";
import { modelFields } from "../answer/mod.ts";
import {
  boolean,
  describe,
  ignored,
  integer,
  read,
  string,
  thinkingVariables,
} from "../request/mod.ts";
import type { ChatRequest, Constraint } from "../../engine/mod.ts";
import { invalid, unsupported } from "../errors.ts";
import { Options } from "./options.ts";

/** A field that is refused unless it says nothing. */
export const refused = (description: string) => z.unknown().optional().describe(description);

/** What `format` holds an answer to, "free" where to nothing; undefined for what it cannot be. */
function formatConstraint(format: unknown): Constraint | "free" | undefined {
  if (format === undefined || format === null || format === "") return "free";
  if (format === "json") return { kind: "json_object", param: "format" };
  if (!isJsonObject(format)) return undefined;
  return { kind: "json_schema", schema: format, param: "format" };
}

/** Words that clients send for no reasoning. */
const NO_THINKING: ReadonlySet<string> = new Set(["", "none", "off", "false"]);

/** The fields of both requests. */
export const commonFields = {
  ...modelFields,
  stream: boolean("Whether the answer comes in pieces, a line of JSON each; default true."),
  options: Options,
  think: read(
    'true, false or a word such as "low"',
    { anyOf: [{ type: "boolean" }, { type: "string" }, { type: "null" }] },
    (value): boolean | string | null | undefined =>
      value === undefined || value === null
        ? null
        : typeof value === "string"
        ? NO_THINKING.has(value.toLowerCase()) ? false : value
        : typeof value === "boolean"
        ? value
        : undefined,
  ).optional().describe(
    "Whether the model reasons before it answers, or how much: what its template knows of that. False ends " +
      'what it begins all the same; "none", "off" and "" are false. Absent: as the model does.',
  ),
  format: read(
    '"json" or a JSON Schema',
    { anyOf: [{ const: "json" }, { const: "" }, { type: "object" }, { type: "null" }] },
    formatConstraint,
  ).optional().describe(
    '"json": the answer is a JSON object; a JSON Schema: it is JSON that is valid by it. Objects have no members ' +
      "that it does not name, unless it has additionalProperties.",
  ),
  logprobs: boolean("Whether the answer's tokens carry their log-probabilities."),
  top_logprobs: integer(0, 20, "So many likeliest tokens for each, with logprobs."),
  truncate: ignored("Whether a conversation that is too long is shortened; here it is refused."),
  shift: ignored("Whether the context is moved on when it is full; here the answer ends."),
};

/** A request's fields that are the same in both. */
export type CommonFields = z.output<z.ZodObject<typeof commonFields>>;

/**
 * Refuses what is not done, rather than answering something else than was asked for.
 *
 * @param more Fields that must say nothing, and what to do without each.
 * @throws {HttpError} 400 `unsupported` naming the field.
 */
export function refuseUnsupported(
  body: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, string>>,
): void {
  for (const [field, advice] of Object.entries(more)) {
    if (saysNothing(body[field])) continue;
    throw unsupported(field, `${field}: ${describe(body[field])} is not supported. ${advice}`);
  }
}

/** Whether a value is one that clients send for nothing. */
export function saysNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === undefined || value === null || value === "" || value === false || value === 0;
}

/** What a template gets for `think`. */
export function thinking(think: CommonFields["think"]): Partial<ChatRequest> {
  if (think == null) return {};
  return typeof think === "string"
    ? { reasoningEffort: think, templateVariables: thinkingVariables(true) }
    : { templateVariables: thinkingVariables(think) };
}

/** Tokens of reasoning that `think` leaves; undefined: as many as without it. */
export function thinkingBudget(think: CommonFields["think"]): number | undefined {
  return think === false ? 0 : undefined;
}

/** A field that says how long something took. */
export const nanoseconds = (description: string) =>
  z.int().min(0).describe(`${description}, in nanoseconds.`);

/** What every piece of an answer begins with. */
export const headFields = {
  model: z.string().describe("The model, as it was asked for."),
  created_at: z.iso.datetime(),
};

/** What the last piece of an answer has. */
export const endFields = {
  done: z.literal(true),
  done_reason: z.enum(["stop", "length", "load", "unload"]).describe(
    "What ended it: the model or a stop string, or the number of tokens. Of a request without a prompt: what " +
      "it has done with the model.",
  ),
  total_duration: nanoseconds("From the request's arrival to the answer's end"),
  load_duration: nanoseconds("What of that it waited for its model"),
  prompt_eval_count: z.int().min(0).describe("Tokens of the prompt."),
  prompt_eval_duration: nanoseconds("How long the prompt took, the first token included"),
  eval_count: z.int().min(0).describe("Tokens sampled, reasoning and end included."),
  eval_duration: nanoseconds("From the first token to the last"),
};
const END = z.strictObject(endFields);
/** The end of an answer. */
export type AnswerEnd = z.output<typeof END>;

const tokenLogprob = {
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.int().min(0).max(255)),
};

/** The field for log-probabilities, in both. */
export const logprobsField = {
  logprobs: z.array(
    z.strictObject({
      ...tokenLogprob,
      top_logprobs: z.array(z.strictObject(tokenLogprob)).optional(),
    }),
  ).optional().describe(
    "Of the tokens of this piece, where they were asked for; those of reasoning and calls are left out.",
  ),
};
/** Log-probabilities as answers have them. */
export type Logprobs = z.output<typeof logprobsField.logprobs>;

/** The field for reasoning, in both. */
export const thinkingField = {
  thinking: z.string().optional().describe(
    "The model's reasoning, where there is some and it is separate.",
  ),
};

/** A request's model; in addition to {@link modelFields} for requests that must name one. */
export const namedModel = {
  model: string("The model, with or without a tag; :latest is none."),
  name: string("The older name of model, which counts first."),
};

/**
 * The model that a request names.
 *
 * @throws {HttpError} 400 where it names none.
 */
export function requireName(
  { name, model }: { readonly name?: string | null; readonly model?: string | null },
): string {
  const asked = name || model;
  if (asked) return asked;
  throw invalid("model", "model: wanted the name of a model; got nothing.");
}
