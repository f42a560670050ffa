/**
 * Tools of MCP servers (Model Context Protocol). The servers that a file names are started or called, their tools
 * become tools that a model may call, and their answers become text for the model. Nothing here knows of engines,
 * requests or terminals.
 *
 * @module
 */
export { checkAllow } from "./allow.ts";
export { type McpConfig, parseMcpConfig, readMcpConfig } from "./config.ts";
export type { ToolResult } from "./result.ts";
export type { McpTool } from "./offer.ts";
export type { ServerState } from "./server.ts";
export { type McpOptions, McpTools } from "./tools.ts";
