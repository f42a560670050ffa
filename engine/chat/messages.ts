/**
 * Messages as a template can show them: in an order that it takes, with calls and contents in the forms that it knows. A
 * conversation comes as clients and models have made it: system messages anywhere, two messages of one role in a row, text
 * next to a call. Nothing is left out; what a template has no slot for is shown in the next best one.
 *
 * @module
 */
import { type ChatMessage, isSystem, textOf } from "./conversation.ts";
import type { OrderAbilities } from "./order_abilities.ts";
import type { RenderCall, RenderMessage } from "./render_job.ts";
import { looseResultsShown, splitCalls } from "./split_calls.ts";
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

/** The user's text where the user says nothing between two messages of an assistant. */
export const NOTHING: RenderMessage = { role: "user", content: "" };
/** What an assistant says between a result and its user, where a template wants it to say something. */
const ACKNOWLEDGED: RenderMessage = { role: "assistant", content: "Done." };

/**
 * Messages as a template can show them.
 *
 * @param usesTools Whether there may be calls among them.
 */
function arrangeMessages(
  messages: readonly RenderMessage[],
  abilities: Pick<Abilities, "developer" | "order" | "tools">,
  usesTools: boolean,
): RenderMessage[] {
  const { order } = abilities;
  let hasSystem = false;
  let hasDeveloper = false;
  for (const { role } of messages) {
    if (role === "system") hasSystem = true;
    else if (role === "developer") hasDeveloper = true;
  }
  if (hasDeveloper && !abilities.developer) messages = messages.map(asSystem);
  if (hasSystem || hasDeveloper) messages = withSystemInPlace(messages, order);
  if (usesTools) messages = splitCalls(messages, order, () => abilities.tools.severalCalls);
  return inTurn(messages, order);
}

function asSystem(message: RenderMessage): RenderMessage {
  return message.role === "developer" ? { ...message, role: "system" } : message;
}

/**
 * System messages where the template takes them. Those in front are joined, or are put before the first user's text;
 * later ones become part of what the user says.
 */
function withSystemInPlace(
  messages: readonly RenderMessage[],
  order: OrderAbilities,
): RenderMessage[] {
  const start = messages.findIndex((message) => !isSystem(message));
  const leading = start < 0 ? messages : messages.slice(0, start);
  const rest = start < 0 ? [] : messages.slice(start);
  const placed: RenderMessage[] = [];
  for (const message of leading) {
    const last = placed.at(-1);
    const second = message.role === "developer" ? order.developerSecond : order.systemSecond;
    if (last !== undefined && !second) placed[placed.length - 1] = joined(last, message);
    else placed.push(message);
  }
  const folded: RenderMessage[] = [];
  let foldedLast = false;
  for (const message of rest) {
    const folds = isSystem(message) &&
      !(message.role === "developer" ? order.developerLater : order.systemLater);
    const said: RenderMessage = folds
      ? { role: "user", content: reminder(textOf(message.content)) }
      : message;
    const last = folded.at(-1);
    // No user message is added next to an existing one.
    if (last?.role === "user" && said.role === "user" && (folds || foldedLast)) {
      folded[folded.length - 1] = joined(last, said);
    } else folded.push(said);
    foldedLast = folds;
  }
  return withLeadingSystem(placed, folded, order);
}

/** Leading system messages in front of the first user's, where the template shows none. */
function withLeadingSystem(
  leading: readonly RenderMessage[],
  rest: readonly RenderMessage[],
  order: OrderAbilities,
): RenderMessage[] {
  const shows = () =>
    order.systemFirst && (rest.at(-1)?.role !== "tool" || order.systemBeforeResult);
  if (leading.length === 0 || leading[0].role === "developer" || shows()) {
    return [...leading, ...rest];
  }
  const said = leading.reduce(joined);
  if (textOf(said.content) === "" && rest.length > 0) return [...rest];
  const first = rest.findIndex(({ role }) => role === "user");
  // Before an assistant that speaks first, or where there is no user: a message of its own.
  if (first < 0) return [{ role: "user", content: said.content }, ...rest];
  return rest.map((message, index) =>
    index === first ? joined({ ...said, role: "user" }, message) : message
  );
}

/** A later system message's text, as agents announce such messages. */
function reminder(text: string): string {
  return `<system-reminder>\n${text}\n</system-reminder>`;
}

/** Messages of which none stands behind one that the template wants it not to. */
function inTurn(messages: readonly RenderMessage[], order: OrderAbilities): RenderMessage[] {
  const shown: RenderMessage[] = [];
  let inserted = 0;
  const nothing = () => ({ ...NOTHING, inserted: inserted++ });
  for (const message of messages) {
    if (isEmpty(message) && !order.assistantEmpty) continue;
    const last = shown.at(-1);
    const begins = last === undefined || isSystem(last);
    const calls = callsTools(message);
    const answers = message.role === "assistant" || message.role === "tool";
    if (answers && begins && !order.assistantFirst) {
      shown.push(nothing(), message);
    } else if (message.role === "user" && last?.role === "user" && !order.usersInRow) {
      shown[shown.length - 1] = joined(last, message);
    } else if (message.role === "user" && last?.role === "tool" && !order.userAfterResult) {
      shown.push(order.assistantEmpty ? { ...NOTHING, role: "assistant" } : ACKNOWLEDGED, message);
    } else if (message.role === "assistant" && last?.role === "assistant" && !callsTools(last)) {
      if (calls ? order.assistantBeforeCall : order.assistantsInRow) shown.push(message);
      else if (calls) shown.push(nothing(), message);
      else shown[shown.length - 1] = joined(last, message);
    } else {
      shown.push(message);
    }
  }
  return shown.length === 0 ? [NOTHING] : shown;
}

/** Two messages as one, which is of the first one's role. */
function joined(one: RenderMessage, other: RenderMessage): RenderMessage {
  const reasoning = [one.reasoning, other.reasoning].filter(Boolean).join("\n\n");
  const texts = [one, other].map(({ content }) => textOf(content)).filter((text) => text !== "");
  return { ...one, content: texts.join("\n\n"), ...(reasoning === "" ? {} : { reasoning }) };
}

/** Whether an assistant neither says anything in a message nor calls a tool. */
export function isEmpty({ role, content, toolCalls = [] }: RenderMessage): boolean {
  return role === "assistant" && toolCalls.length === 0 && textOf(content) === "";
}

function callsTools({ toolCalls = [] }: RenderMessage): boolean {
  return toolCalls.length > 0;
}
