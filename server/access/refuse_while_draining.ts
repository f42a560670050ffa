import type { MiddlewareHandler } from "hono";
import type { ServerEnv } from "../context.ts";
import { HttpError } from "../errors.ts";

/**
 * Asks clients for a new connection while the server drains. Refuses new generations once load balancers had time to
 * notice.
 */
export function refuseWhileDraining(): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const { drain } = c.env;
    if (drain?.active && drain.refusing && ["POST", "DELETE"].includes(c.req.method)) {
      const seconds = Math.max(1, Math.ceil(drain.millisecondsLeft / 1000));
      throw new HttpError(
        503,
        "draining",
        "The server is about to end and takes no new requests. Send it to another one, or try again later.",
        // A connection that stays open would bring the next request to this server too.
        { headers: { "Retry-After": String(seconds), "Connection": "close" } },
      );
    }
    await next();
    if (drain?.active) c.header("Connection", "close");
  };
}
