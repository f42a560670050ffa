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
