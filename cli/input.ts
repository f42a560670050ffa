import { toBytes } from "@std/streams";

/** All of standard input, byte for byte. */
export function readStdin(): Promise<Uint8Array> {
  return toBytes(Deno.stdin.readable);
}
