import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { HttpError, SHOULD_RETRY_HEADER } from "../errors.ts";
import { PREFIX_HEADER } from "../request/mod.ts";
import { METHODS } from "../route.ts";
import { type AllowedHosts, complete, withoutPort } from "./allowed_hosts.ts";

/** Headers of ours that clients read; without their names browsers keep them from a page of another origin. */
const READ_BY_CLIENTS = ["Retry-After", SHOULD_RETRY_HEADER, "request-id", PREFIX_HEADER];

/**
 * Keeps web pages away from the server. A browser runs what any page says, on the machine where the server may listen
 * for that machine alone. A page could send requests across origins. It could also have its own name resolve to the
 * server's address (DNS rebinding) and be of the same origin. So requests from another origin are refused, and those to
 * a host whose name could be such a page's.
 *
 * Browsers with pages of allowed origins are answered accordingly: preflights, which bring no key, are answered, and
 * answers are marked. Credentials are for origins that are named: with `*` browsers refuse them.
 *
 * @param hosts The hosts that the server answers to.
 * @param origins Origins whose pages may call it nevertheless (`--cors`), as browsers write them,
 * `https://example.com`; `*` is all.
 */
export function refuseWebPages(hosts: AllowedHosts, origins: readonly string[]): MiddlewareHandler {
  const any = origins.includes("*");
  const allow = cors({
    origin: any ? "*" : [...origins],
    credentials: !any,
    allowMethods: [...METHODS],
    exposeHeaders: READ_BY_CLIENTS,
    maxAge: 600,
  });
  /** The host that was answered last: nearly all requests are for one. */
  let answered: string | undefined;
  return async (c, next) => {
    const host = c.req.header("host");
    if (host !== undefined && host !== answered) {
      const refusal = hosts.refusal(host);
      if (refusal !== undefined) throw new HttpError(403, "forbidden_host", refusal);
      answered = host;
    }
    const origin = c.req.header("origin");
    if (origin !== undefined) {
      if (any || origins.includes(origin)) return await allow(c, next);
      if (isWebPage(origin) && !isOriginOf(origin, host)) {
        throw new HttpError(
          403,
          "forbidden_origin",
          `Requests from web pages of other origins ("${
            origin.slice(0, 100)
          }") are refused. Start the server with --cors ORIGIN, or let the page's own server call this one.`,
        );
      }
    }
    await next();
    // An answer that names no origin is not for a page of one, whatever a cache thinks.
    if (!any && origins.length > 0) c.header("Vary", "Origin", { append: true });
  };
}

/** A Host header's port with its colon; empty where there is none. */
function port(host: string): string {
  return /:\d*$/.exec(host)?.[0] ?? "";
}

/** Whether an Origin header is a page's of the web; a desktop program's own scheme is none. */
export function isWebPage(origin: string): boolean {
  return origin === "null" || /^https?:/i.test(origin);
}

/**
 * Whether an Origin header is the server's own page's.
 *
 * @param host The request's Host header.
 */
export function isOriginOf(origin: string, host: string | undefined): boolean {
  if (host === undefined) return false;
  if (!/^https?:\/\//i.test(origin)) return false;
  const own = origin.replace(/^https?:\/\//i, "");
  return complete(withoutPort(own)) === complete(withoutPort(host)) && port(own) === port(host);
}
