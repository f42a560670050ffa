/**
 * What Anthropic's messages answer. A field is null only where Anthropic's own service writes null: what it leaves out
 * is left out here, though the official types call it nullable. Clients check answers by what the service sends.
 *
 * @module
 */
import { z } from "zod";

const tokens = (description: string) => z.int().min(0).describe(description);

/** Tokens that a request took. The prompt's are those of the first three fields together. */
const usageFields = {
  input_tokens: tokens("Tokens of the prompt that had to be computed."),
  cache_creation_input_tokens: tokens("Always 0: keeping a prompt costs nothing."),
  cache_read_input_tokens: tokens("Tokens of the prompt that were found in the prefix cache."),
  output_tokens: tokens("Tokens sampled, end tokens and thinking included."),
  output_tokens_details: z.strictObject({
    thinking_tokens: tokens("Tokens sampled that are thinking."),
  }).optional().describe("Where the answer is complete."),
};

const MessageUsage = z.strictObject({
  ...usageFields,
  service_tier: z.literal("standard"),
}).meta({ id: "MessageUsage", description: "Tokens that a request took." });
export type MessageUsage = z.output<typeof MessageUsage>;

const StopReason = z.enum([
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "model_context_window_exceeded",
]);

const TextBlock = z.strictObject({
  type: z.literal("text"),
  text: z.string(),
}).meta({ id: "TextBlock" });

const ThinkingBlock = z.strictObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: z.string().describe("Says nothing; it is not looked at when it returns."),
}).meta({ id: "ThinkingBlock" });

const ToolUseBlock = z.strictObject({
  type: z.literal("tool_use"),
  id: z.string().describe("What its result is to name."),
  name: z.string(),
  input: z.record(z.string(), z.unknown()).describe(
    "Valid by the tool's schema. Empty as it begins, and where the answer was cut in the middle of it.",
  ),
  caller: z.strictObject({ type: z.literal("direct") }),
}).meta({ id: "ToolUseBlock", description: "A call of one of the request's tools." });

export const ContentBlock = z.union([TextBlock, ThinkingBlock, ToolUseBlock]).meta({
  id: "ContentBlock",
});
export type ContentBlock = z.output<typeof ContentBlock>;

const stopFields = {
  stop_reason: StopReason.nullable().describe(
    "Why the answer ended: by the model, which may have called tools, by max_tokens, a stop sequence or the end of " +
      "the context.",
  ),
  stop_sequence: z.string().nullable().describe("The stop sequence that was met."),
};

/** The answer of `POST /v1/messages`. */
export const MessageObject = z.strictObject({
  id: z.string(),
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: z.string(),
  content: z.array(ContentBlock),
  ...stopFields,
  usage: MessageUsage,
}).meta({ id: "MessageObject" });
export type MessageObject = z.output<typeof MessageObject>;

const index = z.int().min(0);
const event = <T extends string, F extends z.ZodRawShape>(id: string, type: T, fields: F) =>
  z.strictObject({ type: z.literal(type), ...fields }).meta({ id });

/** The events of a stream, in the order in which they first come. */
export const MESSAGE_EVENTS = [
  event("MessageStartEvent", "message_start", { message: MessageObject }),
  event("PingEvent", "ping", {}),
  event("ContentBlockStartEvent", "content_block_start", { index, content_block: ContentBlock }),
  event("ContentBlockDeltaEvent", "content_block_delta", {
    index,
    delta: z.union([
      z.strictObject({ type: z.literal("text_delta"), text: z.string() }),
      z.strictObject({ type: z.literal("thinking_delta"), thinking: z.string() }),
      z.strictObject({
        type: z.literal("input_json_delta"),
        partial_json: z.string().describe("What the text of the input goes on with."),
      }),
      z.strictObject({ type: z.literal("signature_delta"), signature: z.string() }),
    ]),
  }),
  event("ContentBlockStopEvent", "content_block_stop", { index }),
  event("MessageDeltaEvent", "message_delta", {
    delta: z.strictObject(stopFields),
    // Totals of the message.
    usage: z.strictObject(usageFields).meta({ id: "MessageDeltaUsage" }),
  }),
  event("MessageStopEvent", "message_stop", {}),
] as const;
export const MessageEvent = z.union(MESSAGE_EVENTS);
export type MessageEvent = z.output<typeof MessageEvent>;

/** The answer of `POST /v1/messages/count_tokens`. */
export const TokenCount = z.strictObject({ input_tokens: tokens("Tokens of the prompt.") })
  .meta({ id: "TokenCount" });
export type TokenCount = z.output<typeof TokenCount>;
