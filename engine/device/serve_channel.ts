/**
 * The process of a device: opens a kernel library and serves the functions of m40.h until it is asked to end, or until
 * its parent process ends. `device_process.ts` starts it.
 *
 * @module
 */
import { CHANNEL_SYMBOLS } from "./symbols.ts";
import { ERROR, Status } from "./structs.ts";

/** Where m40_channel_open puts the memory and the socket. */
const MEMORY = 3;
const SOCKET = 4;

/** Serves with the library at a path; returns the exit code. */
export function serveChannel(path: string): number {
  const { m40_channel_serve } = CHANNEL_SYMBOLS;
  const library = Deno.dlopen(path, { m40_channel_serve });
  const error = new Uint8Array(ERROR.bytes);
  if (library.symbols.m40_channel_serve(MEMORY, SOCKET, error) === Status.ok) return 0;
  console.error(`device process: ${ERROR.read(new DataView(error.buffer)).message}`);
  return 1;
}

if (import.meta.main) Deno.exit(serveChannel(Deno.args[0]));
