/** glibc's function that gives freed memory back to the system: 1 where it gave some (malloc_trim(3)). */
const TRIM = {
  malloc_trim: { parameters: ["usize"], result: "i32", nonblocking: true },
} as const satisfies Deno.ForeignLibraryInterface;

/** How often it is looked, in milliseconds. */
const LOOK_MS = 5000;
/** Memory that is kept though nothing of it is used, in bytes, from which on it is worth the work. */
const WORTH_BYTES = 64 * 2 ** 20;

/** What there is to know of this process's memory, in bytes: see {@link Deno.memoryUsage}. */
export type MemoryUsage = Pick<Deno.MemoryUsage, "rss" | "heapTotal" | "external">;

/**
 * Decides when memory that this process has freed goes back to the system. glibc keeps what lies below
 * memory that is in use, so a server would stay as large as a burst of bodies once made it.
 */
export class FreedMemory {
  /** The least that was resident beside what JavaScript holds: the program, and its libraries' memory. */
  private least = Infinity;

  /** Whether more is resident now than is in use, by so much that it should be given back. */
  isWorthGiving({ rss, heapTotal, external }: MemoryUsage): boolean {
    const beside = Math.max(rss - heapTotal - external, 0);
    this.least = Math.min(this.least, beside);
    return beside - this.least > WORTH_BYTES;
  }

  /** What is resident after memory was given back is in use, whatever it was before. */
  given({ rss, heapTotal, external }: MemoryUsage): void {
    this.least = Math.max(rss - heapTotal - external, 0);
  }
}

/**
 * Has this process give back memory that it has freed, from now to its end. It takes glibc; elsewhere
 * nothing is done. The work is done off the event loop.
 */
export function giveBackFreedMemory(): void {
  let libc: Deno.DynamicLibrary<typeof TRIM>;
  try {
    libc = Deno.dlopen("libc.so.6", TRIM);
  } catch {
    return;
  }
  const memory = new FreedMemory();
  let giving = false;
  const timer = setInterval(async () => {
    if (giving || !memory.isWorthGiving(Deno.memoryUsage())) return;
    giving = true;
    await libc.symbols.malloc_trim(0n);
    memory.given(Deno.memoryUsage());
    giving = false;
  }, LOOK_MS);
  Deno.unrefTimer(timer);
}
