/**
 * How many multiply-adds a clock the schedule of each kernel has to allow, and what it may lose to register banks: the
 * figures of CUDA 11.8, to a percent, as they stand, and those of 12.4 where they are others (clock_figures_12.ts). A
 * change that makes one worse fails; one that makes it better moves it there.
 *
 * @module
 */
import {
  type Budget,
  isAttentionDecode,
  isAttentionPrefill,
  isAttentionWide,
  isDecode,
  isPrefill,
  isRecurrence,
  isTiledDecode,
  RECURRENCE_KEYS,
  WEIGHT_TYPES,
} from "./budgets.ts";
import { DECODE_12, PREFILL_12, TILED_12 } from "./clock_figures_12.ts";
import type { Kernel } from "./kernels.ts";
import type { KernelClocks } from "./loops.ts";
import { bankShare, multiplyAddsAClock } from "./schedule.ts";

/** A share of the clocks that is aimed at, and the most that is held. */
export interface BankBudget {
  readonly aim: number;
  readonly most: number;
}

/** What a kernel's loops are held to. */
export interface ClockBudget {
  /** Multiply-adds a clock, in a turn with all that stands in it. */
  readonly turn: Budget;
  /** The same, each instruction as often as it runs. */
  readonly whole?: Budget;
  /** Clocks lost to banks. */
  readonly banks?: BankBudget;
}

/** By tensor type and tokens of a pass, four rows a lane: percent of a clock's multiply-adds, percent lost to banks. */
const DECODE: Record<string, Record<number, readonly [adds: number, banks: number]>> = {
  F32: { 1: [55, 26], 2: [52, 38], 4: [58, 38], 8: [60, 38] },
  F16: { 1: [25, 1], 2: [50, 0], 4: [91, 2], 8: [92, 4] },
  Q4_0: { 1: [39, 1], 2: [56, 1], 4: [71, 2], 8: [73, 11], 16: [85, 4] },
  Q4_1: { 1: [39, 0], 2: [55, 1], 4: [70, 1], 8: [72, 11], 16: [84, 2] },
  Q5_0: { 1: [34, 0], 2: [50, 0], 4: [66, 2], 8: [61, 24], 16: [85, 3] },
  Q5_1: { 1: [34, 0], 2: [50, 1], 4: [65, 2], 8: [61, 22], 16: [83, 2] },
  Q8_0: { 1: [38, 0], 2: [54, 1], 4: [71, 1], 8: [75, 8], 16: [86, 2] },
  Q2_K: { 1: [35, 0], 2: [51, 0], 4: [66, 1], 8: [63, 19], 16: [80, 3] },
  Q3_K: { 1: [31, 0], 2: [47, 1], 4: [64, 3], 8: [60, 23] },
  Q4_K: { 1: [32, 0], 2: [48, 1], 4: [66, 1], 8: [72, 7], 16: [83, 2] },
  Q5_K: { 1: [28, 1], 2: [44, 1], 4: [62, 1], 8: [69, 9], 16: [81, 2] },
  Q6_K: { 1: [32, 1], 2: [47, 1], 4: [65, 2], 8: [72, 9], 16: [84, 3] },
  IQ2_XXS: { 1: [26, 2], 4: [58, 1], 8: [65, 11] },
  IQ2_XS: { 1: [26, 1], 4: [57, 2], 8: [65, 10] },
  IQ3_XXS: { 1: [20, 1], 4: [49, 2], 8: [52, 21] },
  IQ1_S: { 1: [37, 0], 4: [69, 2], 8: [64, 19] },
  IQ4_NL: { 1: [19, 2], 2: [31, 6], 4: [49, 2], 8: [50, 24] },
  IQ3_S: { 1: [18, 1], 4: [46, 2], 8: [50, 22] },
  IQ2_S: { 1: [28, 1], 4: [59, 2], 8: [66, 11] },
  IQ4_XS: { 1: [18, 2], 2: [30, 3], 4: [47, 2], 8: [58, 10] },
  IQ1_M: { 1: [36, 1], 4: [68, 3], 8: [77, 4] },
  BF16: { 1: [43, 0], 2: [60, 0], 4: [75, 2], 8: [79, 8] },
  TQ1_0: { 1: [39, 0], 4: [72, 1], 8: [76, 9] },
  TQ2_0: { 1: [39, 0], 4: [72, 1], 8: [76, 9] },
  MXFP4: { 1: [26, 1], 4: [57, 2], 8: [64, 12] },
  NVFP4: { 1: [26, 1], 4: [57, 2], 8: [64, 11] },
};
/** The same where weights of another type share the kernel, of types that it costs clocks. */
const DECODE_PAIR: typeof DECODE = {
  Q4_K: { 1: [33, 1], 2: [48, 1], 4: [65, 1] },
  Q5_K: { 1: [31, 1], 2: [47, 1], 4: [64, 3] },
};
/** What Q4_K and Q8_0 should lose to banks with 4 and 8 tokens. */
const BANKS_AIM = 0.03;
const BANKS_AIMED = { types: ["Q4_K", "Q8_0"], tokens: [4, 8] };

/**
 * By tensor type and tokens of a tile, experts' products among them: percent of a clock's multiply-adds, in a turn of
 * the inner loop and with each instruction as often as it runs.
 */
const PREFILL: Record<string, Record<number, readonly [turn: number, whole: number]>> = {
  F32: { 32: [38, 60], 64: [61, 78], 128: [79, 84] },
  F16: { 32: [37, 57], 64: [61, 80], 128: [75, 83] },
  Q4_0: { 32: [47, 56], 64: [69, 80], 128: [78, 84] },
  Q4_1: { 32: [47, 57], 64: [69, 81], 128: [78, 84] },
  Q5_0: { 32: [47, 62], 64: [68, 79], 128: [77, 85] },
  Q5_1: { 32: [48, 62], 64: [69, 79], 128: [78, 85] },
  Q8_0: { 32: [47, 62], 64: [69, 80], 128: [76, 84] },
  Q2_K: { 32: [48, 60], 64: [69, 80], 128: [78, 85] },
  Q3_K: { 32: [47, 62], 64: [67, 80], 128: [76, 84] },
  Q4_K: { 32: [48, 62], 64: [68, 79], 128: [78, 84] },
  Q5_K: { 32: [48, 62], 64: [67, 79], 128: [78, 85] },
  Q6_K: { 32: [47, 62], 64: [67, 80], 128: [76, 84] },
  IQ2_XXS: { 32: [45, 61], 64: [66, 83], 128: [73, 83] },
  IQ2_XS: { 32: [46, 61], 64: [65, 82], 128: [75, 86] },
  IQ3_XXS: { 32: [43, 61], 64: [61, 81], 128: [70, 82] },
  IQ1_S: { 32: [45, 61], 64: [66, 83], 128: [74, 83] },
  IQ4_NL: { 32: [42, 56], 64: [59, 78], 128: [69, 82] },
  IQ3_S: { 32: [43, 61], 64: [59, 80], 128: [69, 82] },
  IQ2_S: { 32: [46, 61], 64: [67, 83], 128: [75, 83] },
  IQ4_XS: { 32: [40, 56], 64: [58, 78], 128: [69, 83] },
  IQ1_M: { 32: [46, 61], 64: [63, 81], 128: [73, 83] },
  BF16: { 32: [38, 60], 64: [61, 80], 128: [79, 84] },
  TQ1_0: { 32: [47, 62], 64: [69, 84], 128: [77, 84] },
  TQ2_0: { 32: [47, 62], 64: [69, 84], 128: [77, 84] },
  MXFP4: { 32: [47, 57], 64: [68, 80], 128: [75, 83] },
  NVFP4: { 32: [47, 57], 64: [67, 79], 128: [74, 83] },
};
/** What is aimed at in a turn of the inner loop, with whole tiles. */
const PREFILL_AIM = { tokens: 128, share: 0.86 };

/** The same by tensor type in the product of 17 to 32 decoded tokens. */
const TILED: Record<string, readonly [turn: number, whole: number]> = {
  F32: [83, 82],
  F16: [82, 82],
  BF16: [84, 82],
};
const TILED_AIM = 0.8;

/** Multiply-adds a clock, in percent, of attention to a cache of a type: by query heads of a block. */
const ATTENTION_DECODE: Record<string, Record<number, number>> = {
  F32: { 1: 18, 2: 20, 4: 28, 8: 32 },
  F16: { 1: 23, 2: 32, 4: 38, 8: 57 },
  Q8_0: { 1: 18, 2: 23, 4: 35, 8: 49 },
};
/** By warps that have the same heads. */
const ATTENTION_WIDE: Record<number, number> = { 1: 53, 4: 13 };
/** By the template argument that is a thread's columns in groups of four. */
const ATTENTION_PREFILL: Record<number, number> = { 1: 56, 2: 54, 4: 65, 8: 44 };
const RECURRENCE: Record<string, number> = { delta_rule_kernel: 61, selective_scan_kernel: 42 };

const held = (percent: number, aim = 0): Budget => ({
  aim: Math.max(aim, percent / 100),
  least: percent / 100,
});

/** What the schedule of a kernel is held to, by the CUDA that compiled it; undefined where nothing is asked. */
export function clockBudget(kernel: Kernel): ClockBudget | undefined {
  const [first, second, third, fourth, , sixth] = kernel.args;
  const type = WEIGHT_TYPES[first]?.name;
  const is12 = kernel.cuda === 12;
  const turn = (percent: number | undefined) =>
    percent === undefined ? undefined : { turn: held(percent) };
  if (isDecode(kernel)) {
    const shared = first === sixth ? undefined : DECODE_PAIR[type]?.[second];
    const figures = third === 4 && fourth === 0
      ? shared ?? (is12 ? DECODE_12[type]?.[second] : undefined) ?? DECODE[type]?.[second]
      : undefined;
    if (!figures) return undefined;
    const most = figures[1] / 100;
    const aimed = BANKS_AIMED.types.includes(type) && BANKS_AIMED.tokens.includes(second);
    return { turn: held(figures[0]), banks: { aim: aimed ? BANKS_AIM : most, most } };
  }
  if (isPrefill(kernel)) {
    const figures = (is12 ? PREFILL_12[type]?.[second] : undefined) ?? PREFILL[type]?.[second];
    if (!figures) return undefined;
    const aim = second === PREFILL_AIM.tokens ? PREFILL_AIM.share : undefined;
    return { turn: held(figures[0], aim), whole: held(figures[1]) };
  }
  if (isTiledDecode(kernel)) {
    const figures = (is12 ? TILED_12[type] : undefined) ?? TILED[type];
    return figures && { turn: held(figures[0], TILED_AIM), whole: held(figures[1]) };
  }
  if (isAttentionDecode(kernel)) return turn(ATTENTION_DECODE[type]?.[third]);
  if (isAttentionWide(kernel)) return turn(ATTENTION_WIDE[second]);
  if (isAttentionPrefill(kernel)) return turn(ATTENTION_PREFILL[third]);
  if (isRecurrence(kernel) && 4 * first * second >= RECURRENCE_KEYS) {
    return turn(RECURRENCE[kernel.base]);
  }
  return undefined;
}

/** A loop's clocks, and their budget: what is broken, and what is short of an aim. */
export function judgeClocks(
  { turn, whole }: KernelClocks,
  budget: ClockBudget,
): { broken: string[]; missed: string[] } {
  const broken: string[] = [];
  const missed: string[] = [];
  const percent = (share: number) => `${Math.round(share * 100)}%`;
  const atLeast = (share: number, { aim, least }: Budget, unit: string) => {
    if (share < least) broken.push(`wanted ${percent(least)} ${unit}`);
    else if (share < aim) missed.push(`aimed at ${percent(aim)} ${unit}`);
  };
  atLeast(multiplyAddsAClock(turn), budget.turn, "FFMA a clock");
  if (budget.whole) {
    atLeast(
      whole ? multiplyAddsAClock(whole) : 0,
      budget.whole,
      "FFMA a clock as often as all of it runs",
    );
  }
  if (budget.banks) {
    const share = bankShare(turn);
    const { aim, most } = budget.banks;
    if (share > most) broken.push(`wanted at most ${percent(most)} of the clocks lost to banks`);
    else if (share > aim) missed.push(`aimed at ${percent(aim)} of the clocks lost to banks`);
  }
  return { broken, missed };
}
