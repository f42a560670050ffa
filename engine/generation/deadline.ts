/** What ends a request that is not done. */
export interface RequestEnds {
  /** Aborting it ends the request. */
  readonly signal?: AbortSignal;
  /** After so many milliseconds the request ends with the error "timeout"; default: never. */
  readonly timeoutMs?: number;
  /** From when `timeoutMs` counts, by `performance.now()`; default: from the request's arrival on. */
  readonly timeoutFrom?: number;
}

/**
 * Calls `expire` when the time is over, at once where it is already.
 *
 * @param timeoutMs Milliseconds until then.
 * @param from The start, by performance.now().
 * @returns A timer for clearTimeout, where one is running.
 */
export function startDeadline(
  timeoutMs: number,
  from: number,
  expire: () => void,
): number | undefined {
  const left = from + timeoutMs - performance.now();
  // A timer of 0 ms fires after work that is quick is done.
  if (left <= 0) return void expire();
  return setTimeout(expire, left);
}
