import { z } from "zod";
import type { ChatMessage, GenerationChunk, Tool, ToolCall } from "../../engine/mod.ts";
import { unsupported } from "../errors.ts";
import {
  argumentsText,
  describe,
  optionalArrayOf,
  string,
  wants,
  wholeArguments,
} from "../request/mod.ts";

/** A tool of a request. */
const ToolField = z.object({
  type: z.unknown().optional().meta({ const: "function" }),
  function: z.object({
    name: z.string(wants("the name of a function")),
    description: string("What it does, and when it is to be called."),
    parameters: z.unknown().optional().meta({
      type: "object",
      description:
        "A JSON Schema that the arguments of every call follow, as far as a grammar can enforce it. Absent: no arguments.",
    }),
  }, wants("an object")),
}, wants("an object")).meta({ title: "OllamaTool", description: "A function of the client's." });

/** The tools of a request; nothing and null are none. */
export const toolsField = optionalArrayOf(ToolField, "an array of tools").describe(
  "The functions that the model may call.",
);

/** A call in an assistant's message that is sent back. */
const CallField = z.object({
  id: string("Which call it is, where the client keeps that."),
  function: z.object({
    name: z.string(wants("the name of a function")),
    arguments: z.unknown().optional().meta({ type: "object" }),
  }, wants("an object")),
}, wants("an object"));

/** The calls of an assistant's message. */
export const callsField = optionalArrayOf(CallField, "an array of calls").describe(
  "The functions that the assistant called.",
);

/** A call in an answer. */
const AnsweredCall = z.strictObject({
  id: z.string(),
  function: z.strictObject({
    index: z.int().min(0),
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()).describe("Valid by the function's schema."),
  }),
}).meta({ id: "OllamaToolCall" });
export type AnsweredCall = z.output<typeof AnsweredCall>;

/** The field for calls, in answers. */
export const answeredCallsField = {
  tool_calls: z.array(AnsweredCall).optional().describe(
    "The functions that the model calls, where it does; each is whole.",
  ),
};

/**
 * The tools of a request.
 *
 * @throws {HttpError} 400 for those that are no functions.
 */
export function readTools(tools: z.output<typeof toolsField>): Tool[] {
  return (tools ?? []).map(({ type, function: { name, description, parameters } }, index) => {
    if (type != null && type !== "function") {
      throw unsupported(
        `tools.${index}.type`,
        `tools.${index}.type: ${
          describe(type)
        } is not supported. Send tools of the type "function".`,
      );
    }
    return { name, description: description ?? undefined, parameters: parameters ?? undefined };
  });
}

/** Which calls of a conversation have had no result yet: clients need not say which one a result is of. */
export class OpenCalls {
  private open: ToolCall[] = [];
  private count = 0;

  /**
   * The calls of an assistant's message, each with an id.
   *
   * @param at Where they stand, such as "messages.1.tool_calls".
   * @throws {HttpError} 400 for arguments that are nested beyond all measure.
   */
  read(calls: z.output<typeof callsField>, at: string): ToolCall[] {
    return this.open = (calls ?? []).map(({ id, function: { name, arguments: given } }, index) => ({
      id: id || `call_${this.count++}`,
      name,
      arguments: argumentsText(given, `${at}.${index}.function.arguments`),
    }));
  }

  /** Of which call a tool's message is: of that id, else the first of that name, else the first. */
  resultOf(id?: string | null, name?: string | null): Pick<ChatMessage, "toolCallId" | "name"> {
    const { open } = this;
    const call = id
      ? open.find((one) => one.id === id)
      : open.find((one) => one.name === name) ?? (name ? undefined : open[0]);
    if (call === undefined) return { name: name ?? undefined };
    this.open = open.filter((one) => one !== call);
    return { toolCallId: call.id, name: call.name };
  }
}

/** An answer's calls, put together of their pieces: what speaks this dialect takes them whole. */
export class WholeCalls {
  private current?: { readonly id: string; readonly name: string; readonly index: number };
  private text = "";

  /** The calls that are whole with a chunk; one that was cut is never. */
  push({ toolCalls = [], finishReason }: GenerationChunk): AnsweredCall[] {
    const whole: AnsweredCall[] = [];
    for (const { index, id, name, arguments: piece } of toolCalls) {
      if (id !== undefined && name !== undefined) {
        whole.push(...this.take());
        this.current = { id, name, index };
      }
      this.text += piece;
    }
    if (finishReason !== undefined) whole.push(...this.take());
    return whole;
  }

  private take(): AnsweredCall[] {
    const { current, text } = this;
    this.current = undefined;
    this.text = "";
    if (current === undefined) return [];
    const { id, name, index } = current;
    const whole = wholeArguments(text);
    return whole === undefined ? [] : [{ id, function: { index, name, arguments: whole } }];
  }
}
