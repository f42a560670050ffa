import type { GivenOperation } from "./given_operation.ts";
import type { Runner } from "./runner.ts";

/** One thing that libraries compute and that is compared. */
export interface Case {
  /** The operation of m40.h that it is about. */
  readonly operation: GivenOperation["kind"];
  /** How it is used: `Q4_K, a prompt`. */
  readonly variant: string;
  /** By how much results may differ, of the largest value. */
  readonly tolerance?: number;
  /** Computes it; the same numbers on every library but for rounding. */
  compute(runner: Runner): Promise<Float32Array>;
}

/** How large things are: for a real device, or for the emulated one, which is slow. */
export interface Sizes {
  readonly rows: number;
  /** A multiple of 256, the largest block. */
  readonly columns: number;
  /** Tokens of a prompt. */
  readonly tokens: number;
  /**
   * Rows of a weight that gives each of a device's multiprocessors a thread block of 128: with fewer, decoded tokens share
   * fewer blocks, and kernels of many tokens are not run.
   */
  readonly rowsForAll: number;
}

/** How large things are for a device with so many multiprocessors. */
export function sizesFor(emulated: boolean, multiprocessors: number): Sizes {
  return { ...SIZES[emulated ? "emulated" : "device"], rowsForAll: 128 * multiprocessors };
}

const SIZES = {
  device: { rows: 1024, columns: 2048, tokens: 130 },
  emulated: { rows: 40, columns: 256, tokens: 34 },
};

/** The share of a device with which a prompt has one thread block at a time. */
export const LEAST_SHARE = 0.001;
