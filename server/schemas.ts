/**
 * What requests may say. The schemas check a body's shape; what a number may be is the engine's to
 * check (`engine/sampling/parameters.ts`), so that the command line has the same limits. A field that
 * is null counts as absent, and fields that are not known are let pass: OpenAI's clients send both.
 *
 * @module
 */
import { z } from "zod";
import type { GenerateRequest, SamplingParameters } from "../engine/mod.ts";
import { HttpError } from "./errors.ts";

/** A prompt: a text, or the ids of its tokens. */
export type Prompt = string | number[];

/** The most strings that may stop a generation. */
const MAX_STOPS = 16;
/** The most generations that one request may ask for for each prompt (`n`). */
const MAX_N = 8;
/** The most generations of one request: its prompts times `n`. */
export const MAX_CHOICES = 32;

/** A JSON value in a few words, for a message: never long, however large the value is. */
export function describe(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string") {
    const shown = value.length <= 40 ? value : value.slice(0, 40) + "…";
    return `the string ${JSON.stringify(shown)}`;
  }
  if (Array.isArray(value)) {
    return value.length === 1 ? "an array of 1 element" : `an array of ${value.length} elements`;
  }
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

/** The message of a field of the wrong kind; {@link parseBody} puts the field's name in front. */
function wants(wanted: string): { error: (issue: { input?: unknown }) => string } {
  return { error: ({ input }) => `wanted ${wanted}; got ${describe(input)}` };
}

const number = () => z.number(wants("a number")).nullish();
const boolean = () => z.boolean(wants("true or false")).nullish();
const string = () => z.string(wants("a string")).nullish();
const integer = (min: number, max: number) =>
  // Not z.int(): its bounds would be answered with a message of their own.
  z.custom<number>(
    (value) => Number.isInteger(value) && value as number >= min && value as number <= max,
    wants(`an integer from ${min} to ${max}`),
  ).nullish();

/** A value that is read by hand: `read` returns undefined for what is not `wanted`. */
function read<T>(wanted: string, read: (value: unknown) => T | undefined) {
  return z.unknown().transform((value, context): T => {
    const result = read(value);
    if (result !== undefined) return result;
    const message = `wanted ${wanted}; got ${describe(value)}`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });
}

const isString = (value: unknown): value is string => typeof value === "string";

/** Stop strings: one or several, none of them empty. */
const stop = () =>
  read(`a string or an array of up to ${MAX_STOPS} strings, none of them empty`, (value) => {
    if (value === undefined || value === null) return [];
    const list = Array.isArray(value) ? value : [value];
    const fits = list.length <= MAX_STOPS && list.every((one) => isString(one) && one !== "");
    return fits ? list as string[] : undefined;
  }).optional();

/** `{"15043": -100}`: keys are token ids. */
const logitBias = () =>
  z.unknown().transform((value, context): Map<number, number> => {
    const biases = new Map<number, number>();
    const refuse = (message: string, ...path: string[]) => {
      context.addIssue({ code: "custom", message, path });
      return z.NEVER;
    };
    if (value === undefined || value === null) return biases;
    if (typeof value !== "object" || Array.isArray(value)) {
      return refuse(`wanted an object of token ids and numbers; got ${describe(value)}`);
    }
    for (const [key, bias] of Object.entries(value)) {
      if (!/^\d{1,9}$/.test(key)) {
        return refuse(`wanted token ids as keys, such as "15043"; got ${describe(key)}`);
      }
      if (!Number.isFinite(bias)) return refuse(`wanted a number; got ${describe(bias)}`, key);
      biases.set(Number(key), bias);
    }
    return biases;
  }).optional();

/** An integer; beyond 2^53 a bigint, as {@link readJson} gives it. */
const seed = () =>
  z.custom<number | bigint>(
    (value) => typeof value === "bigint" || Number.isInteger(value),
    wants("an integer"),
  ).nullish();

// Read by hand: a schema of unions would make an issue for each of a million wrong elements.
const isTokens = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 &&
  value.every((token) => Number.isSafeInteger(token) && token >= 0);

/** A text or token ids. */
function readPrompt(value: unknown): Prompt | undefined {
  return isString(value) || isTokens(value) ? value : undefined;
}

/** One prompt or several. */
function readPrompts(value: unknown): Prompt[] | undefined {
  const one = readPrompt(value);
  if (one !== undefined) return [one];
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_CHOICES) return undefined;
  const all = value.every(isString) || value.every(isTokens);
  return all ? value as Prompt[] : undefined;
}

/** The fields that say how tokens are drawn, alike in every route that generates. */
const samplingFields = {
  temperature: number(),
  top_p: number(),
  top_k: number(),
  min_p: number(),
  repetition_penalty: number(),
  frequency_penalty: number(),
  presence_penalty: number(),
  logit_bias: logitBias(),
  seed: seed(),
  max_tokens: number(),
  stop: stop(),
};

/** The body of `POST /v1/completions`. */
export const CompletionRequest = z.object({
  ...samplingFields,
  model: string(),
  prompt: read(
    `a string, an array of token ids, or an array of up to ${MAX_CHOICES} of either`,
    readPrompts,
  ),
  n: integer(1, MAX_N),
  best_of: number(),
  logprobs: integer(0, 5),
  echo: boolean(),
  suffix: string(),
  stream: boolean(),
  stream_options: z.object({ include_usage: boolean() }, wants("an object")).nullish(),
  user: string(),
}, wants("a JSON object"));

/** The checked body of `POST /v1/completions`. */
export type CompletionRequest = z.output<typeof CompletionRequest>;

/** The body of `POST /v1/generate`. */
export const GenerateBody = z.object({
  ...samplingFields,
  model: string(),
  prompt: read("a string or an array of token ids", readPrompt),
  stream: boolean(),
}, wants("a JSON object"));

/** What the engine is asked for by the fields that all routes share. */
export function engineRequest(
  fields: { [Field in keyof typeof samplingFields]?: z.output<(typeof samplingFields)[Field]> },
): Omit<GenerateRequest, "prompt"> {
  const sampling: Partial<SamplingParameters> = {
    temperature: fields.temperature ?? undefined,
    topK: fields.top_k ?? undefined,
    topP: fields.top_p ?? undefined,
    minP: fields.min_p ?? undefined,
    repetitionPenalty: fields.repetition_penalty ?? undefined,
    frequencyPenalty: fields.frequency_penalty ?? undefined,
    presencePenalty: fields.presence_penalty ?? undefined,
    logitBias: fields.logit_bias,
    seed: fields.seed ?? undefined,
  };
  return { maxTokens: fields.max_tokens ?? undefined, stop: fields.stop, sampling };
}

/**
 * Checks a body.
 *
 * @throws {HttpError} 400 `invalid_request`, naming the parameter, what was wanted and what was got.
 */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0];
  const param = path.join(".");
  throw new HttpError(
    400,
    "invalid_request",
    `${param === "" ? "The body" : param}: ${message}.`,
    { param: param === "" ? undefined : param },
  );
}
