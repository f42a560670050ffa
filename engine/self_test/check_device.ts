import type { KernelLibrary } from "../device/mod.ts";
import { M40Error } from "../errors.ts";
import { attentionCases } from "./attention_cases.ts";
import { type Case, sizesFor } from "./case.ts";
import { otherCases } from "./other_cases.ts";
import { productCases } from "./product_cases.ts";
import { Runner } from "./runner.ts";

/** Of the largest value, where a case says nothing else: both libraries add floats, in orders of their own. */
const TOLERANCE = 1e-4;
/** Memory on each side: twice what any case takes, so that it is emptied now and then. */
const ARENA_BYTES = { device: 640 * 2 ** 20, emulated: 48 * 2 ** 20 };

/** A case that did not give what it should. */
export interface Failure {
  readonly operation: string;
  readonly variant: string;
  /** What was wrong: a sentence. */
  readonly reason: string;
}

/** What the self-test came to. */
export interface SelfTest {
  readonly cases: number;
  /** Kinds of operations. */
  readonly operations: number;
  readonly seconds: number;
  readonly failures: readonly Failure[];
}

/** What is compared, by the device that it is run on: a Tesla M40 has 24 multiprocessors. */
export function selfTestCases(emulated: boolean, multiprocessors = 24): Case[] {
  const sizes = sizesFor(emulated, multiprocessors);
  return [...productCases(sizes), ...attentionCases(sizes), ...otherCases(sizes)];
}

/**
 * Computes every operation with two libraries over the same random numbers, and compares.
 *
 * @param tested The library that is tested, on a device of it.
 * @param reference The one that is right: the CPU's.
 * @param onProgress Called with how many cases are done, of how many.
 * @param cases Those to run; all by default.
 * @throws {M40Error} "device" or "out_of_memory" where the device cannot be used at all.
 */
export async function runSelfTest(
  tested: KernelLibrary,
  device: number,
  reference: KernelLibrary,
  onProgress: (done: number, of: number) => void = () => {},
  cases: readonly Case[] = selfTestCases(
    tested.backend === "emulated",
    tested.device(device).multiprocessors,
  ),
): Promise<SelfTest> {
  const start = performance.now();
  const bytes = ARENA_BYTES[tested.backend === "emulated" ? "emulated" : "device"];
  using right = new Runner(reference, 0, bytes);
  using own = new Runner(tested, device, bytes);
  const failures: Failure[] = [];
  for (const [i, one] of cases.entries()) {
    const reason = await compare(one, i, own, right);
    if (reason !== undefined) {
      failures.push({ operation: one.operation, variant: one.variant, reason });
    }
    onProgress(i + 1, cases.length);
  }
  return {
    cases: cases.length,
    operations: new Set(cases.map(({ operation }) => operation)).size,
    seconds: (performance.now() - start) / 1000,
    failures,
  };
}

/** What is wrong with a case's results; undefined where nothing is. */
async function compare(
  { compute, tolerance = TOLERANCE }: Case,
  seed: number,
  own: Runner,
  right: Runner,
): Promise<string | undefined> {
  right.begin(seed);
  const wanted = await compute(right);
  let got: Float32Array;
  try {
    own.begin(seed);
    got = await compute(own);
  } catch (error) {
    // A device that is lost fails every case from here on: each says so.
    if (error instanceof M40Error) return error.message;
    throw error;
  }
  return difference(got, wanted, tolerance);
}

/** Where values differ by more than a share of the largest wanted one. */
export function difference(
  got: Float32Array,
  wanted: Float32Array,
  tolerance: number,
): string | undefined {
  const largest = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-30);
  let wrong = 0;
  let first = -1;
  for (let i = 0; i < wanted.length; i++) {
    // What is not a number is wrong as well.
    if (Math.abs(got[i] - wanted[i]) <= tolerance * largest) continue;
    wrong++;
    if (first < 0) first = i;
  }
  if (wrong === 0) return undefined;
  return `${wrong} of ${wanted.length} values are wrong; number ${first} is ${got[first]}, wanted ${
    wanted[first]
  }`;
}
