import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { HttpError } from "./errors.ts";

/**
 * Lets only requests with the key pass: `Authorization: Bearer KEY`.
 *
 * @param key The key.
 * @param open Paths that need none.
 */
export function requireKey(key: string, open: ReadonlySet<string>): MiddlewareHandler {
  // A header arrives without the spaces around it.
  const wanted = digest(key.trim());
  return async (c, next) => {
    if (open.has(c.req.path)) return await next();
    const header = c.req.header("authorization");
    const got = /^bearer +(.*)$/i.exec(header ?? "")?.[1].trim();
    // Digests have one length, and comparing them takes one time, whatever the client sent.
    if (got !== undefined && timingSafeEqual(digest(got, "latin1"), wanted)) return await next();
    throw new HttpError(
      401,
      "invalid_api_key",
      got === undefined
        ? `This server needs an API key. Send it in the header "Authorization: Bearer KEY".`
        : "The API key is not this server's. Send the one that the server was started with.",
      { headers: { "WWW-Authenticate": 'Bearer realm="m40"' } },
    );
  };
}

/** A header's text has a character for each byte (latin1), whatever the client meant by them. */
function digest(text: string, encoding: "utf8" | "latin1" = "utf8"): Uint8Array {
  return createHash("sha256").update(text, encoding).digest();
}
