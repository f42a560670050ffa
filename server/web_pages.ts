import type { MiddlewareHandler } from "hono";
import type { AllowedOrigins } from "./cross_origin.ts";
import { HttpError } from "./errors.ts";

/**
 * Keeps web pages away from the server. A browser runs what any page says, on the machine where the
 * server may listen for that machine alone: a page could send requests across origins, or have its
 * own name resolve to 127.0.0.1 (DNS rebinding) and be of the same origin. So requests from another
 * origin are refused, and a server that listens on a loopback address answers to loopback names only.
 *
 * @param hostname The address that the server listens on.
 * @param allowed Origins whose pages may call it all the same.
 */
export function refuseWebPages(hostname: string, allowed: AllowedOrigins): MiddlewareHandler {
  const local = isLoopback(hostname);
  return async (c, next) => {
    const host = c.req.header("host");
    if (local && host !== undefined && !isLoopback(withoutPort(host))) {
      throw new HttpError(
        403,
        "forbidden_host",
        `This server listens on ${hostname} for this machine alone, and the request is for the host "${
          host.slice(0, 100)
        }". Use http://localhost, or start the server with --host 0.0.0.0 and an API key.`,
      );
    }
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

/**
 * Whether a name stands for this machine alone: localhost and the names below it (RFC 6761), which no
 * name server can lead elsewhere, 127.0.0.0/8, ::1. Names may end with the dot of a complete one.
 */
export function isLoopback(hostname: string): boolean {
  const name = complete(hostname);
  return /^([a-z0-9_-]+\.)*localhost$/.test(name) || name === "::1" || name === "[::1]" ||
    /^127(\.\d{1,3}){3}$/.test(name);
}

/** A name in the one spelling that all spellings of it have: in lower case, without a dot at its end. */
function complete(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, "");
}

/** A Host header's name: without the port, an IPv6 address with its brackets. */
function withoutPort(host: string): string {
  return host.replace(/:\d*$/, "");
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
