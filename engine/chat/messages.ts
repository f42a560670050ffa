import type { ChatMessage } from "./conversation.ts";
import type { RenderCall, RenderMessage } from "./render_job.ts";
import type { Abilities } from "./template_abilities.ts";

/** A message as templates get it. */
export type ShownMessage = Record<string, unknown>;

/**
 * Messages in a form that a template can show: system messages that it has no place for go in front of
 * the first user message, as one paragraph each; parts of a text become one where it knows no parts.
 */
export function shownMessages(
  messages: readonly RenderMessage[],
  abilities: Abilities,
): ShownMessage[] {
  const names = namesOfCalls(messages);
  const shown = messages.map((message) => shownMessage(message, abilities, names));
  if (abilities.system) return shown;
  const isSystem = ({ role }: ShownMessage) => role === "system";
  const said = shown.filter(isSystem).map(textOf).filter((text) => text !== "");
  const others = shown.filter((message) => !isSystem(message));
  const first = others.find(({ role }) => role === "user");
  if (said.length === 0) return others;
  if (first === undefined) return shown;
  const text = [...said, textOf(first)].join("\n\n");
  first.content = abilities.strings ? text : [{ type: "text", text }];
  return others;
}

function shownMessage(
  message: RenderMessage,
  abilities: Abilities,
  names: ReadonlyMap<string, string>,
): ShownMessage {
  const { reasoning, toolCalls = [], toolCallId } = message;
  // Who asks for a result by its call's id alone is told of which tool it is.
  const called = toolCallId === undefined ? undefined : names.get(toolCallId);
  const name = message.name ?? called;
  const role = message.role === "developer" && !abilities.developer ? "system" : message.role;
  return {
    role,
    content: shownContent(message.content, abilities),
    ...(name === undefined ? {} : { name }),
    // The names that templates know it by.
    ...(reasoning === undefined ? {} : {
      reasoning_content: reasoning,
      thinking: reasoning,
      reasoning,
    }),
    ...(toolCalls.length === 0
      ? {}
      : { tool_calls: toolCalls.map((call) => shownCall(call, abilities)) }),
    ...(toolCallId === undefined ? {} : { tool_call_id: shownId(toolCallId, abilities) }),
  };
}

function shownCall({ id, name, arguments: text, value }: RenderCall, abilities: Abilities) {
  return {
    id: shownId(id, abilities),
    type: "function",
    function: { name, arguments: abilities.tools.calls === "text" ? text || "{}" : value },
  };
}

/** An id; of 9 letters and digits, made from the id's own, where the template takes no others. */
function shownId(id: string, { tools: { shortIds } }: Abilities): string {
  // Marks stand around it, which are characters of private use.
  if (!shortIds || /^[\ue000-\uf8ff]*[A-Za-z0-9]{9}[\ue000-\uf8ff]*$/.test(id)) return id;
  let hash = 0xcbf29ce484222325n;
  for (const character of id) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(character.codePointAt(0)!)) * 0x100000001b3n);
  }
  return hash.toString(36).padStart(9, "0").slice(-9);
}

/** The tools' names by the ids of their calls. */
function namesOfCalls(messages: readonly RenderMessage[]): Map<string, string> {
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls);
  return new Map(calls.map(({ id, name }) => [id, name]));
}

/** Nothing said is an empty text: a template would write Python's "None". */
function shownContent(content: ChatMessage["content"], abilities: Abilities): unknown {
  if (content === null) return "";
  if (typeof content === "string") {
    return abilities.strings ? content : [{ type: "text", text: content }];
  }
  const parts = content.map(({ text }) => ({ type: "text", text }));
  return abilities.parts ? parts : parts.map(({ text }) => text).join("\n");
}

function textOf({ content }: ShownMessage): string {
  if (typeof content === "string") return content;
  return (content as { text: string }[]).map(({ text }) => text).join("\n");
}
