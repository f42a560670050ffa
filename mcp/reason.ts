import { clipped } from "./tool_list.ts";

/** Characters of what is said of an error. */
const MOST_REASON = 2000;
/** Characters of an error that are looked at: a server may send megabytes of them. */
const MOST_READ = 4 * MOST_REASON;

/** What failed, in a line: what the SDK's schemas say of an answer that is none of MCP's is a list in JSON. */
export function reasonOf(error: unknown): string {
  return clipped(inOneLine(messageOf(error).slice(0, MOST_READ)), MOST_REASON);
}

/** A text with its line ends, and the blanks around them, as a blank each. */
function inOneLine(text: string): string {
  return text.replace(/\s+/g, (blanks) => blanks.includes("\n") ? " " : blanks);
}

function messageOf(error: unknown): string {
  const { issues } = error as { issues?: unknown };
  if (Array.isArray(issues) && issues.length > 0) {
    const { path, message } = issues[0];
    return `it answered with what is not MCP's: ${[path].flat().join(".")}: ${message}`;
  }
  return error instanceof Error ? error.message : String(error);
}
