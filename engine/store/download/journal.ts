import { createHash } from "node:crypto";
import type { Identity } from "./identity.ts";
import { RangeSet } from "./ranges.ts";
import type { RemoteFile } from "./types.ts";

const VERSION = 1;
/** No journal is longer: it has a few ranges, at most some for each connection. */
const MOST_BYTES = 2 ** 20;

/** What is known of a file that was fetched in part. */
export interface Journal {
  readonly identity: Identity;
  readonly ranges: RangeSet;
}

/** Which remote file a journal is about: the hash that it has to have, else the URL, which may be secret. */
function sourceOf(file: RemoteFile): string {
  return file.sha256?.toLowerCase() ??
    "url:" + createHash("sha256").update(file.url).digest("hex");
}

/** A journal as it is written. */
export function encodeJournal(file: RemoteFile, { identity, ranges }: Journal): string {
  return JSON.stringify({
    version: VERSION,
    source: sourceOf(file),
    ...identity,
    ranges: [...ranges].map(({ start, end }) => [start, end]),
  });
}

/**
 * The journal at a path, where it is one about this file and what it says can be; else undefined:
 * what cannot be understood is as good as nothing.
 *
 * @param dataBytes The length of the file that holds the ranges.
 */
export async function readJournal(
  path: string,
  file: RemoteFile,
  dataBytes: number,
): Promise<Journal | undefined> {
  try {
    if ((await Deno.stat(path)).size > MOST_BYTES) return undefined;
    const { version, source, bytes, etag, lastModified, ranges } = JSON.parse(
      await Deno.readTextFile(path),
    );
    if (version !== VERSION || source !== sourceOf(file)) return undefined;
    if (!isLength(bytes) || (file.bytes !== undefined && bytes !== file.bytes)) return undefined;
    if (!isOptionalString(etag) || !isOptionalString(lastModified)) return undefined;
    if (!Array.isArray(ranges)) return undefined;
    const set = new RangeSet();
    for (const [start, end] of ranges) {
      if (!isLength(start) || !isLength(end)) return undefined;
      if (start >= end || end > Math.min(bytes, dataBytes)) return undefined;
      set.add(start, end);
    }
    return { identity: { bytes, etag, lastModified }, ranges: set };
  } catch {
    return undefined;
  }
}

function isLength(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isOptionalString(value: unknown): value is string | undefined {
  return value === undefined || typeof value === "string";
}
