import { M40Error } from "../errors.ts";

/** Without a number, no more than this share of the memory that the machine has left. */
const DEFAULT_SHARE = 1 / 2;

/**
 * How many bytes of host memory preempted sequences have.
 *
 * @param asked The wanted size; absent: `usual`, or less on a machine with little memory.
 * @throws {M40Error} "out_of_memory" where it is more than the machine has left: the system would kill processes,
 * perhaps others, once it is used.
 */
export function hostCacheBytesOf(asked: number | undefined, usual: number): number {
  const { available } = Deno.systemMemoryInfo();
  if (asked === undefined) return Math.min(usual, Math.floor(available * DEFAULT_SHARE));
  if (asked <= available) return asked;
  const [got, left] = [gibibytes(asked), gibibytes(available)];
  throw new M40Error(
    "out_of_memory",
    `host_cache_bytes: got ${got}, and the machine has ${left} of memory left; give less (--host-cache, in MiB)`,
    "host_cache_bytes",
  );
}

function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
