import type { ServedFile } from "../tests/fixtures/fault_server.ts";

const BLOCK_BYTES = 64 * 2 ** 20;

/** A file to serve that is longer than the memory it takes: a block of random bytes again and again. */
export function repeated(bytes: number): ServedFile {
  const block = new Uint8Array(BLOCK_BYTES);
  for (let at = 0; at < BLOCK_BYTES; at += 65536) {
    crypto.getRandomValues(block.subarray(at, at + 65536));
  }
  return {
    bytes,
    etag: '"bench"',
    slice(start, end) {
      const from = start % BLOCK_BYTES;
      return block.subarray(from, Math.min(BLOCK_BYTES, from + end - start));
    },
  };
}
