import type { ChatMessage, Role, TextPart, ToolCall } from "../../../engine/mod.ts";
import { inputArguments } from "../mod.ts";
import type { CustomToolCallOutput, FunctionCallOutput, Item } from "./item_schemas.ts";
import { toolName } from "./tools.ts";

/** What is said in one turn. */
interface Turn {
  readonly role: Role;
  readonly texts: string[];
  /** What an assistant thought before. */
  readonly thoughts: string[];
  readonly toolCalls: ToolCall[];
  /** In a tool's turn; without a name where its call is not there. */
  readonly result?: { readonly callId: string; readonly name?: string };
  /** Where it begins in the body. */
  readonly at?: string;
}

/**
 * The messages that items make. What an assistant thought, said and called without anybody between is one
 * message.
 *
 * @param instructions What is said before all of them, if anything is.
 * @param placeOf Where each item stands in the body, for errors.
 */
export function messagesOf(
  instructions: string | undefined,
  items: readonly Item[],
  placeOf: (index: number) => string | undefined = () => undefined,
): ChatMessage[] {
  const turns = new Turns();
  const names = new Map<string, string>();
  if (instructions !== undefined) {
    turns.at = "instructions";
    turns.say("system", [instructions]);
  }
  for (const [index, item] of items.entries()) {
    turns.at = placeOf(index);
    switch (item.type) {
      case "message":
        turns.say(item.role, item.content.map(({ text }) => text));
        break;
      case "reasoning":
        turns.think(item.content.map(({ text }) => text));
        break;
      case "function_call": {
        const { call_id: id, arguments: text } = item;
        const name = toolName(item.name, item.namespace);
        names.set(id, name);
        turns.ofAssistant().toolCalls.push({ id, name, arguments: text });
        break;
      }
      case "custom_tool_call": {
        const name = toolName(item.name, item.namespace);
        names.set(item.call_id, name);
        const call = { id: item.call_id, name, arguments: inputArguments(item.input) };
        turns.ofAssistant().toolCalls.push(call);
        break;
      }
      case "custom_tool_call_output":
      case "function_call_output":
        turns.push(resultOf(item, names.get(item.call_id)));
        break;
    }
  }
  return turns.all.map(readMessage);
}

/** Turns as they come. */
class Turns {
  readonly all: Turn[] = [];
  /** Where in the body it is that is read. */
  at?: string;

  say(role: Role, texts: readonly string[]): void {
    const turn = role === "assistant" ? this.ofAssistant() : this.begin(role);
    for (const text of texts) turn.texts.push(text);
  }

  /** What was thought after something was said begins a message. */
  think(texts: readonly string[]): void {
    const last = this.all.at(-1);
    const said = last !== undefined && last.texts.length + last.toolCalls.length > 0;
    const turn = said ? this.begin("assistant") : this.ofAssistant();
    for (const text of texts) turn.thoughts.push(text);
  }

  /** The turn that the assistant has. */
  ofAssistant(): Turn {
    const last = this.all.at(-1);
    return last?.role === "assistant" ? last : this.begin("assistant");
  }

  push(turn: Omit<Turn, "at">): void {
    this.all.push({ ...turn, at: this.at });
  }

  private begin(role: Role): Turn {
    this.push({ role, texts: [], thoughts: [], toolCalls: [] });
    return this.all.at(-1)!;
  }
}

/** What came of a call. */
type CallOutput = FunctionCallOutput | CustomToolCallOutput;

/** What came of a call. Clients that cut a long conversation leave it without its call, and so without a name. */
function resultOf({ call_id: callId, output }: CallOutput, name: string | undefined): Turn {
  const texts = typeof output === "string" ? [output] : output.map(({ text }) => text);
  return { role: "tool", texts, thoughts: [], toolCalls: [], result: { callId, name } };
}

/** A turn as the engine takes it; a text that is alone needs no parts. */
function readMessage({ role, texts, thoughts, toolCalls, result, at }: Turn): ChatMessage {
  const parts = texts.map((text): TextPart => ({ type: "text", text }));
  return {
    role,
    at,
    content: parts.length > 1 ? parts : parts[0]?.text ?? (toolCalls.length > 0 ? null : ""),
    reasoning: thoughts.length === 0 ? undefined : thoughts.join("\n\n"),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...(result === undefined ? {} : { name: result.name, toolCallId: result.callId }),
  };
}
