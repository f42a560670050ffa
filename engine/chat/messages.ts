import type { ChatMessage } from "./conversation.ts";
import { arrangeMessages } from "./arrange_messages.ts";
import { looseResultsShown } from "./loose_results.ts";
import type { RenderCall, RenderMessage } from "./render_job.ts";
import type { Abilities } from "./template_abilities.ts";
import type { ToolAbilities } from "./tools/tool_abilities.ts";

/** A message as templates get it. */
export type ShownMessage = Record<string, unknown>;

/**
 * Messages as a template can show them: in an order that it takes, with calls and contents in the forms that it
 * knows.
 *
 * @param usesTools Whether there may be calls or results among them.
 */
export function shownMessages(
  messages: readonly RenderMessage[],
  abilities: Abilities,
  usesTools: boolean,
): ShownMessage[] {
  const names = usesTools ? new CallNames() : undefined;
  const results = usesTools ? looseResultsShown(messages, abilities.order) : messages;
  const shown: ShownMessage[] = [];
  for (const message of arrangeMessages(results, abilities, usesTools)) {
    const { role, content, reasoning, toolCalls = [], toolCallId, inserted } = message;
    const isText = typeof content === "string" && abilities.strings;
    const one: ShownMessage = {
      role,
      content: isText ? content : shownContent(message, abilities),
    };
    const called = names?.see(message);
    const name = message.name ?? called;
    if (name !== undefined) one.name = name;
    if (inserted !== undefined) one.inserted = inserted;
    // The names that templates know it by.
    if (reasoning !== undefined) {
      one.reasoning_content = reasoning;
      one.thinking = reasoning;
      one.reasoning = reasoning;
    }
    if (toolCalls.length > 0) {
      one.tool_calls = toolCalls.map((call) => shownCall(call, abilities.tools));
    }
    if (toolCallId !== undefined) one.tool_call_id = shownId(toolCallId, abilities.tools);
    shown.push(one);
  }
  return shown;
}

/**
 * Of which tool a result is: a request that asks by the call's id alone gets an error. An id counts from its call on to
 * the next call of that id; some models number the calls of each turn from 0, others give all the same.
 */
class CallNames {
  private readonly open = new Map<string, string[]>();
  private turn = new Set<string>();

  /** The name of the tool that a message is the result of, where it is one; calls in it are remembered. */
  see({ toolCalls = [], toolCallId }: RenderMessage): string | undefined {
    if (toolCalls.length > 0) this.turn = new Set();
    for (const { id, name } of toolCalls) {
      const same = this.turn.has(id) ? this.open.get(id) : undefined;
      if (same === undefined) this.open.set(id, [name]);
      else same.push(name);
      this.turn.add(id);
    }
    const names = toolCallId === undefined ? undefined : this.open.get(toolCallId);
    return names === undefined || names.length < 2 ? names?.[0] : names.shift();
  }
}

function shownCall(call: RenderCall, abilities: ToolAbilities) {
  return {
    id: shownId(call.id, abilities),
    type: "function",
    function: { name: call.name, arguments: shownArguments(call, abilities) },
  };
}

/** Arguments that are no JSON object are shown as they are, where the template takes them so. */
function shownArguments(
  { arguments: text, value, readable }: RenderCall,
  { calls, rawArguments }: ToolAbilities,
): unknown {
  if (!readable && rawArguments) return text;
  if (calls !== "text") return value;
  const isNone = Object.keys(value as object).length === 0;
  return !readable ? JSON.stringify(value) : isNone ? "{}" : text;
}

/** An id; of 9 letters and digits, made from the id's own, where the template takes no others. */
function shownId(id: string, { shortIds }: ToolAbilities): string {
  // Marks stand around it, which are characters of private use.
  if (!shortIds || /^[\ue000-\uf8ff]*[A-Za-z0-9]{9}[\ue000-\uf8ff]*$/.test(id)) return id;
  let hash = 0xcbf29ce484222325n;
  for (const character of id) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(character.codePointAt(0)!)) * 0x100000001b3n);
  }
  return hash.toString(36).padStart(9, "0").slice(-9);
}

/** Nothing said is an empty text: a template would write Python's "None". */
function shownContent(
  { role, content }: Pick<ChatMessage, "role" | "content">,
  abilities: Abilities,
): unknown {
  const parts = content === null
    ? []
    : typeof content === "string"
    ? [{ type: "text", text: content }]
    : content.map(({ text }) => ({ type: "text", text }));
  const asParts = Array.isArray(content)
    ? abilities.parts(role, parts.length > 1) || !abilities.strings
    : content !== null && !abilities.strings;
  if (!asParts) return parts.map(({ text }) => text).join("\n");
  return parts.length < 2 || abilities.parts(role, true)
    ? parts
    : [{ type: "text", text: parts.map(({ text }) => text).join("\n") }];
}
