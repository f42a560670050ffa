import type { MiddlewareHandler } from "hono";
import { type AllowedHosts, complete, withoutPort } from "./allowed_hosts.ts";
import type { AllowedOrigins } from "./cross_origin.ts";
import { HttpError } from "../errors.ts";

/**
 * Keeps web pages away from the server. A browser runs what any page says, on the machine where the server may listen
 * for that machine alone. A page could send requests across origins. It could also have its own name resolve to the
 * server's address (DNS rebinding) and be of the same origin. So requests from another origin are refused, and those to
 * a host whose name could be such a page's.
 *
 * @param hosts The hosts that the server answers to.
 * @param allowed Origins whose pages may call it nevertheless.
 */
export function refuseWebPages(hosts: AllowedHosts, allowed: AllowedOrigins): MiddlewareHandler {
  return async (c, next) => {
    const host = c.req.header("host");
    const refusal = host === undefined ? undefined : hosts.refusal(host);
    if (refusal !== undefined) throw new HttpError(403, "forbidden_host", refusal);
    const origin = c.req.header("origin");
    if (origin !== undefined && isOtherPage(origin, host) && !allowed.has(origin)) {
      throw new HttpError(
        403,
        "forbidden_origin",
        `Requests from web pages of other origins ("${
          origin.slice(0, 100)
        }") are refused. Start the server with --cors ORIGIN, or let the page's own server call this one.`,
      );
    }
    await next();
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
 * Whether an Origin header is that of a web page that is not the server's own.
 *
 * @param host The request's Host header.
 */
export function isOtherPage(origin: string | undefined, host: string | undefined): boolean {
  return origin !== undefined && isWebPage(origin) && !isOriginOf(origin, host);
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
