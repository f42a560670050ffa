import { isJsonObject, type JsonLimits, parseWhole } from "../json/mod.ts";
import type { Turns } from "../turns.ts";
import type { ChatMessage, ToolCall } from "./conversation.ts";

/** The key by which arguments that are no JSON object are shown to a template that wants an object. */
const UNREADABLE = "invalid_json";

/** More is not read, but shown as its text: reading it would delay others, and no model writes that many. */
const LIMITS: JsonLimits = { values: 200_000, members: 65_536, exactValues: 50_000, lost: 16_384 };

/** What the text of a call's arguments says. */
export interface CallArguments {
  /** An object, whatever the text is. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Whether the text is that of an object, or says nothing. */
  readonly readable: boolean;
}

/**
 * The arguments of a call in a conversation. A model has written them, perhaps another one, perhaps one that was cut:
 * what is no object is kept as its text.
 */
export function callArguments(text: string): CallArguments {
  if (text.trim() === "") return { value: {}, readable: true };
  let value: unknown;
  try {
    value = parseWhole(text, LIMITS).value;
  } catch {
    return unreadable(text);
  }
  // What models write for no arguments.
  if (value === null || (Array.isArray(value) && value.length === 0)) {
    return { value: {}, readable: true };
  }
  return isJsonObject(value) ? { value, readable: true } : unreadable(text);
}

function unreadable(text: string): CallArguments {
  return { value: { [UNREADABLE]: text }, readable: false };
}

/**
 * Messages without the calls that were cut: whose arguments are no JSON object, and that no result answers before the
 * assistant speaks again. Clients keep such a call, and send it with every request from there on.
 *
 * @param turns Others have theirs before the arguments of a call are read: they may be long.
 */
export async function withoutCutCalls(
  messages: readonly ChatMessage[],
  turns: Pick<Turns, "next">,
): Promise<readonly ChatMessage[]> {
  let calls = 0;
  for (const { toolCalls } of messages) calls += toolCalls?.length ?? 0;
  if (calls === 0) return messages;
  let answered = new Set<string | undefined>();
  const kept: ChatMessage[] = [];
  for (const message of messages.toReversed()) {
    const { role, toolCalls, toolCallId, ...rest } = message;
    if (role === "tool") answered.add(toolCallId);
    const results = answered;
    if (role === "assistant") answered = new Set();
    if (role !== "assistant" || toolCalls === undefined) {
      kept.push(message);
      continue;
    }
    const whole: ToolCall[] = [];
    for (const call of toolCalls) {
      if (!results.has(call.id)) {
        await turns.next();
        if (!callArguments(call.arguments).readable) continue;
      }
      whole.push(call);
    }
    if (whole.length === toolCalls.length) kept.push(message);
    else kept.push(whole.length === 0 ? { role, ...rest } : { role, ...rest, toolCalls: whole });
  }
  return kept.toReversed();
}
