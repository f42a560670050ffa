export { OPEN_PATHS, OPERATIONS } from "./operations.ts";
export { apiRoutes } from "./routes.ts";
