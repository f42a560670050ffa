import type { ChatMessage } from "./conversation.ts";
import type { Abilities } from "./template_abilities.ts";

/** A message as templates get it. */
export type ShownMessage = Record<string, unknown>;

/**
 * Messages in a form that a template can show: system messages that it has no place for go in front of
 * the first user message, as one paragraph each; parts of a text become one where it knows no parts.
 */
export function shownMessages(
  messages: readonly ChatMessage[],
  abilities: Abilities,
): ShownMessage[] {
  const shown = messages.map((message) => shownMessage(message, abilities));
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

function shownMessage(message: ChatMessage, abilities: Abilities): ShownMessage {
  const { name, reasoning } = message;
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
  };
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
