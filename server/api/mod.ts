/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { OPEN_PATHS, OPERATIONS } from "./operations.ts";
export { apiRoutes } from "./routes.ts";
