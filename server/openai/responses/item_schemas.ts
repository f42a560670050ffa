import { z } from "zod";

/** Whether an item is whole. */
const status = z.enum(["in_progress", "completed", "incomplete"]).describe(
  "incomplete: the answer was cut off in it.",
);

/** An item of a type, with what only it has. */
const item = <T extends string, F extends z.core.$ZodLooseShape>(type: T, id: string, fields: F) =>
  z.strictObject({ type: z.literal(type), id: z.string(), status, ...fields }).meta({ id });

const InputText = z.strictObject({ type: z.literal("input_text"), text: z.string() })
  .meta({ id: "InputTextPart" });

/** What is said to the model. */
const InputMessage = item("message", "InputMessageItem", {
  role: z.enum(["user", "system", "developer"]),
  content: z.array(InputText),
});
export type InputMessage = z.output<typeof InputMessage>;

const shortLogprob = { token: z.string(), logprob: z.number() };

/** A token of a text as the events of a stream report it. */
export const TextLogprob = z.strictObject({
  ...shortLogprob,
  top_logprobs: z.array(z.strictObject(shortLogprob)),
}).meta({ id: "TextLogprob" });
export type TextLogprob = z.output<typeof TextLogprob>;

const longLogprob = { ...shortLogprob, bytes: z.array(z.int().min(0).max(255)) };

/** A token of a text, and the likeliest ones at its position. */
const OutputTextLogprob = z.strictObject({
  ...longLogprob,
  top_logprobs: z.array(z.strictObject(longLogprob)),
}).meta({ id: "OutputTextLogprob" });
export type OutputTextLogprob = z.output<typeof OutputTextLogprob>;

const OutputText = z.strictObject({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.never()).describe("Always empty."),
  logprobs: z.array(OutputTextLogprob).describe("Empty unless asked for."),
}).meta({ id: "OutputTextPart" });
export type OutputText = z.output<typeof OutputText>;

/** What an assistant said. */
const OutputMessage = item("message", "OutputMessageItem", {
  role: z.literal("assistant"),
  content: z.array(OutputText),
});
export type OutputMessage = z.output<typeof OutputMessage>;

const ReasoningText = z.strictObject({ type: z.literal("reasoning_text"), text: z.string() })
  .meta({ id: "ReasoningTextPart" });
export type ReasoningText = z.output<typeof ReasoningText>;

/** What an assistant thought before. */
const ReasoningItem = item("reasoning", "ReasoningItem", {
  summary: z.array(z.never()).describe("Always empty: all of the reasoning is in content."),
  content: z.array(ReasoningText),
  encrypted_content: z.string().optional().describe(
    "The same for clients that send back this alone, where include asks for it. It hides nothing.",
  ),
});
export type ReasoningItem = z.output<typeof ReasoningItem>;

/** A call of one of the client's functions. */
const FunctionCall = item("function_call", "FunctionCallItem", {
  call_id: z.string().describe("What its function_call_output names it by."),
  name: z.string(),
  namespace: z.string().optional().describe("The namespace of its function, if any."),
  arguments: z.string().describe("A JSON object, as its text."),
});
export type FunctionCall = z.output<typeof FunctionCall>;

/** What came of a call. */
const FunctionCallOutput = item("function_call_output", "FunctionCallOutputItem", {
  call_id: z.string(),
  output: z.union([z.string(), z.array(InputText)]),
});
export type FunctionCallOutput = z.output<typeof FunctionCallOutput>;

/** A call of one of the client's custom tools. */
const CustomToolCall = item("custom_tool_call", "CustomToolCallItem", {
  call_id: z.string().describe("What its custom_tool_call_output names it by."),
  name: z.string(),
  namespace: z.string().optional().describe("The namespace of its tool, if any."),
  input: z.string().describe("What the tool is given: a text."),
});
export type CustomToolCall = z.output<typeof CustomToolCall>;

/** What came of a call of a custom tool. */
const CustomToolCallOutput = FunctionCallOutput.extend({
  type: z.literal("custom_tool_call_output"),
}).meta({ id: "CustomToolCallOutputItem" });
export type CustomToolCallOutput = z.output<typeof CustomToolCallOutput>;

/** What a model answers with. */
export const OutputItem = z.union([OutputMessage, ReasoningItem, FunctionCall, CustomToolCall])
  .meta({
    id: "OutputItem",
  });
export type OutputItem = z.output<typeof OutputItem>;

/** A part of an output item's content. */
export const OutputPart = z.union([OutputText, ReasoningText]).meta({ id: "OutputPart" });
export type OutputPart = z.output<typeof OutputPart>;

/** All that a conversation is made of. */
export const Item = z.union([
  InputMessage,
  OutputMessage,
  ReasoningItem,
  FunctionCall,
  FunctionCallOutput,
  CustomToolCall,
  CustomToolCallOutput,
]).meta({ id: "ResponseItem" });
export type Item = z.output<typeof Item>;

/** A new id of an item, by which clients know what it is. */
export function itemId(prefix: "msg" | "rs" | "fc" | "fco" | "ctc" | "ctco"): string {
  return `${prefix}_${crypto.randomUUID().replaceAll("-", "")}`;
}
