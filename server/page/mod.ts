export { PAGE_OPERATIONS } from "./operations.ts";
export { pageRoutes } from "./routes.ts";
