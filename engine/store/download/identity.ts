import { strongEtag } from "./headers.ts";

/** What tells a file from the one that was there before it at the same URL. */
export interface Identity {
  readonly bytes?: number;
  /** A strong ETag. */
  readonly etag?: string;
  readonly lastModified?: string;
}

/** What an answer says of its file. */
export function identityOf(headers: Headers, bytes: number | undefined): Identity {
  const etag = strongEtag(headers.get("etag"));
  const lastModified = headers.get("last-modified")?.trim() || undefined;
  return { bytes, etag, lastModified };
}

/** What an If-Range header says to get more of this very file; undefined where nothing tells it from others. */
export function ifRange(identity: Identity): string | undefined {
  return identity.etag ?? identity.lastModified;
}

/**
 * What tells that an answer is about another file than the one known; undefined where nothing does.
 *
 * @param vouched Whether the server was told which file was meant (If-Range), and may leave out what
 * it is known by.
 */
export function difference(known: Identity, now: Identity, vouched: boolean): string | undefined {
  if (known.bytes !== undefined && now.bytes !== undefined && known.bytes !== now.bytes) {
    return `it had ${known.bytes} bytes and has ${now.bytes}`;
  }
  const key = known.etag !== undefined ? "etag" : "lastModified";
  const name = key === "etag" ? "ETag" : "Last-Modified";
  if (known[key] === now[key] || (vouched && now[key] === undefined)) return undefined;
  return `its ${name} was ${known[key] ?? "none"} and is ${now[key] ?? "none"}`;
}
