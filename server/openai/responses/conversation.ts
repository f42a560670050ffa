import type { ChatMessage, Role, TextPart, ToolCall } from "../../../engine/mod.ts";
import { HttpError } from "../../errors.ts";
import { inputArguments } from "./custom_input.ts";
import type { CustomToolCallOutput, FunctionCallOutput, Item } from "./item_schemas.ts";
import { toolName } from "./tools.ts";

/** What is said in one turn. */
interface Turn {
  readonly role: Role;
  readonly texts: string[];
  /** What an assistant thought before. */
  readonly thoughts: string[];
  readonly toolCalls: ToolCall[];
  /** In a tool's turn. */
  readonly result?: { readonly callId: string; readonly name: string };
}

/**
 * The messages that items make. What an assistant thought, said and called without anybody between is one
 * message.
 *
 * @param instructions What is said before all of them, if anything is.
 * @throws {HttpError} 400 for a result of a call that there was not.
 */
export function messagesOf(
  instructions: string | undefined,
  items: readonly Item[],
): ChatMessage[] {
  const turns: Turn[] = [];
  const names = new Map<string, string>();
  if (instructions !== undefined) say(turns, "system", [instructions]);
  for (const item of items) {
    switch (item.type) {
      case "message":
        say(turns, item.role, item.content.map(({ text }) => text));
        break;
      case "reasoning":
        think(turns, item.content.map(({ text }) => text));
        break;
      case "function_call": {
        const { call_id: id, arguments: text } = item;
        const name = toolName(item.name, item.namespace);
        names.set(id, name);
        assistantTurn(turns).toolCalls.push({ id, name, arguments: text });
        break;
      }
      case "custom_tool_call": {
        const name = toolName(item.name, item.namespace);
        names.set(item.call_id, name);
        const call = { id: item.call_id, name, arguments: inputArguments(item.input) };
        assistantTurn(turns).toolCalls.push(call);
        break;
      }
      case "custom_tool_call_output":
      case "function_call_output":
        turns.push(resultOf(item, names));
        break;
    }
  }
  return turns.map(readMessage);
}

function say(turns: Turn[], role: Role, texts: readonly string[]): void {
  const turn = role === "assistant" ? assistantTurn(turns) : begin(turns, role);
  for (const text of texts) turn.texts.push(text);
}

/** What was thought after something was said begins a message. */
function think(turns: Turn[], texts: readonly string[]): void {
  const last = turns.at(-1);
  const said = last !== undefined && last.texts.length + last.toolCalls.length > 0;
  const turn = said ? begin(turns, "assistant") : assistantTurn(turns);
  for (const text of texts) turn.thoughts.push(text);
}

/** The turn that the assistant has. */
function assistantTurn(turns: Turn[]): Turn {
  const last = turns.at(-1);
  return last?.role === "assistant" ? last : begin(turns, "assistant");
}

function begin(turns: Turn[], role: Role): Turn {
  const turn = { role, texts: [], thoughts: [], toolCalls: [] };
  turns.push(turn);
  return turn;
}

/** What came of a call. */
type CallOutput = FunctionCallOutput | CustomToolCallOutput;

function resultOf(item: CallOutput, names: ReadonlyMap<string, string>): Turn {
  const { call_id: callId, output } = item;
  const name = names.get(callId);
  if (name === undefined) {
    throw new HttpError(
      400,
      "invalid_request",
      `input: there is a ${item.type} of the call ${JSON.stringify(callId.slice(0, 80))}, and no ${
        item.type.replace("_output", "")
      } with that ` +
        "call_id before it. Send the call as well, or the previous_response_id of the response that has it.",
      { param: "input" },
    );
  }
  const texts = typeof output === "string" ? [output] : output.map(({ text }) => text);
  return { role: "tool", texts, thoughts: [], toolCalls: [], result: { callId, name } };
}

/** A turn as the engine takes it; a text that is alone needs no parts. */
function readMessage({ role, texts, thoughts, toolCalls, result }: Turn): ChatMessage {
  const parts = texts.map((text): TextPart => ({ type: "text", text }));
  return {
    role,
    content: parts.length > 1 ? parts : parts[0]?.text ?? (toolCalls.length > 0 ? null : ""),
    reasoning: thoughts.length === 0 ? undefined : thoughts.join("\n\n"),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...(result === undefined ? {} : { name: result.name, toolCallId: result.callId }),
  };
}
