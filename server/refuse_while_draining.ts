import type { MiddlewareHandler } from "hono";
import type { ServerEnv } from "./context.ts";
import { HttpError } from "./errors.ts";

/** Refuses new generations while the server drains, and asks the client for a new connection. */
export function refuseWhileDraining(): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const { drain } = c.env;
    if (drain?.active && ["POST", "DELETE"].includes(c.req.method)) {
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
  };
}
