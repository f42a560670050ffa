import { M40Error, type M40ErrorCode } from "../errors.ts";
import { ERROR, Status } from "./structs.ts";

const CODES: Record<number, M40ErrorCode> = {
  [Status.invalidArgument]: "internal",
  [Status.outOfMemory]: "out_of_memory",
  [Status.io]: "io",
  [Status.unsupported]: "unsupported",
  [Status.deviceLost]: "device",
  [Status.internal]: "internal",
};

/**
 * Calls a function of the library with room for its error.
 *
 * @throws {M40Error} With the library's message, where the status is not M40_OK.
 */
export function call(fn: (error: Uint8Array<ArrayBuffer>) => number): void {
  const error = new Uint8Array(ERROR.bytes);
  check(fn(error), error);
}

/** {@link call} for a function that may have to be called again; returns whether it is done. */
export function callUntilReady(fn: (error: Uint8Array<ArrayBuffer>) => number): boolean {
  const error = new Uint8Array(ERROR.bytes);
  const status = fn(error);
  if (status === Status.notReady) return false;
  check(status, error);
  return true;
}

/** {@link call} for a function that runs off the event loop. */
export async function callAsync(
  fn: (error: Uint8Array<ArrayBuffer>) => Promise<number>,
): Promise<void> {
  const error = new Uint8Array(ERROR.bytes);
  check(await fn(error), error);
}

function check(status: number, error: Uint8Array<ArrayBuffer>): void {
  if (status === Status.ok) return;
  const { message } = ERROR.read(new DataView(error.buffer));
  throw new M40Error(
    CODES[status] ?? "internal",
    message || `the library failed, status ${status}`,
  );
}
