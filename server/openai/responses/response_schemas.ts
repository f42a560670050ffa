import { z } from "zod";
import { Item, OutputItem, OutputPart, TextLogprob } from "./item_schemas.ts";

const tokens = (description: string) => z.int().min(0).describe(description);

/** Tokens that a response took. */
export const ResponseUsage = z.strictObject({
  input_tokens: tokens("Tokens of the prompt."),
  input_tokens_details: z.strictObject({
    cached_tokens: tokens("Those that were found in the prefix cache."),
    cache_write_tokens: tokens("Always 0: keeping a prompt costs nothing."),
  }),
  output_tokens: tokens("Tokens sampled, end tokens and reasoning included."),
  output_tokens_details: z.strictObject({
    reasoning_tokens: tokens("Tokens sampled that are reasoning."),
  }),
  total_tokens: tokens("Both together."),
}).meta({ id: "ResponseUsage", description: "Tokens that a response took." });
export type ResponseUsage = z.output<typeof ResponseUsage>;

const echoed = (description: string) => z.string().nullable().describe(description);
const seconds = (description: string) => z.int().describe(description);

/** A response, on its way or done. */
export const ResponseObject = z.strictObject({
  id: z.string(),
  object: z.literal("response"),
  created_at: seconds("Seconds since 1970."),
  completed_at: seconds("When it was done, in seconds since 1970.").nullable(),
  status: z.enum(["in_progress", "completed", "incomplete", "failed"]),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable().describe(
    "Why it failed.",
  ),
  incomplete_details: z.strictObject({ reason: z.literal("max_output_tokens") }).nullable()
    .describe("Why it is incomplete: max_output_tokens, or the end of the context."),
  model: z.string(),
  output: z.array(OutputItem),
  usage: ResponseUsage.nullable(),
  instructions: echoed("As in the request, like all below."),
  previous_response_id: z.string().nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.null(),
  metadata: z.record(z.string(), z.string()),
  parallel_tool_calls: z.boolean(),
  reasoning: z.strictObject({ effort: z.string().nullable(), summary: z.null() }),
  store: z.boolean(),
  temperature: z.number(),
  text: z.strictObject({
    format: z.looseObject({ type: z.string() }),
    verbosity: z.string(),
  }),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]),
  tools: z.array(z.looseObject({ type: z.string() })),
  top_logprobs: z.int(),
  top_p: z.number(),
  truncation: z.string(),
  background: z.literal(false),
  prompt_cache_key: z.string().nullable(),
  safety_identifier: z.string().nullable(),
  service_tier: z.literal("default"),
  user: z.string().optional(),
}).meta({ id: "Response" });
export type ResponseObject = z.output<typeof ResponseObject>;

const sequence_number = z.int().min(0).describe("The events of a stream, counted.");

/** An event: its name in the API's description, its type or types, and what else it has. */
const event = <T extends string, F extends z.ZodRawShape>(id: string, type: T | T[], fields: F) =>
  z.strictObject({
    type: (Array.isArray(type) ? z.enum(type) : z.literal(type)) as z.ZodType<T, T>,
    sequence_number,
    ...fields,
  }).meta({ id });

const output_index = z.int().min(0).describe("Which item of the output.");
const itemFields = { item_id: z.string(), output_index };
const partFields = {
  ...itemFields,
  content_index: z.literal(0).describe("Which part of its content."),
};
const delta = z.string();
const text = z.string();
const logprobs = z.array(TextLogprob);

/** The events of a stream that begins. */
export const RESPONSE_EVENTS = [
  // How the response is as a whole.
  event("ResponseStateEvent", [
    "response.created",
    "response.in_progress",
    "response.completed",
    "response.incomplete",
    "response.failed",
  ], { response: ResponseObject }),
  event("ResponseKeepAlive", "keepalive", {}),
  event(
    "ResponseOutputItemEvent",
    ["response.output_item.added", "response.output_item.done"],
    { output_index, item: OutputItem },
  ),
  event(
    "ResponseContentPartEvent",
    ["response.content_part.added", "response.content_part.done"],
    { ...partFields, part: OutputPart },
  ),
  event("ResponseReasoningTextDelta", "response.reasoning_text.delta", { ...partFields, delta }),
  event("ResponseReasoningTextDone", "response.reasoning_text.done", { ...partFields, text }),
  event(
    "ResponseOutputTextDelta",
    "response.output_text.delta",
    { ...partFields, delta, logprobs },
  ),
  event("ResponseOutputTextDone", "response.output_text.done", { ...partFields, text, logprobs }),
  event(
    "ResponseFunctionCallArgumentsDelta",
    "response.function_call_arguments.delta",
    { ...itemFields, delta },
  ),
  event(
    "ResponseFunctionCallArgumentsDone",
    "response.function_call_arguments.done",
    { ...itemFields, arguments: text },
  ),
  event(
    "ResponseCustomToolCallInputDelta",
    "response.custom_tool_call_input.delta",
    { ...itemFields, delta },
  ),
  event(
    "ResponseCustomToolCallInputDone",
    "response.custom_tool_call_input.done",
    { ...itemFields, input: text },
  ),
] as const;
export const ResponseEvent = z.union(RESPONSE_EVENTS);
export type ResponseEvent = z.output<typeof ResponseEvent>;

type Uncounted<Event> = Event extends unknown ? Omit<Event, "sequence_number"> : never;

/** An event before it is counted. */
export type UncountedEvent = Uncounted<ResponseEvent>;

/** The answer of `DELETE /v1/responses/{id}`. */
export const DeletedResponse = z.strictObject({
  id: z.string(),
  object: z.literal("response"),
  deleted: z.literal(true),
}).meta({ id: "DeletedResponse" });
export type DeletedResponse = z.output<typeof DeletedResponse>;

/** The answer of `GET /v1/responses/{id}/input_items`. */
export const InputItemList = z.strictObject({
  object: z.literal("list"),
  data: z.array(Item),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
}).meta({ id: "InputItemList" });
export type InputItemList = z.output<typeof InputItemList>;

/** The answer of `POST /v1/responses/input_tokens`. */
export const InputTokens = z.strictObject({
  object: z.literal("response.input_tokens"),
  input_tokens: tokens("Tokens of the prompt."),
}).meta({ id: "InputTokens" });
export type InputTokens = z.output<typeof InputTokens>;
