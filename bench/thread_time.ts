/**
 * The processor time of the thread that asks.
 *
 * @module
 */

/** Linux's clock of what the thread that asks has computed. */
const CLOCK_THREAD_CPUTIME_ID = 3;

/** The two words of the C library's answer: seconds, nanoseconds. */
const time = new BigInt64Array(2);

const libc = openLibc();

/** What the thread has computed, in milliseconds; the scheduler's own files are as coarse as its ticks. */
export function threadMs(): number {
  if (libc === undefined) return 0;
  libc.symbols.clock_gettime(CLOCK_THREAD_CPUTIME_ID, time);
  return Number(time[0]) * 1e3 + Number(time[1]) / 1e6;
}

function openLibc() {
  if (Deno.build.os !== "linux") return undefined;
  try {
    return Deno.dlopen("libc.so.6", {
      clock_gettime: { parameters: ["i32", "buffer"], result: "i32" },
    });
  } catch {
    return undefined;
  }
}
