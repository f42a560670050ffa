/**
 * Where CUDA 12's code is held to other figures than CUDA 11's: those of 12.4, to a percent, as they stand.
 *
 * What it numbers registers by is not CUDA 11's, so that the same source loses more clocks to banks in one kernel and fewer
 * in another. Where it loses fewer, or as many, the figures of clock_budgets.ts hold.
 *
 * @module
 */

/** By tensor type and tokens of a pass, four rows a lane: percent of a clock's multiply-adds, percent lost to banks. */
export const DECODE_12: Record<string, Record<number, readonly [adds: number, banks: number]>> = {
  Q4_0: { 2: [61, 4] },
  Q4_1: { 4: [72, 4] },
  Q5_0: { 1: [48, 2], 4: [65, 9] },
  Q8_0: { 2: [57, 4], 4: [69, 2], 8: [71, 12] },
  Q2_K: { 2: [55, 4], 4: [68, 4], 8: [75, 6] },
  Q4_K: { 8: [75, 5] },
  Q5_K: { 4: [65, 4] },
  Q6_K: { 2: [46, 10] },
  IQ2_XS: { 4: [60, 1], 8: [73, 2] },
  IQ3_XXS: { 4: [56, 3] },
  IQ1_S: { 1: [37, 1], 8: [79, 2] },
  IQ4_NL: { 2: [40, 2], 8: [65, 4] },
  IQ3_S: { 4: [52, 4], 8: [63, 6] },
  IQ1_M: { 4: [69, 1] },
  BF16: { 1: [42, 0], 2: [59, 0] },
  TQ1_0: { 8: [81, 3] },
  TQ2_0: { 8: [81, 3] },
  MXFP4: { 8: [73, 5] },
  NVFP4: { 8: [73, 5] },
};

/**
 * By tensor type and tokens of a tile: percent of a clock's multiply-adds, in a turn of the inner loop and with each
 * instruction as often as it runs.
 */
export const PREFILL_12: Record<
  string,
  Record<number, readonly [turn: number, whole: number]>
> = {
  Q6_K: { 32: [46, 51] },
  IQ2_XXS: { 64: [66, 81] },
  IQ2_XS: { 64: [65, 80] },
  IQ3_XXS: { 64: [61, 79] },
  IQ1_S: { 64: [66, 81] },
  IQ3_S: { 64: [59, 79] },
  IQ2_S: { 32: [46, 56], 64: [67, 81] },
  IQ4_XS: { 64: [58, 77] },
  IQ1_M: { 32: [46, 56], 64: [63, 80] },
  TQ1_0: { 64: [69, 81] },
  TQ2_0: { 64: [69, 81] },
};

/** The same by tensor type in the product of 17 to 32 decoded tokens. */
export const TILED_12: Record<string, readonly [turn: number, whole: number]> = {
  F16: [81, 82],
  BF16: [83, 82],
};
