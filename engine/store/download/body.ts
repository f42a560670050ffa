import { Fault } from "./errors.ts";
import { networkReason } from "./remote.ts";
import type { StallWatch } from "./stall_watch.ts";

/** What is asked of a connection at a time, in bytes. */
const READ_BYTES = 256 * 1024;
/** What is gathered before it is written, in bytes and in milliseconds. */
const GATHERED_BYTES = 2 ** 20;
const GATHERED_MS = 250;

/**
 * The bytes of a body in parts of a size that is worth writing, valid until the next. What arrived
 * before a connection is cut comes before the error.
 *
 * @param most No more than this many bytes are read; undefined for all.
 * @param exact Whether the server said that there are no more: then the connection can be used again.
 * @throws {Fault} Where the body breaks off.
 */
export async function* readBody(
  body: ReadableStream<Uint8Array> | null,
  most: number | undefined,
  exact: boolean,
  watch: StallWatch,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader({ mode: "byob" });
  const gathered = new Uint8Array(GATHERED_BYTES);
  let buffer = new ArrayBuffer(READ_BYTES);
  let left = most ?? Infinity;
  let failure: unknown;
  try {
    for (let ended = false; !ended && left > 0;) {
      const started = performance.now();
      let filled = 0;
      watch.resume();
      try {
        while (filled < Math.min(gathered.length, left)) {
          const wanted = Math.min(READ_BYTES, gathered.length - filled, left - filled);
          const { value, done } = await reader.read(new Uint8Array(buffer, 0, wanted));
          if (done) {
            ended = true;
            break;
          }
          gathered.set(value, filled);
          filled += value.length;
          buffer = value.buffer;
          watch.arrived(value.length);
          if (performance.now() - started > GATHERED_MS) break;
        }
      } catch (error) {
        [ended, failure] = [true, error];
      }
      watch.pause();
      left -= filled;
      if (filled > 0) yield gathered.subarray(0, filled);
    }
    // The end has to be seen for the connection to be free for the next request.
    if (failure === undefined && exact && left === 0) {
      await reader.read(new Uint8Array(1)).catch(() => {});
    }
    if (failure !== undefined) {
      throw new Fault(`the connection was cut: ${networkReason(failure)}`);
    }
  } finally {
    // Where the rest is not needed, the connection is closed.
    await reader.cancel().catch(() => {});
  }
}
