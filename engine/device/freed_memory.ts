import { delay } from "@std/async/delay";
import { collectGarbage } from "./garbage.ts";

/** What is used of glibc. */
const LIBC = {
  /** Gives freed memory back to the system (malloc_trim(3)). */
  malloc_trim: { parameters: ["usize"], result: "i32", nonblocking: true },
  /** Changes a setting of malloc (mallopt(3)). */
  mallopt: { parameters: ["i32", "i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

/** The setting from how many bytes on memory is taken from the system, and given back as soon as it is freed. */
const M_MMAP_THRESHOLD = -3;
const MMAP_THRESHOLD_BYTES = 128 * 1024;

/** How often it is looked, in milliseconds. */
const LOOK_MS = 2500;
/** How long collecting may take before memory is given back without it, in milliseconds. */
const COLLECTING_MS = 10_000;

/** Memory beyond the least in bytes that is worth the work often. */
const MUCH_BYTES = 64 * 2 ** 20;
/** Memory beyond the least in bytes that is worth the work at all. */
const LITTLE_BYTES = 16 * 2 ** 20;
/** How often memory is given back at most where it is much, and where it is little, in milliseconds. */
const OFTEN_MS = 5000;
const RARELY_MS = 60_000;
/** After so many times in a row that nearly nothing was freed, much is treated like little: it is in use. */
const FRUITLESS = 24;

/**
 * Decides when this process returns its unused memory to the system. V8 keeps garbage until much new is allocated, and
 * glibc keeps freed memory that lies below memory in use: a server would stay as large as a burst of bodies once made
 * it. Only returning the rest shows how much of the resident memory is in use.
 */
export class FreedMemory {
  /** The least that was ever resident. */
  private least = Infinity;
  /** When memory was given back last, by the caller's clock. */
  private at = -Infinity;
  /** Whether that was for much. */
  private much = false;
  /** How often in a row nearly nothing was freed. */
  private fruitless = 0;

  /**
   * Whether memory should be returned now; the caller then does so.
   *
   * @param resident Bytes of this process that are in memory.
   * @param now Milliseconds of any clock that only goes forward.
   */
  isWorthGiving(resident: number, now: number): boolean {
    this.least = Math.min(this.least, resident);
    const more = resident - this.least;
    if (more <= LITTLE_BYTES || now - this.at < this.pauseMs(more)) return false;
    this.at = now;
    this.much = more > MUCH_BYTES;
    return true;
  }

  /** Memory was given back: so much was resident before that and is after it. */
  given(before: number, after: number): void {
    this.fruitless = after > before - LITTLE_BYTES ? this.fruitless + 1 : 0;
  }

  /** The time to wait since the last return, where so much more than the least is resident. */
  private pauseMs(more: number): number {
    if (more > MUCH_BYTES) return this.fruitless < FRUITLESS ? OFTEN_MS : RARELY_MS;
    // What a burst leaves when it is over may be little.
    return this.much ? OFTEN_MS : RARELY_MS;
  }
}

/** Gives back memory that this process does not use any more. */
export class MemoryGiver {
  private constructor(private readonly libc: Deno.DynamicLibrary<typeof LIBC>) {
    // glibc would raise it to the size of whatever was freed, and keep all large buffers from then on. They would be
    // given back together, and allocations wait until that is done.
    libc.symbols.mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
  }

  /** Undefined where there is no glibc. */
  static open(): MemoryGiver | undefined {
    try {
      return new MemoryGiver(Deno.dlopen("libc.so.6", LIBC));
    } catch {
      return undefined;
    }
  }

  /**
   * Collects garbage and returns free memory. The event loop runs meanwhile, but an allocation there waits, for about a
   * tenth of a millisecond per MiB that is returned.
   */
  async give(): Promise<void> {
    await Promise.race([collectGarbage(), delay(COLLECTING_MS, { persistent: false })]);
    await this.libc.symbols.malloc_trim(0n);
  }
}

/**
 * Has this process give back memory that it does not use any more, from now to its end. It takes glibc; elsewhere
 * nothing is done.
 */
export function giveBackFreedMemory(): void {
  const giver = MemoryGiver.open();
  if (giver === undefined) return;
  const memory = new FreedMemory();
  let giving = false;
  const timer = setInterval(async () => {
    const { rss } = Deno.memoryUsage();
    if (giving || !memory.isWorthGiving(rss, performance.now())) return;
    giving = true;
    await giver.give();
    memory.given(rss, Deno.memoryUsage().rss);
    giving = false;
  }, LOOK_MS);
  Deno.unrefTimer(timer);
}
