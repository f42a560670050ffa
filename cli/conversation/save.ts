import { extname } from "@std/path";
import type { ChatMessage } from "../../engine/mod.ts";

/**
 * A conversation as a file has it: JSON where the name ends in `.json`, as `/v1/chat/completions` takes it,
 * else Markdown.
 */
export function formatConversation(
  path: string,
  model: string,
  messages: readonly ChatMessage[],
): string {
  return extname(path).toLowerCase() === ".json"
    ? JSON.stringify({ model, messages: messages.map(asJson) }, null, 2) + "\n"
    : [`# ${model}`, ...messages.map(asMarkdown)].join("\n\n") + "\n";
}

function asJson({ role, content, reasoning }: ChatMessage) {
  return { role, content, ...(reasoning === undefined ? {} : { reasoning_content: reasoning }) };
}

const HEADINGS: Record<string, string> = { system: "System", user: "You", assistant: "Answer" };

function asMarkdown({ role, content, reasoning }: ChatMessage): string {
  const thought = reasoning === undefined
    ? []
    : [reasoning.trim().split("\n").map((line) => `> ${line}`.trimEnd()).join("\n")];
  return [`## ${HEADINGS[role]}`, ...thought, String(content).trim()].join("\n\n");
}

/** A path as it was typed: `~/` is the home directory. */
export function expandHome(path: string): string {
  const home = Deno.env.get("HOME");
  return home !== undefined && path.startsWith("~/") ? home + path.slice(1) : path;
}
