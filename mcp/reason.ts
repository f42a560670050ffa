import { clipped } from "./tool_list.ts";

/** Characters of what is said of an error. */
const MOST_REASON = 2000;

/** What went wrong, in a line: what the SDK's schemas say of an answer that is none of MCP's is a list in JSON. */
export function reasonOf(error: unknown): string {
  return clipped(messageOf(error).replace(/\s*\n\s*/g, " "), MOST_REASON);
}

function messageOf(error: unknown): string {
  const { issues } = error as { issues?: unknown };
  if (Array.isArray(issues) && issues.length > 0) {
    const { path, message } = issues[0];
    return `it answered with what is not MCP's: ${[path].flat().join(".")}: ${message}`;
  }
  return error instanceof Error ? error.message : String(error);
}
