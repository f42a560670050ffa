import type { ChatMessage, Role, TextPart, ToolCall } from "../../../engine/mod.ts";
import { HttpError } from "../../errors.ts";
import { isObjectText } from "../chat_tools.ts";
import type { FunctionCallOutput, Item } from "./item_schemas.ts";
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
 * message, and so are neighbours of one role, since most templates want roles to alternate; what the system and
 * what the developer says count as one role.
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
        // One that was cut off is no call.
        if (!isObjectText(text)) break;
        const name = toolName(item.name, item.namespace);
        names.set(id, name);
        turnOf(turns, "assistant").toolCalls.push({ id, name, arguments: text });
        break;
      }
      case "function_call_output":
        turns.push(resultOf(item, names));
        break;
    }
  }
  return turns.map(readMessage);
}

function say(turns: Turn[], role: Role, texts: readonly string[]): void {
  const turn = turnOf(turns, role);
  for (const text of texts) turn.texts.push(text);
}

/** What was thought after something was said begins a message. */
function think(turns: Turn[], texts: readonly string[]): void {
  const last = turns.at(-1);
  const said = last !== undefined && last.texts.length + last.toolCalls.length > 0;
  const turn = said ? begin(turns, "assistant") : turnOf(turns, "assistant");
  for (const text of texts) turn.thoughts.push(text);
}

/** The turn that somebody has. */
function turnOf(turns: Turn[], role: Role): Turn {
  const last = turns.at(-1);
  return last !== undefined && speaker(last.role) === speaker(role) ? last : begin(turns, role);
}

function begin(turns: Turn[], role: Role): Turn {
  const turn = { role, texts: [], thoughts: [], toolCalls: [] };
  turns.push(turn);
  return turn;
}

/** Templates that know no developer have him say what the system says. */
function speaker(role: Role): Role {
  return role === "developer" ? "system" : role;
}

function resultOf(item: FunctionCallOutput, names: ReadonlyMap<string, string>): Turn {
  const { call_id: callId, output } = item;
  const name = names.get(callId);
  if (name === undefined) {
    throw new HttpError(
      400,
      "invalid_request",
      `input: there is a function_call_output of the call ${
        JSON.stringify(callId.slice(0, 80))
      }, and no function_call with that ` +
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
