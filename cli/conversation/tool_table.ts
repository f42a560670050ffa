import { formatTable, printable, style } from "../terminal/mod.ts";
import type { ConversationTools } from "./tools.ts";

/** Characters of a description that are shown. */
const MOST_SHOWN = 80;

/** A line for each tool, then what there is to know of their servers. */
export function toolTable({ mcp, consent }: ConversationTools): string {
  const rows = mcp.tools.map(({ name, title, description = title ?? "" }) => {
    const asks = !mcp.allowed(name) && !consent.always(name);
    return [name, asks ? "asks first" : "allowed", firstSentence(description)];
  });
  const servers = mcp.servers.filter(({ state }) => state === "ended").map(({ name }) =>
    `MCP server ${name}: It has ended; the next call starts it again.`
  );
  const notes = [...mcp.notes, ...servers].map((text) =>
    style(Deno.stderr, "dim", printable(text)) + "\n"
  );
  return (rows.length > 0 ? formatTable(rows) : "No server has any tools.\n") + notes.join("");
}

function firstSentence(description: string): string {
  const [line] = description.trim().split("\n", 1);
  const short = line.length > MOST_SHOWN ? line.slice(0, MOST_SHOWN - 1) + "…" : line;
  return printable(short.toWellFormed());
}
