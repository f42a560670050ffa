/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { PAGE_OPERATIONS } from "./operations.ts";
export { pageRoutes } from "./routes.ts";
