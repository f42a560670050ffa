import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { M40Error } from "../engine/errors.ts";
import { HttpError } from "./errors.ts";

/**
 * Lets only requests with the key pass: `Authorization: Bearer KEY`.
 *
 * @param key The key. The spaces around it do not count, as they do not in a header.
 * @param open Paths that need none.
 * @throws {M40Error} "invalid_request" for a key of spaces alone, which no request could bring.
 */
export function requireKey(key: string, open: ReadonlySet<string>): MiddlewareHandler {
  const trimmed = withoutSpaces(key);
  if (trimmed === "") {
    throw new M40Error("invalid_request", "the API key has nothing but spaces; wanted a key");
  }
  const wanted = digest(trimmed);
  return async (c, next) => {
    if (open.has(c.req.path)) return await next();
    const header = c.req.header("authorization");
    const got = /^bearer +(.*)$/i.exec(header ?? "")?.[1];
    // Digests have one length, and comparing them takes one time, whatever the client sent.
    if (got !== undefined && timingSafeEqual(digest(withoutSpaces(got), "latin1"), wanted)) {
      return await next();
    }
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

/** Without the spaces around it. Not `trim`: it takes U+00A0 too, which may be the last byte of a letter. */
export function withoutSpaces(text: string): string {
  return text.replace(/^[ \t\r\n]+/, "").replace(/(?<![ \t\r\n])[ \t\r\n]+$/, "");
}

/** A header's text has a character for each byte (latin1), whatever the client meant by them. */
function digest(text: string, encoding: "utf8" | "latin1" = "utf8"): Uint8Array {
  return createHash("sha256").update(text, encoding).digest();
}
