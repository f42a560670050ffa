import { readGgufHead, type RemoteHead } from "../gguf/head.ts";
import { checkPart, joinParts } from "../gguf/parts.ts";
import type { Gguf, ReadGgufOptions } from "../gguf/reader.ts";
import { DownloadError, type RemoteFile } from "../store/download/mod.ts";
import { ask } from "../store/sources/mod.ts";

/** Pieces that a header is asked for in, in bytes. */
const PIECE = 2 ** 20;

/** The beginning of a file by requests of ranges, for looking at files that may not be fetched. */
export function remoteHead({ url, headers, bytes }: RemoteFile, signal?: AbortSignal): RemoteHead {
  return {
    bytes,
    async read(offset, into) {
      for (let filled = 0; filled < into.length;) {
        const start = offset + filled;
        const length = Math.min(PIECE, into.length - filled);
        const range = `bytes=${start}-${start + length - 1}`;
        const answer = await ask(new URL(url), {
          what: url,
          headers: { ...headers, range, "accept-encoding": "identity" },
          maxBytes: start + length,
          cut: true,
          signal,
        });
        if (answer.status === 416) return filled;
        if (answer.status !== 206 && answer.status !== 200) {
          throw new DownloadError(
            "io",
            `${url} cannot be read: ${answer.url.origin} answered ${answer.status}`,
            answer.status,
          );
        }
        // A server that does not do ranges begins at the beginning.
        const part = answer.status === 200 ? answer.body.subarray(start) : answer.body;
        const count = Math.min(part.length, length);
        into.set(part.subarray(0, count), filled);
        filled += count;
        if (count < length) return filled;
      }
      return into.length;
    },
  };
}

/** A file of a model and its beginning. */
export interface NamedHead {
  /** What to call it in errors. */
  readonly path: string;
  readonly head: RemoteHead;
}

/**
 * The header of a model that is elsewhere, out of those of its files, in order.
 *
 * @throws {M40Error} `invalid_model` where they are no GGUF files that m40 reads, or not of one model.
 */
export async function readHeads(
  heads: readonly NamedHead[],
  options: ReadGgufOptions = {},
): Promise<Gguf> {
  const parts: Gguf[] = [];
  for (const { path, head } of heads) {
    const part = await readGgufHead(head, path, options);
    checkPart(part, { number: parts.length + 1, count: heads.length });
    parts.push(part);
  }
  return parts.length === 1 ? parts[0] : joinParts(parts);
}
