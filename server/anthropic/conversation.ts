import type { ChatMessage, ChatRequest, TextPart } from "../../engine/mod.ts";
import { unsupported } from "../errors.ts";
import { describe } from "../fields.ts";
import { wrongField } from "../parse_body.ts";
import type { ConversationFields, Message } from "./request_schemas.ts";

/** What is said in one turn, and what an assistant thought before it. */
interface Turn {
  readonly role: Message["role"];
  readonly parts: TextPart[];
  readonly thoughts: string[];
}

/**
 * The conversation of a body.
 *
 * @throws {HttpError} 400 for blocks that cannot be read.
 */
export function chatRequest(body: ConversationFields): ChatRequest {
  const { system, messages, thinking, output_config } = body;
  const turns: Turn[] = [];
  if (system != null) turns.push(readTurn("system", system, "system"));
  for (const [index, { role, content }] of messages.entries()) {
    add(turns, readTurn(role, content, `messages.${index}.content`));
  }
  const thinks = thinking?.type === "adaptive" ? undefined : thinking?.type;
  return {
    messages: turns.map(messageOf),
    continueFinal: turns.at(-1)?.role === "assistant",
    // The two names that templates know it by.
    templateVariables: thinks === undefined
      ? undefined
      : { enable_thinking: thinks === "enabled", thinking: thinks === "enabled" },
    reasoningEffort: effortOf(output_config?.effort ?? undefined),
  };
}

/** Tokens of reasoning at most, as the client wants it; undefined: it does not say. */
export function reasoningBudget({ thinking }: ConversationFields): number | undefined {
  if (thinking?.type === "disabled") return 0;
  return thinking?.type === "enabled" ? thinking.budget_tokens ?? undefined : undefined;
}

/** Templates know three efforts at most. */
function effortOf(effort: string | undefined): string | undefined {
  return effort === "xhigh" || effort === "max" ? "high" : effort;
}

/** Turns of one role after another are one, as Anthropic has it; most templates want roles to alternate. */
function add(turns: Turn[], next: Turn): void {
  const last = turns.at(-1);
  if (last === undefined || last.role !== next.role || next.role === "system") {
    turns.push(next);
    return;
  }
  for (const part of next.parts) last.parts.push(part);
  for (const thought of next.thoughts) last.thoughts.push(thought);
}

/** A turn as the engine takes it; a text that is alone needs no parts. */
function messageOf({ role, parts, thoughts }: Turn): ChatMessage {
  return {
    role,
    content: parts.length > 1 ? parts : parts[0]?.text ?? "",
    reasoning: thoughts.length === 0 ? undefined : thoughts.join("\n\n"),
  };
}

function readTurn(role: Message["role"], content: unknown, at: string): Turn {
  const turn: Turn = { role, parts: [], thoughts: [] };
  if (typeof content === "string") {
    turn.parts.push({ type: "text", text: content });
    return turn;
  }
  if (!Array.isArray(content)) throw wrongField(at, "a string or an array of blocks", content);
  for (const [index, block] of content.entries()) {
    const { kind, text } = readBlock(block, role === "assistant", `${at}.${index}`);
    if (kind === "text") turn.parts.push({ type: "text", text });
    else if (text !== "") turn.thoughts.push(text);
  }
  return turn;
}

/** A block's text, or what was thought. */
function readBlock(
  block: unknown,
  mayThink: boolean,
  at: string,
): { kind: "text" | "thinking"; text: string } {
  if (typeof block !== "object" || block === null || Array.isArray(block)) {
    throw wrongField(at, 'a block such as {"type": "text", "text": "…"}', block);
  }
  const { type, ...fields } = block as Record<string, unknown>;
  if (typeof type !== "string") throw wrongField(`${at}.type`, "a string", type);
  if (type === "text" || (mayThink && type === "thinking")) {
    const text = fields[type];
    if (typeof text !== "string") throw wrongField(`${at}.${type}`, "a string", text);
    return { kind: type, text };
  }
  // What another server has made unreadable is of no use to the model.
  if (mayThink && type === "redacted_thinking") return { kind: "thinking", text: "" };
  throw unsupported(
    at,
    type === "tool_use" || type === "tool_result"
      ? `${at}: calls of tools and their results are not supported yet. Say in a text what was ` +
        "called and what came of it."
      : `${at}: blocks of the type ${describe(type)} are not supported here: this server reads ` +
        'text alone. Send blocks of the type "text".',
  );
}
