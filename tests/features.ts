/**
 * Operations whose fields of version 6 of m40.h the CUDA sources do not look at yet. Who adds them takes the line and
 * the tests' `ignore` out; with the last line, this file goes.
 *
 * @module
 */
import { BACKEND } from "./device_harness.ts";

const MISSING_ON_GPU = [
  "head_matmul",
] as const;

/** Whether the library that is tested lacks this. */
export function lacks(feature: typeof MISSING_ON_GPU[number]): boolean {
  return BACKEND !== "cpu" && MISSING_ON_GPU.includes(feature);
}
