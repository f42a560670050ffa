import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { M40Error } from "../../engine/errors.ts";
import { HttpError } from "../errors.ts";

/**
 * Lets only requests with the key pass: `Authorization: Bearer KEY`, or Anthropic's `x-api-key: KEY`.
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
    const bearer = /^bearer (.*)$/i.exec(c.req.header("authorization") ?? "")?.[1];
    const got = [bearer, c.req.header("x-api-key")].filter((key) => key !== undefined);
    // Digests have one length, and comparing them takes one time, whatever the client sent.
    const matches = (key: string) => timingSafeEqual(digest(withoutSpaces(key), "latin1"), wanted);
    // All are compared: how long it takes does not say which was right.
    if (got.filter(matches).length > 0) return await next();
    throw new HttpError(
      401,
      "invalid_api_key",
      got.length === 0
        ? 'This server needs an API key. Send it in the header "Authorization: Bearer KEY" or "x-api-key: KEY".'
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
