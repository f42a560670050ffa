import { strongEtag } from "./headers.ts";

/** What distinguishes a file from the one that was there before it at the same URL. */
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

/** What an If-Range header says to get more of this very file; undefined where nothing identifies it. */
export function ifRange(identity: Identity): string | undefined {
  return identity.etag ?? identity.lastModified;
}

/**
 * What shows that an answer is about another file than the known one; undefined where nothing does.
 *
 * @param vouched Whether the request named the file (If-Range), so that the answer may leave out its identity.
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
