import { M40Error } from "../../errors.ts";
import type { Sequence } from "./sequence.ts";

/** Where sequences are queued: a scheduler, or the queue before several. */
export interface SequenceQueue {
  /**
   * Queues sequences, all or none.
   *
   * @throws {M40Error} "queue_full" where too many wait; "context_length_exceeded" where one could never
   * fit, "invalid_request" where so many could not; "device" where the device was lost.
   */
  add(...sequences: Sequence[]): void;
  /** Ends a sequence in any state and notifies its listener at once. */
  cancel(sequence: Sequence): void;
}

/** How many sequences there may be, and are. */
export interface QueueLimits {
  readonly maxRunning: number;
  readonly maxWaiting: number;
  readonly running: number;
  readonly waiting: number;
}

/** @throws {M40Error} As {@link SequenceQueue.add} does where so many more are too many. */
export function assertQueueRoom(
  count: number,
  { maxRunning, maxWaiting, running, waiting }: QueueLimits,
): void {
  if (count > maxWaiting + maxRunning) {
    throw new M40Error(
      "invalid_request",
      `${count} sequences at once; ${maxRunning} can run and ${maxWaiting} wait. ` +
        "Ask for fewer (n, prompts).",
    );
  }
  const places = Math.max(0, maxRunning - running);
  if (count > maxWaiting + places - waiting) {
    // Those that the next step admits do not wait.
    const queued = Math.max(0, waiting - places);
    throw new M40Error(
      "queue_full",
      `${queued} sequences wait already, and ${maxWaiting} may at most` +
        `${count === 1 ? "" : `; this request has ${count}`}; try again later`,
    );
  }
}
