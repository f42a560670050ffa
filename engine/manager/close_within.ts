import { within } from "../within.ts";

/** How long an engine whose device was lost may take to close, in milliseconds. */
export const ABANDON_MS = 30_000;

/**
 * Closes what is on a device that was lost, and does not wait for ever where it cannot be closed.
 *
 * @throws {Error} Where it takes longer; it may be closed yet, or never.
 */
export async function closeWithin(
  milliseconds: number,
  what: string,
  lost: { close(): Promise<void> },
): Promise<void> {
  if (await within(milliseconds, lost.close().then(() => true))) return;
  throw new Error(
    `${what} did not close within ${milliseconds} ms; its memory stays taken until m40 ends`,
  );
}
