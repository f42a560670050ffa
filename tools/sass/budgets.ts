/**
 * What the machine code of each kernel has to allow on an M40.
 *
 * @module
 */
import type { Kernel } from "./kernels.ts";

/** Bytes a weight, as it is packed, by tensor type. */
export interface WeightType {
  readonly name: string;
  readonly bytes: number;
}

export const WEIGHT_TYPES: Record<number, WeightType> = {
  0: { name: "F32", bytes: 4 },
  1: { name: "F16", bytes: 2 },
  2: { name: "Q4_0", bytes: 18 / 32 },
  3: { name: "Q4_1", bytes: 20 / 32 },
  6: { name: "Q5_0", bytes: 22 / 32 },
  7: { name: "Q5_1", bytes: 24 / 32 },
  8: { name: "Q8_0", bytes: 34 / 32 },
  10: { name: "Q2_K", bytes: 84 / 256 },
  11: { name: "Q3_K", bytes: 110 / 256 },
  12: { name: "Q4_K", bytes: 144 / 256 },
  13: { name: "Q5_K", bytes: 176 / 256 },
  14: { name: "Q6_K", bytes: 210 / 256 },
  16: { name: "IQ2_XXS", bytes: 66 / 256 },
  17: { name: "IQ2_XS", bytes: 74 / 256 },
  18: { name: "IQ3_XXS", bytes: 98 / 256 },
  19: { name: "IQ1_S", bytes: 50 / 256 },
  20: { name: "IQ4_NL", bytes: 18 / 32 },
  21: { name: "IQ3_S", bytes: 112 / 256 },
  22: { name: "IQ2_S", bytes: 82 / 256 },
  23: { name: "IQ4_XS", bytes: 136 / 256 },
  29: { name: "IQ1_M", bytes: 56 / 256 },
  30: { name: "BF16", bytes: 2 },
  34: { name: "TQ1_0", bytes: 66 / 256 },
  35: { name: "TQ2_0", bytes: 66 / 256 },
  39: { name: "MXFP4", bytes: 17 / 32 },
  40: { name: "NVFP4", bytes: 36 / 64 },
};

/**
 * Products of decoded tokens: template arguments start with the tensor type, the tokens of a pass and the rows of a
 * lane.
 */
export function isDecode(kernel: Kernel): boolean {
  return kernel.base === "matmul_decode_kernel";
}

/**
 * Products of prompts, with experts' weights too: template arguments are the tensor type, the tokens of a tile, and
 * whether it is not ragged.
 */
export function isPrefill(kernel: Kernel): boolean {
  return kernel.base === "matmul_prefill_kernel" || kernel.base === "matmul_prefill_experts_kernel";
}

/**
 * Products of 17 to 32 decoded tokens with floating-point weights, through shared memory: the template argument is the
 * tensor type.
 */
export function isTiledDecode(kernel: Kernel): boolean {
  return kernel.base === "matmul_decode_tiled_kernel";
}

/** Attention of decoded tokens: template arguments are the cache's type, lanes a row and query heads a block. */
export function isAttentionDecode(kernel: Kernel): boolean {
  return kernel.base === "attention_decode_kernel";
}

/**
 * The same of long rows, and where V are not as long as K: template arguments are the cache's type and the warps that
 * have the same heads.
 */
export function isAttentionWide(kernel: Kernel): boolean {
  return kernel.base === "attention_wide_kernel";
}

/**
 * The delta rule and the selective scan: template arguments are a lane's keys in fours, the lanes that share columns,
 * and whether keys may be no whole fours.
 */
export function isRecurrence(kernel: Kernel): boolean {
  return kernel.base === "delta_rule_kernel" || kernel.base === "selective_scan_kernel";
}

/** Attention of prompts. */
export function isAttentionPrefill(kernel: Kernel): boolean {
  return kernel.base === "attention_prefill_kernel";
}

/**
 * The share of 288 GB/s that attention has to allow, by the cache's type. A byte of Q8_0 is twice the values of a
 * byte of F16, so that half the share is the same pace.
 */
export const CACHE_SHARE: Record<number, number> = { 0: 1.3, 1: 1.3, 8: 0.65 };
/**
 * Of the instructions of a prompt's attention, those that have to be multiply-adds. Its loop over positions has one for
 * q k and one for the weighted sum of v inside; the smaller is looked at. It has instructions that are seldom run.
 */
export const ATTENTION_ADD_SHARE = 0.5;
/**
 * The same of the wide attention of decoded tokens, by the warps that have the same heads: with many heads it is bound by
 * arithmetic; with few, by memory. Its loop has a second way through for short rows.
 */
export const WIDE_ADD_SHARE: Record<number, number> = { 1: 0.55, 4: 0.2 };
/** Such an inner loop has at least this share of the multiply-adds of the whole. */
export const ATTENTION_LOOP_SHARE = 0.25;

/**
 * Of the instructions that a token takes of a recurrence's warp, those that multiply and add: four a value of the state in
 * the delta rule, three in the selective scan. The shapes for fewer keys are for small models.
 */
export const RECURRENCE_SHARE: Budget = { aim: 0.8, least: 0.78 };
export const RECURRENCE_KEYS = 128;

/** Kernels that take a share of a step worth the word: they may not use local memory. */
export function isHot(kernel: Kernel): boolean {
  return /^(matmul|attention|rope|norm|sample|conv|delta_rule|selective_scan)/.test(kernel.base);
}

/** The types that most of the M40's users run. */
const BUDGETED = ["Q4_K", "Q6_K", "Q8_0", "Q4_0", "F16"];
/** What is aimed at, and what is held: code below `least` is a step back, and fails. */
export interface Budget {
  readonly aim: number;
  readonly least: number;
}

/** By tokens of a pass: the share of 288 GB/s that the instruction rate has to allow. */
const BANDWIDTH_SHARE: Record<number, Budget> = {
  1: { aim: 2, least: 1.85 },
  8: { aim: 0.55, least: 0.55 },
};
/**
 * With one token, of types that fewer run. (Loops count what opens a super block, which is wanted once in eight turns: 2%
 * to 5% of theirs.)
 */
const RARE_SHARE: Record<string, Budget> = {
  MXFP4: { aim: 1, least: 1 },
  NVFP4: { aim: 1, least: 1 },
  TQ1_0: { aim: 1, least: 1 },
  TQ2_0: { aim: 1, least: 1 },
  IQ1_S: { aim: 0.7, least: 0.7 },
  IQ1_M: { aim: 0.7, least: 0.69 },
  IQ2_XXS: { aim: 0.7, least: 0.7 },
  IQ2_XS: { aim: 0.7, least: 0.7 },
  IQ2_S: { aim: 0.7, least: 0.7 },
  IQ3_XXS: { aim: 0.7, least: 0.7 },
  IQ3_S: { aim: 0.7, least: 0.7 },
};
/**
 * Kernels of one token with fewer rows a lane are for cards whose multiprocessors outnumber a weight's thread blocks. An
 * M40 has 24 and does not run them with the weights of any model worth the measure.
 */
const FEW_ROWS: Budget = { aim: 1.05, least: 1.05 };
/**
 * With one token and an activation on the way, whose two functions are both in the loop though one of them is run: an
 * M40 has it in products alone that are too small to keep its multiprocessors at work.
 */
const ACTIVATES: Budget = { aim: 1.3, least: 1.25 };
/** Turns of the inner loop of a product of prompts, four columns each, in one of the outer. */
export const PREFILL_INNER_TURNS = 4;
/**
 * By tokens of a tile: of the instructions of a prefill loop, those that have to be multiply-adds. The smaller tiles
 * are for chunks of few tokens, which share a weight's unpacking among fewer.
 */
export const MULTIPLY_ADD_SHARE: Record<number, Budget> = {
  128: { aim: 0.85, least: 0.85 },
  64: { aim: 0.8, least: 0.78 },
  32: { aim: 0.7, least: 0.66 },
};

/** The same in the product of 17 to 32 decoded tokens. */
export const TILED_DECODE_INNER_TURNS = 2;
/** Of its loop's instructions, those that have to be multiply-adds. */
export const TILED_DECODE_ADD_SHARE: Budget = { aim: 0.8, least: 0.77 };

/** The prologue of decode kernels that is an activation: their fourth template argument. */
const ACTIVATION_PROLOGUE = 2;

/**
 * The share of the M40's bandwidth that a decode kernel has to allow, or undefined where none is asked.
 *
 * @param args Its template arguments.
 */
export function bandwidthBudget(type: WeightType, args: readonly number[]): Budget | undefined {
  const [, tokens, rows, prologue] = args;
  if (tokens === 1 && type.name in RARE_SHARE) return RARE_SHARE[type.name];
  if (!BUDGETED.includes(type.name)) return undefined;
  if (tokens !== 1) return BANDWIDTH_SHARE[tokens];
  if (rows < 4) return FEW_ROWS;
  return prologue === ACTIVATION_PROLOGUE ? ACTIVATES : BANDWIDTH_SHARE[tokens];
}
