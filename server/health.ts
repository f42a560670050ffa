import type { Hono } from "hono";
import type { ServerContext, ServerEnv } from "./context.ts";
import { route } from "./route.ts";

/**
 * `GET /health`: 200 while the engine can work, 503 with the reason when it cannot, for a load
 * balancer or a service manager. Needs no key, so it tells nothing of what is served.
 */
export function healthRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  route(app, "/health", {
    GET: (c) => {
      const { running, waiting, failed } = server.engine.status();
      if (failed !== undefined) return c.json({ status: "failed", reason: failed }, 503);
      return c.json({ status: "ok", running, waiting });
    },
  });
}
