import { z } from "zod";
import { modelFields, Usage } from "../answer/mod.ts";
import {
  boolean,
  constraintFields,
  integer,
  mostTokens,
  prompts,
  samplingFields,
  streamOptions,
  string,
  wants,
} from "../request/mod.ts";
import { othersFields } from "./others_fields.ts";

/** The most generations that one request may ask for for each prompt (`n`). */
export const MAX_N = 8;
/** The most candidates of which they can be chosen (`best_of`). */
const MAX_BEST_OF = 20;
/** The most generations of one request: its prompts times `n` or `best_of`. */
export const MAX_CHOICES = 32;
/** How many tokens are generated where a request does not say; OpenAI's default. */
export const DEFAULT_MAX_TOKENS = 16;

/** The names of how many tokens are sampled at most, the one that counts first before the others. */
export const LIMITS = ["max_completion_tokens", "max_tokens", "n_predict"] as const;

/** The body of `POST /v1/completions`. */
export const CompletionRequest = z.object({
  ...modelFields,
  prompt: prompts(MAX_CHOICES).describe("A text, the ids of its tokens, or several of either."),
  max_completion_tokens: mostTokens("What chat calls it, as proxies rename it; it counts first."),
  max_tokens: mostTokens(
    `Tokens sampled at most; default ${DEFAULT_MAX_TOKENS}. 0 samples none: an empty text, and the prompt where ` +
      "echo is true.",
  ),
  n_predict: mostTokens("llama.cpp's name of max_tokens, which counts first."),
  n: integer(
    1,
    MAX_N,
    "Answers to each prompt; default 1. With a seed, the first is the one that n 1 gives.",
  ),
  best_of: integer(
    1,
    MAX_BEST_OF,
    "Candidates for each prompt, of which the n with the highest mean log-probability of their tokens are the " +
      "answers, best first; default n. Not with stream.",
  ),
  echo: boolean(
    "Whether the prompt comes before the answer; with logprobs, its tokens have theirs too.",
  ),
  logprobs: integer(
    0,
    20,
    "Tokens carry their log-probability and those of so many likeliest tokens.",
  ),
  suffix: string(
    "Text that comes after the answer, which fills the gap between prompt and suffix; for models whose vocabulary " +
      "has tokens for that.",
  ),
  parse_special: boolean("Whether special tokens in a prompt's text are tokens; default true."),
  stream: boolean("Whether the answer comes in pieces, as server-sent events."),
  stream_options: streamOptions(),
  ...samplingFields,
  ...constraintFields,
  ...othersFields,
  user: string("The end user. Accepted, without effect."),
}, wants("a JSON object")).meta({ id: "CompletionRequest" });

/** The checked body of `POST /v1/completions`. */
export type CompletionRequest = z.output<typeof CompletionRequest>;

/** The log-probabilities of a completion's tokens, in the shape of OpenAI's legacy completions. */
export const CompletionLogprobs = z.strictObject({
  tokens: z.array(z.string()).describe(
    "The tokens' texts; `bytes:\\xe2\\x82` for a part of a character.",
  ),
  token_logprobs: z.array(z.number().nullable()).describe(
    "Natural logarithms of their probabilities by the model; null for a prompt's first token.",
  ),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()).describe(
    "For each token the likeliest ones in its place, and the token itself.",
  ),
  text_offset: z.array(z.int().min(0)).describe(
    "Where each token begins in the choice's text, in characters (code points); for a " +
      "part of a character, where the character begins.",
  ),
}).meta({ id: "CompletionLogprobs" });
export type CompletionLogprobs = z.output<typeof CompletionLogprobs>;

/** One answer to one prompt. */
export const CompletionChoice = z.strictObject({
  text: z.string(),
  index: z.int().min(0),
  logprobs: CompletionLogprobs.nullable(),
  finish_reason: z.enum(["stop", "length"]).nullable().describe(
    "Null in all events of a stream but a choice's last.",
  ),
}).meta({ id: "CompletionChoice" });
export type CompletionChoice = z.output<typeof CompletionChoice>;

/** The answer, and with a part of each choice, an event of a stream. */
export const Completion = z.strictObject({
  id: z.string(),
  object: z.literal("text_completion"),
  created: z.int().describe("Seconds since 1970."),
  model: z.string(),
  system_fingerprint: z.string(),
  choices: z.array(CompletionChoice),
  usage: Usage.nullish().describe(
    "In a stream only where stream_options.include_usage is true, and null but in its last event.",
  ),
}).meta({ id: "Completion" });
export type Completion = z.output<typeof Completion>;
