/**
 * What the fields of requests may be: building blocks of the schemas. They check a body's shape; what a
 * number may be is the engine's to check (`engine/sampling/validation.ts`), so that the command line has
 * the same limits. A field that is null counts as absent, and unknown fields are accepted:
 * OpenAI's clients send both. Each block takes the sentence that `/openapi.json` has for the field.
 *
 * @module
 */
import { z } from "zod";
import { isJsonObject } from "../../engine/json/mod.ts";
import { MAX_STOP_STRINGS, type Range } from "../../engine/mod.ts";

/** A prompt: a text, or the ids of its tokens. */
export type Prompt = string | number[];

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
  if (isJsonObject(value)) return "an object";
  const text = String(value);
  return text.length <= 40 ? text : text.slice(0, 40) + "…";
}

/** What a field `type` names, for messages: a string alone is not called one. */
export function typeName(type: unknown): string {
  return typeof type === "string" ? describe(type).replace("the string ", "") : describe(type);
}

/** The message of a field of the wrong kind; `parseBody` puts the field's name in front. */
export function wants(wanted: string): { error: (issue: { input?: unknown }) => string } {
  return { error: ({ input }) => `wanted ${wanted}; got ${describe(input)}` };
}

/** A number; its range is documented here, and checked by the engine. */
export const number = (description: string, range?: Range) =>
  z.number(wants("a number")).meta(rangeSchema(range)).nullish().describe(description);

export const boolean = (description: string) =>
  z.boolean(wants("true or false")).nullish().describe(description);

export const string = (description: string) =>
  z.string(wants("a string")).nullish().describe(description);

export const requiredInteger = (min: number, max: number) =>
  // Not z.int(): its bounds would be answered with a message of their own.
  z.custom<number>(
    (value) => Number.isInteger(value) && value as number >= min && value as number <= max,
    wants(`an integer from ${min} to ${max}`),
  ).meta({ type: "integer", minimum: min, maximum: max });

export const integer = (min: number, max: number, description: string) =>
  requiredInteger(min, max).nullish().describe(description);

/** The most tokens of an answer; -1, as llama.cpp's clients write it, is no limit. */
export const mostTokens = (description: string) =>
  integer(-1, 2 ** 31, `${description} -1: as many as the context has room for.`);

/** An object as JSON schema. */
export const objectSchema = (properties: Record<string, unknown>, ...required: string[]) => ({
  ...{ type: "object", properties, required },
});

/** One of a few words. */
export const oneOf = <T extends string>(words: readonly T[]) =>
  z.enum(words, wants(words.map((word) => `"${word}"`).join(", ")));

/** An object of which nothing more is known: itself, as a copy would lose the order of its keys. */
export const requiredObject = () =>
  z.custom<Record<string, unknown>>(isJsonObject, wants("an object")).meta({ type: "object" });

/** The same, or nothing. */
export const object = (description: string) => requiredObject().nullish().describe(description);

/** A field of OpenAI's that has no effect here, whatever it is. */
export const ignored = (description: string) =>
  z.unknown().optional().describe(`${description} Accepted, without effect.`);

/**
 * A value that is read by hand: `read` returns undefined for what is not `wanted`.
 *
 * @param schema What it is as JSON schema.
 */
export function read<T>(
  wanted: string,
  schema: Record<string, unknown>,
  read: (value: unknown) => T | undefined,
) {
  return z.unknown().transform((value, context): T => {
    const result = read(value);
    if (result !== undefined) return result;
    const message = `wanted ${wanted}; got ${describe(value)}`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }).meta(schema);
}

/** A field that has to be there; the rest of what is `wanted` is checked by hand. */
export const present = (wanted: string, schema: Record<string, unknown>) =>
  read<unknown>(wanted, schema, (value) => value ?? undefined);

/**
 * An array. Only the first wrong element is reported: with a schema of arrays a million of
 * them would be a million issues.
 *
 * @param least The fewest elements.
 */
export function arrayOf<S extends z.ZodType>(element: S, wanted: string, least = 0) {
  return z.unknown().transform((value, context): z.output<S>[] => {
    if (!Array.isArray(value) || value.length < least) {
      context.addIssue({ code: "custom", message: `wanted ${wanted}; got ${describe(value)}` });
      return z.NEVER;
    }
    const elements: z.output<S>[] = [];
    for (const [index, one] of value.entries()) {
      const result = element.safeParse(one);
      if (result.success) {
        elements.push(result.data);
        continue;
      }
      const { path, message } = result.error.issues[0];
      context.addIssue({ code: "custom", message, path: [index, ...path] });
      return z.NEVER;
    }
    return elements;
  }).meta({
    type: "array",
    ...(least > 0 ? { minItems: least } : {}),
    items: jsonSchema(element),
  });
}

/** The same; null and nothing count as absent. */
export const optionalArrayOf = <S extends z.ZodType>(element: S, wanted: string) =>
  z.preprocess((value) => value ?? undefined, arrayOf(element, wanted).optional());

/** An array of texts; null and nothing count as absent. */
export const strings = (description: string) =>
  optionalArrayOf(z.string(wants("a string")), "an array of strings")
    .meta({ type: ["array", "null"], description });

/** A schema of requests as JSON schema. */
function jsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
}

const isString = (value: unknown): value is string => typeof value === "string";

const STOP_SCHEMA = {
  anyOf: [
    { type: "string", minLength: 1 },
    { type: "array", maxItems: MAX_STOP_STRINGS, items: { type: "string", minLength: 1 } },
    { type: "null" },
  ],
};

/** Stop strings: one or several, none of them empty. */
export const stop = () =>
  read(
    `a string or an array of up to ${MAX_STOP_STRINGS} strings, none of them empty`,
    STOP_SCHEMA,
    (value) => {
      if (value === undefined || value === null) return [];
      const list = Array.isArray(value) ? value : [value];
      const fits = list.length <= MAX_STOP_STRINGS &&
        list.every((one) => isString(one) && one !== "");
      return fits ? list as string[] : undefined;
    },
  ).optional().describe(
    `Up to ${MAX_STOP_STRINGS} strings that end the output; they are not part of it.`,
  );

/** `{"15043": -100}`: keys are token ids. */
export const logitBias = (description: string, range: Range) =>
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
  }).meta({
    type: ["object", "null"],
    propertyNames: { pattern: "^[0-9]{1,9}$" },
    additionalProperties: { type: "number", ...rangeSchema(range) },
  }).optional().describe(description);

/** An integer; beyond 2^53 a bigint, as `readJson` gives it. */
export const seed = (description: string) =>
  z.custom<number | bigint>(
    (value) => typeof value === "bigint" || Number.isInteger(value),
    wants("an integer"),
  ).meta({ type: "integer" }).nullish().describe(description);

// Read by hand: a schema of unions would make an issue for each of a million wrong elements.
const isTokens = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 &&
  value.every((token) => Number.isSafeInteger(token) && token >= 0);

const TOKENS_SCHEMA = { type: "array", minItems: 1, items: { type: "integer", minimum: 0 } };
const PROMPT_SCHEMA = [{ type: "string" }, TOKENS_SCHEMA];

function readPrompt(value: unknown): Prompt | undefined {
  return isString(value) || isTokens(value) ? value : undefined;
}

/** Token ids, none at all as well. */
export const tokenIds = () =>
  read(
    "an array of token ids",
    { type: "array", items: { type: "integer", minimum: 0 } },
    (value) => Array.isArray(value) && (value.length === 0 || isTokens(value)) ? value : undefined,
  );

/** A text or token ids. */
export const prompt = () =>
  read("a string or an array of token ids", { anyOf: PROMPT_SCHEMA }, readPrompt);

/** One prompt or several, up to that many. */
export const prompts = (most: number) =>
  read(
    `a string, an array of token ids, or an array of up to ${most} of either`,
    {
      anyOf: [
        ...PROMPT_SCHEMA,
        ...PROMPT_SCHEMA.map((items) => ({ type: "array", minItems: 1, maxItems: most, items })),
      ],
    },
    (value): Prompt[] | undefined => {
      const one = readPrompt(value);
      if (one !== undefined) return [one];
      if (!Array.isArray(value) || value.length === 0 || value.length > most) return undefined;
      const all = value.every(isString) || value.every(isTokens);
      return all ? value as Prompt[] : undefined;
    },
  );

/** `{"include_usage": true}` */
export const streamOptions = () =>
  z.object({
    include_usage: boolean(
      "Whether a last event has the usage, and the others null.",
    ),
  }, wants("an object")).nullish().describe("How the answer is streamed.");

/** A range in JSON schema's words. */
function rangeSchema(range: Range | undefined): Record<string, unknown> {
  if (range === undefined) return {};
  const { min, max, above, integer } = range;
  return {
    ...(above ? { exclusiveMinimum: min } : { minimum: min }),
    maximum: max,
    ...(integer ? { type: "integer" } : {}),
  };
}
