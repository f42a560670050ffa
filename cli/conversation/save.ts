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

function asJson({ role, content, reasoning, name, toolCalls, toolCallId }: ChatMessage) {
  return {
    role,
    content,
    reasoning_content: reasoning,
    tool_calls: toolCalls?.map(({ id, name, arguments: args }) => ({
      id,
      type: "function",
      function: { name, arguments: args },
    })),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId, name }),
  };
}

const HEADINGS: Record<string, string> = {
  system: "System",
  user: "You",
  assistant: "Answer",
  tool: "Result",
};

function asMarkdown({ role, content, reasoning, name, toolCalls = [] }: ChatMessage): string {
  const thought = reasoning === undefined
    ? []
    : [reasoning.trim().split("\n").map((line) => `> ${line}`.trimEnd()).join("\n")];
  const said = String(content).trim();
  const text = role === "tool" ? fenced("", said) : said;
  const calls = toolCalls.map((call) => `${call.name}:\n\n${fenced("json", call.arguments)}`);
  const heading = role === "tool" ? `${HEADINGS.tool} of ${name}` : HEADINGS[role];
  return [`## ${heading}`, ...thought, ...(text === "" ? [] : [text]), ...calls].join("\n\n");
}

/** A block of code with a fence that the code does not contain. */
function fenced(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** A path as it was typed: `~/` is the home directory. */
export function expandHome(path: string): string {
  const home = Deno.env.get("HOME");
  return home !== undefined && path.startsWith("~/") ? home + path.slice(1) : path;
}
