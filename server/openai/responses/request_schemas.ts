import { z } from "zod";
import { modelFields } from "../../answer/mod.ts";
import { othersFields } from "../mod.ts";
import {
  boolean,
  constraintFields,
  ignored,
  integer,
  object,
  oneOf,
  optionalArrayOf,
  present,
  read,
  samplingFields,
  string,
  strings,
  wants,
} from "../../request/mod.ts";

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
const TRUNCATIONS = ["auto", "disabled"] as const;
const FORMATS = ["text", "json_object", "json_schema"] as const;
const VERBOSITIES = ["low", "medium", "high"] as const;

/** What `input` is. */
export const INPUT_WANTED = "a string or an array of at least one item";

/** The most pairs of `metadata`, and the most characters of their names and values. */
const MOST_METADATA = { pairs: 16, name: 64, value: 512 } as const;

const unsupported = z.unknown().optional().describe("Not supported: absent.");

const metadata = read(
  `an object of up to ${MOST_METADATA.pairs} texts of up to ${MOST_METADATA.value} characters, ` +
    `with names of up to ${MOST_METADATA.name}`,
  {
    type: ["object", "null"],
    maxProperties: MOST_METADATA.pairs,
    propertyNames: { maxLength: MOST_METADATA.name },
    additionalProperties: { type: "string", maxLength: MOST_METADATA.value },
  },
  (value): Record<string, string> | undefined => {
    if (value === undefined || value === null) return {};
    if (typeof value !== "object" || Array.isArray(value)) return undefined;
    const pairs = Object.entries(value);
    const fits = pairs.length <= MOST_METADATA.pairs &&
      pairs.every(([name, text]) =>
        name.length <= MOST_METADATA.name && typeof text === "string" &&
        text.length <= MOST_METADATA.value
      );
    return fits ? Object.fromEntries(pairs) : undefined;
  },
).optional().describe("What the client wants to find the response by.");

/** `text.format`; `textConstraint` has what it means. */
const TextFormat = z.looseObject({
  type: oneOf(FORMATS),
  name: string("What the schema is called."),
  description: string("What it is for. Accepted, without effect."),
  schema: z.unknown().optional().meta({
    type: "object",
    description: "With json_schema: a JSON Schema.",
  }),
  strict: boolean(
    "Whether a schema that no grammar can enforce is refused; if not, that part is left to the model.",
  ),
}, wants("an object"));
export type TextFormat = z.output<typeof TextFormat>;

/** A function of the client's, or a namespace of several; `readTools` checks the rest. */
const Tool = z.looseObject({
  type: z.string(wants("a string")).describe(
    "function, custom for one that takes a text, or namespace for several. OpenAI's own (web_search and the like) " +
      "are left out, which the header m40-left-out says; others are not supported.",
  ),
  name: string("Letters, digits, _, ., :, / and -, up to 128."),
  description: string("What it does, for the model."),
  parameters: object("A JSON Schema that the arguments follow."),
  strict: boolean("Whether parameters that no grammar can enforce are refused."),
  format: z.unknown().optional().meta({
    type: "object",
    description:
      "With custom: a grammar of the text. The model sees it, but is not constrained to it.",
  }),
  tools: z.unknown().optional().meta({
    type: "array",
    description: "With namespace: its functions.",
  }),
}, wants("an object")).meta({ title: "Tool" });
export type Tool = z.output<typeof Tool>;

/** What makes the prompt: alike where a conversation is answered and where its tokens are counted. */
const conversationFields = {
  ...modelFields,
  input: present(INPUT_WANTED, {
    anyOf: [{ type: "string" }, { type: "array", items: { type: "object" } }],
  }).describe(
    "What is said: a text, or items: messages with text, reasoning, function_call, " +
      "custom_tool_call, the outputs of both, and item_reference. Of the items of OpenAI's own tools the model " +
      "reads the texts that they have.",
  ),
  instructions: string(
    "The system prompt. It is not carried over to the next response.",
  ),
  previous_response_id: string(
    "The response that this one goes on from, as long as the server has it: what was said there " +
      "and answered comes before input.",
  ),
  tools: optionalArrayOf(Tool, "an array of tools").describe("Functions that the model may call."),
  tool_choice: z.unknown().optional().meta({
    anyOf: [{ enum: ["none", "auto", "required"] }, { type: "object" }, { type: "null" }],
    description:
      'Which of them it calls: none, those that it wants (auto), at least one, {"type": ' +
      '"function", "name"}, or {"type": "allowed_tools", "mode", "tools"}.',
  }),
  parallel_tool_calls: boolean("Whether one answer may call several; default true."),
  reasoning: z.looseObject({
    effort: oneOf(EFFORTS).nullish().describe(
      "How much the model reasons. The template gets the nearest word that it knows; none " +
        "ends reasoning at once.",
    ),
    summary: ignored("How the reasoning is to be summed up; here it comes whole."),
  }, wants("an object")).nullish().describe("How the model reasons."),
  reasoning_budget: integer(
    -1,
    2 ** 31,
    "Tokens of reasoning at most: then it is ended, and the answer begins. 0 is none, -1 no limit; " +
      "absent: what the server was started with.",
  ),
  truncation: oneOf(TRUNCATIONS).nullish().describe(
    "auto: where the context has no room for all that was said, the oldest turns are " +
      "left out. disabled (default): that is an error.",
  ),
  chat_template_kwargs: object("Variables for the template, such as enable_thinking."),
  chat_template: string("One of the templates that the model's file has by name."),
  conversation: unsupported,
  prompt: unsupported,
};

/** What a schema with {@link conversationFields} gives of them. */
export type ConversationFields = z.output<z.ZodObject<typeof conversationFields>>;

/** The body of `POST /v1/responses`. */
export const ResponsesRequest = z.object({
  ...conversationFields,
  max_output_tokens: integer(
    1,
    2 ** 31,
    "Tokens sampled at most, reasoning included; absent: as many as the context has room for.",
  ),
  stream: boolean("Whether the response comes in pieces, as server-sent events."),
  stream_options: ignored("How it is streamed."),
  store: boolean(
    "Whether it is kept, for previous_response_id and to be fetched; default true.",
  ),
  metadata,
  include: strings(
    "message.output_text.logprobs: the text's tokens carry their log-probabilities. " +
      "reasoning.encrypted_content: reasoning has it. Others that OpenAI has do nothing.",
  ),
  top_logprobs: integer(0, 20, "So many likeliest tokens for each."),
  text: z.object({
    format: TextFormat.nullish().describe(
      "json_schema: the answer's text is JSON that the schema accepts. json_object: " +
        "it is a JSON object. text (default): it is free.",
    ),
    verbosity: oneOf(VERBOSITIES).nullish().describe(
      "How long the answer is to be. Accepted, without effect.",
    ),
  }, wants("an object")).nullish().describe("What the answer's text is to be like."),
  ...samplingFields,
  ...constraintFields,
  ...othersFields,
  background: boolean("Not supported but for false."),
  context_management: z.array(z.unknown(), wants("an array")).nullish().describe(
    "Not supported: absent or empty.",
  ),
  moderation: unsupported,
  max_tool_calls: ignored("How often OpenAI's own tools may be called; there are none here."),
  user: string("The end user. Accepted, without effect."),
  safety_identifier: string("The end user. Accepted, without effect."),
  prompt_cache_key: string(
    "Which cache serves the request; here prompts that begin alike share it. Accepted, without effect.",
  ),
  prompt_cache_options: ignored("How the prompt is cached."),
  prompt_cache_retention: ignored("How long the prompt is cached."),
  service_tier: ignored("How urgent the answer is."),
}, wants("a JSON object")).meta({ id: "ResponsesRequest" });

/** The checked body of `POST /v1/responses`. */
export type ResponsesRequest = z.output<typeof ResponsesRequest>;

/** The body of `POST /v1/responses/input_tokens`. */
export const InputTokensRequest = z.object(conversationFields, wants("a JSON object"))
  .meta({ id: "InputTokensRequest" });
