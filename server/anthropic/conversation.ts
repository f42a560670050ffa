import type { ChatMessage, ChatRequest, TextPart } from "../../engine/mod.ts";
import { describe, thinkingVariables } from "../request/mod.ts";
import { invalid } from "../errors.ts";
import { readTurn, type Turn } from "./blocks.ts";
import type { ConversationFields } from "./request_schemas.ts";
import { toolFields } from "./tools.ts";

/**
 * The conversation of a body.
 *
 * @throws {HttpError} 400 for blocks that cannot be read, and for calls at the end that have no result.
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
    messages: messagesOf(turns),
    continueFinal: turns.at(-1)?.role === "assistant",
    templateVariables: thinks === undefined ? undefined : thinkingVariables(thinks === "enabled"),
    reasoningEffort: output_config?.effort ?? undefined,
    ...toolFields(body),
  };
}

/** Tokens of reasoning at most, as the client wants it; undefined: it does not say. */
export function reasoningBudget({ thinking }: ConversationFields): number | undefined {
  if (thinking?.type === "disabled") return 0;
  return thinking?.type === "enabled" ? thinking.budget_tokens ?? undefined : undefined;
}

/** Turns of one role after another are one, as Anthropic has it; most templates want roles to alternate. */
function add(turns: Turn[], next: Turn): void {
  const last = turns.at(-1);
  if (last === undefined || last.role !== next.role || next.role === "system") {
    turns.push(next);
    return;
  }
  for (const field of ["parts", "thoughts", "calls", "results"] as const) {
    for (const one of next[field]) (last[field] as unknown[]).push(one);
  }
}

/**
 * Turns as the engine takes them: what came of calls goes before what the user says to it.
 *
 * @throws {HttpError} 400 where the conversation ends with calls that have no result.
 */
function messagesOf(turns: readonly Turn[]): ChatMessage[] {
  const messages: ChatMessage[] = [];
  /** The calls of the assistant's last turn that have no result yet: names by their ids. */
  let open = new Map<string, string>();
  for (const { role, parts, thoughts, calls, results, at } of turns) {
    for (const { callId, parts, at } of results) {
      // Clients that cut a long conversation leave results without their calls.
      const name = open.get(callId);
      open.delete(callId);
      messages.push({ role: "tool", content: contentOf(parts), toolCallId: callId, name, at });
    }
    if (role === "assistant") open = new Map(calls.map(({ id, name }) => [id, name]));
    if (parts.length === 0 && results.length > 0) continue;
    messages.push({
      role,
      content: parts.length === 0 && calls.length > 0 ? null : contentOf(parts),
      reasoning: thoughts.length === 0 ? undefined : thoughts.join("\n\n"),
      toolCalls: calls.length === 0 ? undefined : calls,
      at,
    });
  }
  const last = turns.at(-1);
  if (last?.role === "assistant" && last.calls.length > 0) {
    const [{ id }] = last.calls;
    throw invalid(
      last.at,
      `${last.at}: the conversation ends with calls of tools. Wanted a user's message with a tool_result block for ` +
        `${describe(id)} after it.`,
    );
  }
  return messages;
}

/** A text that is alone needs no parts. */
function contentOf(parts: readonly TextPart[]): ChatMessage["content"] {
  return parts.length > 1 ? parts : parts[0]?.text ?? "";
}
