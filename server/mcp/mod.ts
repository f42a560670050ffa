export { MCP_OPERATIONS } from "./operations.ts";
export { mcpRoutes } from "./routes.ts";
