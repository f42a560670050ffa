/**
 * Bytes that all connections together move, read or written, before everything else that waits has its
 * turn. Where data is there or there is room for it, Deno answers a read or a write at once, without the
 * event loop: without a share a client that sends or takes fast would hold up all others.
 */
const TURN_BYTES = 256 * 1024;

let moved = 0;
let next: Promise<void> | undefined;

/**
 * Counts bytes that a connection has moved in this turn of the event loop.
 *
 * @returns undefined where the connection may go on; else what resolves when the others have had their turn.
 */
export function shareTurn(bytes: number): Promise<void> | undefined {
  moved += bytes;
  if (moved < TURN_BYTES) return undefined;
  return next ??= new Promise((resolve) => {
    setTimeout(() => {
      moved = 0;
      next = undefined;
      resolve();
    }, 0);
  });
}
