/**
 * Tools, calls and results as texts of messages, for templates that have no way to show them: in the words of
 * the generic format.
 *
 * @module
 */
import { isSystem, textOf } from "../conversation.ts";
import type { RenderCall, RenderMessage } from "../render_job.ts";
import type { ShownTool } from "./shown_tool.ts";
import type { ToolAbilities } from "./tool_abilities.ts";

/** Which of it becomes text. */
export interface AsText {
  readonly tools: boolean;
  readonly calls: boolean;
  readonly results: boolean;
}

/** What becomes text, where a template can show this of tools. */
export function asText(abilities: ToolAbilities, all: boolean): AsText {
  return {
    tools: all || !abilities.tools,
    calls: all || abilities.calls === undefined,
    results: all || !abilities.results,
  };
}

/** Messages with texts instead of what a template cannot show. */
export function withToolTexts(
  messages: readonly RenderMessage[],
  tools: readonly ShownTool[] | undefined,
  { tools: listed, calls, results }: AsText,
  write = genericCalls,
): readonly RenderMessage[] {
  let said = messages;
  if (calls) said = said.map((message) => withCalls(message, write));
  if (results) said = withResults(said);
  return listed && tools !== undefined ? withTools(said, tools) : said;
}

function withCalls(message: RenderMessage, write: typeof genericCalls): RenderMessage {
  const { toolCalls, ...rest } = message;
  if (toolCalls === undefined || toolCalls.length === 0) return rest;
  const said = textOf(message.content);
  return { ...rest, content: [said, write(toolCalls)].filter(Boolean).join("\n") };
}

function genericCalls(calls: readonly RenderCall[]): string {
  return calls.map(({ name, arguments: text }) =>
    `<tool_call>\n{"name": "${name}", "arguments": ${text || "{}"}}\n</tool_call>`
  ).join("\n");
}

/** What came of a call, as a text that says so. */
export function resultText({ content }: RenderMessage): string {
  return `<tool_response>\n${textOf(content)}\n</tool_response>`;
}

/** Results as a user's message: those of one turn together, and with what the user says next. */
function withResults(messages: readonly RenderMessage[]): readonly RenderMessage[] {
  const said: RenderMessage[] = [];
  let open = false;
  for (const message of messages) {
    const isResult = message.role === "tool";
    const text = isResult ? resultText(message) : textOf(message.content);
    if (open && (isResult || message.role === "user")) {
      said.push({ role: "user", content: `${said.pop()!.content}\n${text}` });
    } else said.push(isResult ? { role: "user", content: text } : message);
    open = isResult;
  }
  return said;
}

/** Tools in the first system message, behind what it says. */
function withTools(
  messages: readonly RenderMessage[],
  tools: readonly ShownTool[],
): readonly RenderMessage[] {
  const text = toolsText(tools);
  const first = messages.findIndex(isSystem);
  if (first < 0) return [{ role: "system", content: text }, ...messages];
  const message = messages[first];
  const said = [textOf(message.content), text].filter(Boolean).join("\n\n");
  return messages.with(first, { ...message, content: said });
}

function toolsText(tools: readonly ShownTool[]): string {
  const list = tools.map((tool) => JSON.stringify(tool.function)).join("\n");
  return "# Tools\n\nThese functions are at your disposal, one a line, each with the JSON Schema of its " +
    `parameters:\n<tools>\n${list}\n</tools>\n\nTo call one, write its name and its arguments as JSON, in ` +
    'exactly this form:\n<tool_call>\n{"name": "the name", "arguments": {"the": "arguments"}}\n</tool_call>\n' +
    "Several calls stand one behind the other. What they give comes back between <tool_response> and " +
    "</tool_response>. Where no function is of use, answer without a call.";
}
