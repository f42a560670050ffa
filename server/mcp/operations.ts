import type { Operation } from "../operation.ts";
import { McpCallRequest, McpCallResult, McpToolList } from "./routes.ts";

const FOR_THE_PAGE =
  "For the server's own page, never for others'. There are none unless the server was started with --mcp.";

/** What the page asks of MCP servers' tools. */
export const MCP_OPERATIONS: readonly Operation[] = [
  {
    method: "GET",
    path: "/m40/mcp/tools",
    summary: "List the tools of MCP servers",
    description: FOR_THE_PAGE,
    answer: McpToolList,
  },
  {
    method: "POST",
    path: "/m40/mcp/call",
    summary: "Call a tool of an MCP server",
    description:
      `A tool that is not allowed is called with \`confirmed\` alone, which says that the user was asked; else 403. ` +
      `A tool that fails is answered with 200, and ` +
      `why in \`content\`. ${FOR_THE_PAGE}`,
    body: McpCallRequest,
    answer: McpCallResult,
  },
];
