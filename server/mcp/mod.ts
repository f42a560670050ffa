/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { MCP_OPERATIONS } from "./operations.ts";
export { mcpRoutes } from "./routes.ts";
