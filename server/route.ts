import type { Context, Hono } from "hono";
import type { ServerEnv } from "./context.ts";
import { HttpError } from "./errors.ts";

/** The methods that routes answer, in addition to OPTIONS. */
export const METHODS = ["GET", "HEAD", "POST", "DELETE"] as const;

/** Answers a request; a thrown error becomes an answer in {@link HttpError}'s shape. */
export type Handler = (c: Context<ServerEnv>) => Response | Promise<Response>;

/**
 * Adds a path with its methods. GET answers HEAD too, OPTIONS says what there is, and any other
 * method is answered with 405 and `Allow`.
 */
export function route(
  app: Hono<ServerEnv>,
  path: string,
  handlers: { readonly [M in Exclude<typeof METHODS[number], "HEAD">]?: Handler },
): void {
  const allowed: string[] = [];
  if (handlers.GET !== undefined) {
    app.get(path, handlers.GET);
    allowed.push("GET", "HEAD");
  }
  if (handlers.POST !== undefined) {
    app.post(path, handlers.POST);
    allowed.push("POST");
  }
  if (handlers.DELETE !== undefined) {
    app.delete(path, handlers.DELETE);
    allowed.push("DELETE");
  }
  const headers = { Allow: [...allowed, "OPTIONS"].join(", ") };
  // No CORS headers: a preflight is granted before, to origins that are allowed.
  app.options(path, () => new Response(null, { status: 204, headers }));
  app.all(path, (c) => {
    throw new HttpError(
      405,
      "method_not_allowed",
      `${c.req.path} does not answer ${c.req.method}. It answers ${allowed.join(", ")}.`,
      { headers },
    );
  });
}

/** Adds a path that GET and HEAD are answered at, and nothing else: see {@link route}. */
export function get(app: Hono<ServerEnv>, path: string, handler: Handler): void {
  route(app, path, { GET: handler });
}

/** The same for POST. */
export function post(app: Hono<ServerEnv>, path: string, handler: Handler): void {
  route(app, path, { POST: handler });
}
