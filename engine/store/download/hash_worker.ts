/**
 * The thread of {@link FileHash}: reads a file in order up to the given offset, and hashes it.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** What the thread is asked: to go on up to a byte, and to say the hash where `last` is set. */
export interface HashRequest {
  readonly path: string;
  readonly upTo: number;
  readonly last: boolean;
}

export type HashReply = { readonly sha256: string } | { readonly error: string };

declare const self: {
  onmessage: ((event: MessageEvent<HashRequest>) => void) | null;
  postMessage(reply: HashReply): void;
};

const buffer = new Uint8Array(2 ** 20);
const hash = createHash("sha256");
let file: Deno.FsFile | undefined;
let done = 0;
let failed = false;

self.onmessage = ({ data: { path, upTo, last } }) => {
  if (failed) return;
  try {
    file ??= Deno.openSync(path);
    while (done < upTo) {
      const count = file.readSync(buffer.subarray(0, Math.min(buffer.length, upTo - done)));
      if (count === null) throw new Error(`the file ends after ${done} bytes; wanted ${upTo}`);
      hash.update(buffer.subarray(0, count));
      done += count;
    }
    if (last) self.postMessage({ sha256: hash.digest("hex") });
  } catch (error) {
    failed = true;
    self.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
};
