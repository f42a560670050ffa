import { delay } from "@std/async/delay";
import { M40Error } from "../../engine/errors.ts";
import { systemReason } from "../../engine/system_error.ts";

/** The pause between two tries to read where another program made standard input nonblocking. */
const PAUSE_MS = 10;

/** All of standard input, byte for byte; fails as {@link readInput} does. */
export async function readStdin(): Promise<Uint8Array> {
  let bytes = new Uint8Array(65_536);
  let length = 0;
  for (let count; (count = await readInput(bytes.subarray(length))) !== null;) {
    length += count;
    if (length < bytes.length) continue;
    const larger = new Uint8Array(2 * bytes.length);
    larger.set(bytes);
    bytes = larger;
  }
  return bytes.subarray(0, length);
}

/**
 * Reads what standard input has.
 *
 * @returns Bytes that were read, of a terminal those of a line at most; null at the end.
 * @throws {M40Error} "io" where it cannot be read.
 */
export async function readInput(into: Uint8Array): Promise<number | null> {
  for (;;) {
    try {
      return await Deno.stdin.read(into);
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) {
        throw new M40Error("io", `standard input cannot be read: ${systemReason(error)}`);
      }
      await delay(PAUSE_MS);
    }
  }
}
