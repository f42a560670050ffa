import { z } from "zod";
import { ROLES } from "../../engine/mod.ts";
import { modelFields, Timings, Usage } from "../answer/mod.ts";
import {
  arrayOf,
  boolean,
  constraintFields,
  ignored,
  integer,
  mostTokens,
  object,
  objectSchema,
  samplingFields,
  streamOptions,
  string,
  strings,
  wants,
} from "../request/mod.ts";
import { othersFields, thinkingFields } from "./others_fields.ts";
import { MAX_N } from "./completion_schemas.ts";

const TEXT = { type: "string" };
const TOOL_NAME = { type: "string", pattern: "^[A-Za-z0-9_.:/-]{1,128}$" };

/** A part of a message's content; parts of other types than text are refused by name. */
const PART_SCHEMA = objectSchema({ type: { const: "text" }, text: TEXT }, "type", "text");

const CALLED_FUNCTION = objectSchema({ name: TEXT, arguments: TEXT }, "name", "arguments");

/** A call of a tool in a message. */
const CALL_SCHEMA = objectSchema(
  { id: TEXT, type: { const: "function" }, function: CALLED_FUNCTION },
  "id",
  "function",
);

/** A call of a custom tool in a message. */
const CUSTOM_CALL_SCHEMA = objectSchema(
  {
    id: TEXT,
    type: { const: "custom" },
    custom: objectSchema({ name: TEXT, input: TEXT }, "name", "input"),
  },
  "id",
  "type",
  "custom",
);

/** A tool or the choice of one: its fields are under the name of its type. */
const toolSchema = (type: "function" | "custom", fields: Record<string, unknown>) =>
  objectSchema({ type: { const: type }, [type]: objectSchema(fields, "name") }, "type", type);

/** The tools; `readTools` has what they may be. */
const TOOL_SCHEMAS = [
  toolSchema("function", {
    name: TOOL_NAME,
    description: TEXT,
    parameters: { type: "object" },
    strict: { type: "boolean" },
  }),
  toolSchema("custom", { name: TOOL_NAME, description: TEXT, format: { type: "object" } }),
];

const CHOICE_SCHEMA = [
  { enum: ["none", "auto", "required", null] },
  toolSchema("function", { name: TEXT }),
  toolSchema("custom", { name: TEXT }),
];

/** Who speaks in OpenAI's messages, the older name of a tool included. */
const MESSAGE_ROLES = [...ROLES, "function"] as const;

/** A message of the conversation; `readMessages` has what its content may be. */
export const Message = z.object({
  role: z.enum(MESSAGE_ROLES, wants(ROLES.map((role) => `"${role}"`).join(", "))).describe(
    "Who speaks; function is the older name of tool, for the result of a function_call.",
  ),
  content: z.unknown().meta({
    anyOf: [
      { type: "string" },
      { type: "array", items: PART_SCHEMA },
      { type: "null" },
    ],
  }).optional().describe(
    "What is said: a text, or parts of it. Only an assistant's and a tool's may be absent.",
  ),
  name: string("The speaker's name, if the template shows it."),
  reasoning_content: string(
    "The reasoning of an assistant's message that is sent back, if the template shows it.",
  ),
  reasoning: string("Another name of reasoning_content, which counts first."),
  refusal: ignored("What the assistant declined with."),
  tool_call_id: string("The call that a tool's message is the result of; required there."),
  tool_calls: z.unknown().optional().meta({
    anyOf: [{ type: "array", items: { anyOf: [CALL_SCHEMA, CUSTOM_CALL_SCHEMA] } }, {
      type: "null",
    }],
    description: "The tools that an assistant's message called.",
  }),
  function_call: z.unknown().optional().meta({
    anyOf: [CALLED_FUNCTION, { type: "null" }],
    description:
      "The older form of tool_calls: the one function that an assistant's message called.",
  }),
}, wants("an object")).meta({ title: "Message", description: "A message of a conversation." });
export type Message = z.output<typeof Message>;

/** The messages, and how the template makes a prompt of them: alike wherever a conversation is taken. */
export const conversationFields = {
  messages: arrayOf(Message, "an array of at least one message", 1).describe(
    "The conversation so far.",
  ),
  continue_final_message: boolean(
    "Whether the last message, an assistant's, is unfinished: the answer continues it.",
  ),
  add_generation_prompt: boolean("False is the same as continue_final_message true."),
  chat_template_kwargs: object("Variables for the template, such as enable_thinking."),
  chat_template: string(
    "One of the templates that the model's file has by name, such as tool_use; absent: its default one.",
  ),
  reasoning_effort: string(
    "How much the model reasons: minimal, low, medium, high, xhigh or max. The template gets the nearest word that it " +
      "knows. none: not at all. chat_template_kwargs and reasoning_budget take precedence.",
  ),
  ...thinkingFields,
  tools: z.array(z.unknown(), wants("an array")).nullish().meta({
    items: { anyOf: TOOL_SCHEMAS },
    description:
      "Functions of the client's that the model may call, and custom tools, which get a text " +
      "({type: custom, custom: {name, description, format}}). The arguments of functions follow " +
      "parameters, a JSON Schema. With strict, parameters that no grammar can enforce are refused.",
  }),
  tool_choice: z.unknown().optional().meta({
    anyOf: CHOICE_SCHEMA,
    description:
      "Whether tools are called: none, auto (the model decides; the default), required (at least " +
      "one), or one by its name.",
  }),
  parallel_tool_calls: boolean("Whether one answer may call several tools; default true."),
};

/** What a schema with {@link conversationFields} gives of them. */
export type ConversationFields = z.output<z.ZodObject<typeof conversationFields>>;

/** The body of `POST /v1/chat/completions`. */
export const ChatCompletionRequest = z.object({
  ...modelFields,
  ...conversationFields,
  max_completion_tokens: mostTokens(
    "Tokens sampled at most, reasoning included; absent: as many as the context has room for.",
  ),
  max_tokens: mostTokens("The older name of max_completion_tokens, which counts first."),
  n_predict: mostTokens("llama.cpp's name of max_tokens, which counts last."),
  reasoning_budget: integer(
    -1,
    2 ** 31,
    "Tokens of reasoning at most: then it is ended, and the answer begins. 0 is none, -1 no limit; absent: " +
      "what the server was started with.",
  ),
  n: integer(1, MAX_N, "Answers; default 1. With a seed, the first is the one that n 1 gives."),
  logprobs: boolean("Whether the content's tokens carry their log-probabilities."),
  top_logprobs: integer(
    0,
    20,
    "With logprobs: so many likeliest tokens in the place of each. 0 without it is none.",
  ),
  stream: boolean("Whether the answer comes in pieces, as server-sent events."),
  stream_options: streamOptions(),
  ...samplingFields,
  ...constraintFields,
  ...othersFields,
  documents: z.unknown().optional().describe(
    "Not supported: absent, null or empty. Texts belong into messages.",
  ),
  modalities: strings('Not supported but for ["text"].'),
  functions: z.array(z.unknown(), wants("an array")).nullish()
    .describe("Not supported: absent or empty. It is the older form of tools."),
  function_call: z.unknown().optional()
    .describe('Not supported but for "none" and "auto", which do nothing.'),
  audio: z.unknown().optional().describe("Not supported: absent."),
  web_search_options: z.unknown().optional().describe("Not supported: absent."),
  user: string("The caller's user. Accepted, without effect."),
  safety_identifier: ignored("The caller's user."),
  prompt_cache_key: ignored(
    "Which cache serves the request; here prompts that begin alike share it.",
  ),
  metadata: ignored("What the client wants to find the answer by."),
  store: ignored("Whether the answer is kept."),
  service_tier: ignored("How urgent the answer is."),
  prediction: ignored("What the answer is expected to be."),
  verbosity: ignored("How long the answer is to be."),
}, wants("a JSON object")).meta({ id: "ChatCompletionRequest" });

/** The checked body of `POST /v1/chat/completions`. */
export type ChatCompletionRequest = z.output<typeof ChatCompletionRequest>;

const tokenFields = {
  token: z.string().describe("Its text; `bytes:\\xe2\\x82` for a part of a character."),
  logprob: z.number().describe("The natural logarithm of its probability by the model."),
  bytes: z.array(z.int().min(0).max(255)).nullable().describe(
    "The bytes that it stands for; null for a control token.",
  ),
};

/** A token of the content, and the likeliest ones in its place. */
export const ChatTokenLogprob = z.strictObject({
  ...tokenFields,
  top_logprobs: z.array(z.strictObject(tokenFields)),
}).meta({ id: "ChatTokenLogprob" });
export type ChatTokenLogprob = z.output<typeof ChatTokenLogprob>;

const logprobs = z.strictObject({
  content: z.array(ChatTokenLogprob),
  refusal: z.null(),
}).meta({ id: "ChatLogprobs" });

const finishReason = z.enum(["stop", "length", "tool_calls"]);

/** A call of a tool in an answer. */
export const ChatToolCall = z.strictObject({
  id: z.string(),
  type: z.literal("function"),
  function: z.strictObject({
    name: z.string(),
    arguments: z.string().describe(
      "A JSON object; where max_tokens has cut the answer, the beginning of one.",
    ),
  }),
}).meta({ id: "ChatToolCall" });
export type ChatToolCall = z.output<typeof ChatToolCall>;

/** A call of a custom tool in an answer. */
export const ChatCustomCall = z.strictObject({
  id: z.string(),
  type: z.literal("custom"),
  custom: z.strictObject({
    name: z.string(),
    input: z.string().describe("What the tool is given: a text."),
  }),
}).meta({ id: "ChatCustomCall" });

/** One answer. */
export const ChatChoice = z.strictObject({
  index: z.int().min(0),
  message: z.strictObject({
    role: z.literal("assistant"),
    content: z.string().nullable().describe("Null where only tools are called."),
    tool_calls: z.array(z.union([ChatToolCall, ChatCustomCall])).optional().describe(
      "The tools that the model calls, where it calls some.",
    ),
    reasoning_content: z.string().optional().describe(
      "The model's reasoning, where the answer has some and m40 recognises it.",
    ),
    refusal: z.null(),
  }),
  logprobs: logprobs.nullable(),
  finish_reason: finishReason,
}).meta({ id: "ChatChoice" });
export type ChatChoice = z.output<typeof ChatChoice>;

const headFields = {
  id: z.string(),
  created: z.int().describe("Seconds since 1970."),
  model: z.string(),
  system_fingerprint: z.string(),
};

/** The answer as a whole. */
export const ChatCompletion = z.strictObject({
  ...headFields,
  object: z.literal("chat.completion"),
  choices: z.array(ChatChoice),
  usage: Usage,
  timings: Timings.optional().describe("By /chat/completions, without /v1."),
}).meta({ id: "ChatCompletion" });
export type ChatCompletion = z.output<typeof ChatCompletion>;

/** An event of a stream. */
export const ChatCompletionChunk = z.strictObject({
  ...headFields,
  object: z.literal("chat.completion.chunk"),
  choices: z.array(z.strictObject({
    index: z.int().min(0),
    delta: z.strictObject({
      role: z.literal("assistant").optional().describe("In a choice's first event."),
      content: z.string().optional(),
      tool_calls: z.array(z.strictObject({
        index: z.int().min(0).describe("Which call of the answer it is of."),
        id: z.string().optional(),
        type: z.enum(["function", "custom"]).optional(),
        function: z.strictObject({ name: z.string().optional(), arguments: z.string() }).optional(),
        custom: z.strictObject({ name: z.string().optional(), input: z.string() }).optional()
          .describe("Of a custom tool's call, in the place of function."),
      })).optional().describe(
        "What comes of calls; the id, the type and the name with a call's first piece.",
      ),
      reasoning_content: z.string().optional(),
      refusal: z.null().optional(),
    }),
    logprobs: logprobs.nullable(),
    finish_reason: finishReason.nullable().describe("In a choice's last event."),
  })),
  usage: Usage.nullish().describe(
    "Only where stream_options.include_usage is true, and null but in the last event.",
  ),
  timings: Timings.optional().describe(
    "By /chat/completions, without /v1: in the first choice's last event.",
  ),
}).meta({ id: "ChatCompletionChunk" });
export type ChatCompletionChunk = z.output<typeof ChatCompletionChunk>;
