/**
 * The clocks of the loops that kernels spend their time in, and a line on them.
 *
 * @module
 */
import {
  ATTENTION_LOOP_SHARE,
  isAttentionPrefill,
  isPrefill,
  isTiledDecode,
  PREFILL_INNER_TURNS,
  TILED_DECODE_INNER_TURNS,
} from "./budgets.ts";
import { ControlError } from "./control.ts";
import { hotRuns, type Kernel, nestedRuns, residentBlocks } from "./kernels.ts";
import { bankShare, type LoopClocks, loopClocks, multiplyAddsAClock } from "./schedule.ts";

/** What a kernel's schedule says. */
export interface KernelClocks {
  /** A turn of the loop with most of the multiply-adds, in which all that stands there runs. */
  readonly turn: LoopClocks;
  /** Where that loop lies in another one: both, each instruction as often as it runs. */
  readonly whole?: LoopClocks;
}

const SCHEDULERS = 4;

/** Warps of a kernel that one scheduler has at a time, undefined where the kernel does not say. */
function warpsAScheduler(kernel: Kernel): number | undefined {
  const blocks = residentBlocks(kernel);
  return blocks ? blocks * Math.ceil(kernel.threads / 32) / SCHEDULERS : undefined;
}

/**
 * Undefined where a kernel has no multiply-adds in a loop, or its listing no control words.
 *
 * @throws {ControlError} where a control word of its loops is malformed.
 */
export function kernelClocks(kernel: Kernel): KernelClocks | undefined {
  const runs = hotRuns(kernel, isAttentionPrefill(kernel) ? ATTENTION_LOOP_SHARE : undefined);
  if (!runs || runs.some(({ instruction }) => instruction.control === undefined)) return undefined;
  const warps = warpsAScheduler(kernel);
  const turns = isPrefill(kernel)
    ? PREFILL_INNER_TURNS
    : isTiledDecode(kernel)
    ? TILED_DECODE_INNER_TURNS
    : undefined;
  const nested = turns === undefined ? undefined : nestedRuns(kernel, turns);
  try {
    return { turn: loopClocks(runs, warps), whole: nested && loopClocks(nested, warps) };
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    throw new ControlError(`${kernel.name} ${error.message}`);
  }
}

const percent = (share: number, digits = 0) => `${(share * 100).toFixed(digits)}%`;

/** A line on a kernel's clocks. */
export function describeClocks({ turn, whole }: KernelClocks): string {
  const shares = (loop: LoopClocks) =>
    `${percent(multiplyAddsAClock(loop))} FFMA a clock, ${
      percent(bankShare(loop), 1)
    } lost to banks`;
  const line = `${Math.ceil(turn.clocks)} clocks a turn by ${turn.bound}, ${shares(turn)}; ` +
    `${turn.instructions} instructions in ${turn.slots} slots, banks ${turn.banks}, ` +
    `shared memory ${turn.shared}, stalls ${turn.stalls}, ${turn.waits} wait, ${turn.yields} yield`;
  return whole ? `${line}; as often as all of it runs: ${shares(whole)}` : line;
}
