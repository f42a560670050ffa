import type { Fault } from "./errors.ts";
import type { Tuning } from "./tuning.ts";

/**
 * How long to wait before the next try, in milliseconds: twice as long each time, with jitter so that refused clients
 * do not return together; no less than the server asks for.
 *
 * @param failed How many tries failed, at least one.
 */
export function pauseMs(failed: number, fault: Fault | undefined, tuning: Tuning): number {
  const doubled = Math.min(tuning.firstPauseMs * 2 ** (failed - 1), tuning.longestPauseMs);
  const asked = Math.min(fault?.retryAfterMs ?? 0, tuning.longestRetryAfterMs);
  return Math.max(doubled * (0.5 + Math.random() / 2), asked);
}
