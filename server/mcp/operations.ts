import { type Operation, operation } from "../operation.ts";
import { McpCallRequest, McpCallResult, McpToolList } from "./routes.ts";

const FOR_THE_PAGE =
  "For the server's own page, never for others'. There are none unless the server was started with --mcp.";

/** What the page asks of MCP servers' tools. */
export const MCP_OPERATIONS: readonly Operation[] = [
  operation("GET /m40/mcp/tools", "List the tools of MCP servers", {
    description: FOR_THE_PAGE,
    answer: McpToolList,
  }),
  operation("POST /m40/mcp/call", "Call a tool of an MCP server", {
    description:
      `A tool that is not allowed is called with \`confirmed\` alone, which says that the user was asked; else 403. ` +
      `A tool that fails is answered with 200, and ` +
      `why in \`content\`. ${FOR_THE_PAGE}`,
    body: McpCallRequest,
    answer: McpCallResult,
  }),
];
