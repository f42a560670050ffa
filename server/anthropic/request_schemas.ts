import { z } from "zod";
import { MAX_STOP_STRINGS } from "../../engine/mod.ts";
import { modelFields } from "../answer/mod.ts";
import {
  arrayOf,
  boolean,
  ignored,
  integer,
  objectSchema,
  oneOf,
  optionalArrayOf,
  present,
  read,
  requiredInteger,
  samplingFields,
  string,
  wants,
} from "../request/mod.ts";

const ROLES = ["user", "assistant", "system"] as const;
const THINKING = ["enabled", "disabled", "adaptive"] as const;
const DISPLAYS = ["summarized", "omitted"] as const;
const CHOICES = ["auto", "any", "tool", "none"] as const;
const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const;

/** What a message's content is. */
export const CONTENT_WANTED = "a string or an array of blocks";

/** A tool. `toolFields` has what its fields may be, which depends on its type. */
const Tool = z.looseObject({
  type: z.unknown().optional().meta({ anyOf: [{ const: "custom" }, { type: "null" }] }),
  name: z.unknown().optional().meta({
    type: "string",
    description: "What it is called by.",
  }),
  description: string("What it does, and when it is to be called."),
  input_schema: z.unknown().optional().meta({
    type: "object",
    description: "A JSON Schema that the input of every call follows; see strict.",
  }),
  strict: z.unknown().optional().describe(
    "With true, schemas that no grammar can enforce are refused.",
  ),
}, wants("an object")).meta({ title: "Tool", description: "A tool of the client's." });

const TEXT = { type: "string" };
const OBJECT = { type: "object" };
const blocks = (...items: unknown[]) => ({
  type: "array",
  items: items.length === 1 ? items[0] : { anyOf: items },
});

/** A block of text; those of other types are refused by name, but for an assistant's thinking. */
const TEXT_BLOCK = objectSchema({ type: { const: "text" }, text: TEXT }, "type", "text");
const TEXT_BLOCKS = blocks(TEXT_BLOCK);

/** What a result may have: other blocks are named to the model, and not shown. */
const RESULT_BLOCKS = blocks(
  TEXT_BLOCK,
  objectSchema({ type: { enum: ["image", "document"] }, source: OBJECT }, "type"),
);

/** What else a message's content may have: what an assistant called, and what came of it. */
const BLOCKS = blocks(
  TEXT_BLOCK,
  objectSchema(
    { type: { const: "tool_use" }, id: TEXT, name: TEXT, input: OBJECT },
    ...["type", "id", "name", "input"],
  ),
  objectSchema(
    {
      type: { const: "tool_result" },
      tool_use_id: TEXT,
      content: { anyOf: [TEXT, RESULT_BLOCKS, { type: "null" }] },
      is_error: { type: ["boolean", "null"] },
    },
    "type",
    "tool_use_id",
  ),
);

/** A message of the conversation; `chatRequest` has what its content may be. */
export const Message = z.object({
  role: oneOf(ROLES).describe("The role that speaks."),
  content: present(CONTENT_WANTED, { anyOf: [{ type: "string" }, BLOCKS] }).describe(
    "What is said: a text, or blocks of it. An assistant's may have its thinking " +
      "before it, and the tools that it called, as they were answered; a user's what came of those calls.",
  ),
}, wants("an object")).meta({ title: "Message", description: "A message of a conversation." });
export type Message = z.output<typeof Message>;

/** What the text of an answer has to be like. */
const outputFormat = (description: string) =>
  z.looseObject({
    type: z.unknown().optional().meta({ const: "json_schema" }),
    schema: z.unknown().optional().meta({
      type: "object",
      description: "A JSON Schema. A part that no grammar can enforce is an error that names it.",
    }),
  }, wants("an object")).nullish().describe(description);

/** What makes the prompt: alike where a conversation is answered and where its tokens are counted. */
const conversationFields = {
  ...modelFields,
  messages: arrayOf(Message, "an array of at least one message", 1).describe(
    "The conversation so far. Where an assistant's message is the last, the answer " +
      "continues it. Messages of one role after another are one.",
  ),
  system: z.unknown().optional().meta({
    anyOf: [{ type: "string" }, TEXT_BLOCKS, { type: "null" }],
    description: "The system prompt: a text, or blocks of it.",
  }),
  thinking: z.object({
    type: oneOf(THINKING).describe(
      "Whether the model reasons before its answer, where its template can ask it " +
        "so; adaptive leaves it to the model.",
    ),
    budget_tokens: integer(
      1,
      2 ** 31,
      "With enabled: tokens of reasoning at most; then it is ended, and the answer begins.",
    ),
    display: oneOf(DISPLAYS).nullish().describe(
      "omitted: the thinking itself is left out of the answer.",
    ),
  }, wants("an object")).nullish().describe(
    "How the model reasons; absent: as its template and the server have it.",
  ),
  output_config: z.object({
    effort: oneOf(EFFORTS).nullish().describe(
      "How much the model reasons. The template gets the nearest word that it knows.",
    ),
    format: outputFormat("The answer's text is JSON that the schema accepts."),
  }, wants("an object")).nullish().describe("What the answer is to be like."),
  output_format: outputFormat("The first name of output_config.format, which counts first."),
  tools: optionalArrayOf(Tool, "an array of tools")
    .describe("The tools that the answer may call; those of other types than custom are refused."),
  tool_choice: z.object({
    type: oneOf(CHOICES).describe(
      "auto: the model calls tools or not; any: it calls at least one; tool: the one of the name; none.",
    ),
    name: string("With tool: which."),
    disable_parallel_tool_use: boolean("Whether the answer calls one tool at most."),
  }, wants("an object")).nullish().describe(
    "Which tools are called; absent: those that the model wants.",
  ),
  mcp_servers: z.array(z.unknown(), wants("an array")).nullish().describe(
    "Not supported: absent or empty.",
  ),
  cache_control: ignored(
    "What is to be cached, here and in every block; here prompts that begin alike share what was computed.",
  ),
  context_management: ignored("What of a long conversation is to be left out."),
};

/** What a schema with {@link conversationFields} gives of them. */
export type ConversationFields = z.output<z.ZodObject<typeof conversationFields>>;

const { stop: _, ...otherSampling } = samplingFields;

/** The body of `POST /v1/messages`. */
export const MessagesRequest = z.object({
  ...conversationFields,
  max_tokens: requiredInteger(1, 2 ** 31).describe(
    "Tokens sampled at most, thinking included; never more than the context has room for.",
  ),
  stream: boolean("Whether the answer comes in pieces, as server-sent events."),
  stop_sequences: z.preprocess(
    (value) => value ?? [],
    read(
      `an array of up to ${MAX_STOP_STRINGS} strings, none of them empty`,
      { type: "array", maxItems: MAX_STOP_STRINGS, items: { type: "string", minLength: 1 } },
      (value) => {
        const fits = Array.isArray(value) && value.length <= MAX_STOP_STRINGS &&
          value.every((one) => typeof one === "string" && one !== "");
        return fits ? value as string[] : undefined;
      },
    ).optional(),
  ).meta({
    type: ["array", "null"],
    description: `Up to ${MAX_STOP_STRINGS} strings that end the answer; they are not part of it.`,
  }),
  ...otherSampling,
  temperature: z.custom<number>(
    (value) => typeof value === "number" && value >= 0 && value <= 1,
    wants("a number from 0 to 1"),
  ).meta({ type: "number", minimum: 0, maximum: 1 }).nullish().describe(
    "Divides the logits; 0 always takes the likeliest token.",
  ),
  container: string("Not supported: absent."),
  metadata: ignored("The end user."),
  service_tier: ignored("How urgent the answer is."),
  inference_geo: ignored("Where the answer may be computed."),
  speed: ignored("How fast the answer is wanted."),
}, wants("a JSON object")).meta({ id: "MessagesRequest" });

/** The checked body of `POST /v1/messages`. */
export type MessagesRequest = z.output<typeof MessagesRequest>;

/** The body of `POST /v1/messages/count_tokens`. */
export const CountTokensRequest = z.object(conversationFields, wants("a JSON object"))
  .meta({ id: "CountTokensRequest" });
