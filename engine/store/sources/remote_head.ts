import { type Companion, PEEK_BYTES, peekCompanion, type RemoteHead } from "../../gguf/mod.ts";
import { DownloadError } from "../download/errors.ts";
import type { RemoteFile } from "../download/types.ts";
import { ask } from "./answers.ts";

/** Pieces that a header is asked for in, in bytes. */
const PIECE = 2 ** 20;

/** The start of a file by requests of ranges, for looking at files that may not be fetched. */
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
        // A server that does not do ranges starts at the first byte.
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

/**
 * What a file that is elsewhere is, by its first bytes; undefined for a model, and where they do not show it.
 *
 * @param isPart Whether its name says that it is one of several files.
 * @throws {M40Error} Where its server does not answer as it should; {@link DownloadError} with the status.
 */
export async function remoteCompanion(
  file: RemoteFile,
  isPart: boolean,
  signal?: AbortSignal,
): Promise<Companion | undefined> {
  const bytes = new Uint8Array(Math.min(PEEK_BYTES, file.bytes ?? PEEK_BYTES));
  const count = await remoteHead(file, signal).read(0, bytes);
  return peekCompanion(bytes.subarray(0, count), isPart);
}
