/**
 * What m40.h defines and the CUDA sources do not compute yet. Who adds it takes its line out; with the last
 * line, this file goes.
 *
 * @module
 */
import { BACKEND } from "./device_harness.ts";

const MISSING_ON_GPU = [
  "activation",
  "head_matmul",
] as const;

/** Whether the library that is tested lacks this. */
export function lacks(feature: typeof MISSING_ON_GPU[number]): boolean {
  return BACKEND !== "cpu" && MISSING_ON_GPU.includes(feature);
}
