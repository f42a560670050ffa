import { M40Error, type M40ErrorCode } from "../errors.ts";
import { ERROR, Status } from "./structs.ts";

const CODES: Record<number, M40ErrorCode> = {
  [Status.invalid_argument]: "internal",
  [Status.out_of_memory]: "out_of_memory",
  [Status.io]: "io",
  [Status.unsupported]: "unsupported",
  [Status.device_lost]: "device",
  [Status.internal]: "internal",
};

/**
 * Calls a function of the library with room for its error.
 *
 * @throws {M40Error} As {@link check} does.
 */
export function call(fn: (error: Uint8Array<ArrayBuffer>) => number): void {
  const error = new Uint8Array(ERROR.bytes);
  check(fn(error), error);
}

/** Memory that calls off the event loop read and write, so that it is not collected meanwhile. */
const inUse = new Set<readonly ArrayBufferView[]>();

/**
 * {@link call} for a function that runs off the event loop.
 *
 * @param memory What the function reads and writes; it must not be changed before the call is over.
 */
export async function callAsync(
  fn: (error: Uint8Array<ArrayBuffer>) => Promise<number>,
  ...memory: readonly ArrayBufferView[]
): Promise<void> {
  const error = new Uint8Array(ERROR.bytes);
  const held = [error, ...memory];
  inUse.add(held);
  try {
    check(await fn(error), error);
  } finally {
    inUse.delete(held);
  }
}

/**
 * Looks at the status that a function returned.
 *
 * @param error What it was given for its error.
 * @throws {M40Error} With the library's message, where the status is not M40_OK.
 */
export function check(status: number, error: Uint8Array<ArrayBuffer>): void {
  if (status === Status.ok) return;
  const { message } = ERROR.read(new DataView(error.buffer));
  throw new M40Error(
    CODES[status] ?? "internal",
    message || `the library failed, status ${status}`,
  );
}
