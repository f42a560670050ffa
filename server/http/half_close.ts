/**
 * A client that closes its sending half and waits for its answer looks like one that has left: both
 * send the same packet, and no more. Only what is written to them tells: the system of a client that
 * has left answers it with a reset. So something is written now and then that a client passes over.
 *
 * @module
 */

/** How long after a client's end it is first asked again, in milliseconds. The pauses grow from here. */
const FIRST_MS = 250;

/**
 * Calls `write` in the event loop's next turn, and then again and again. A reset takes a way there and back to come, and it is
 * the write after it that fails: so the first pauses are short.
 *
 * @param longestMs The longest pause.
 * @returns What ends it.
 */
export function writeRepeatedly(write: () => void, longestMs: number): () => void {
  let pause = Math.min(FIRST_MS, longestMs);
  const next = () => {
    timer = setTimeout(next, pause);
    pause = Math.min(pause * 4, longestMs);
    write();
  };
  let timer = setTimeout(next, 0);
  return () => clearTimeout(timer);
}
