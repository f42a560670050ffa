/**
 * What Maxwell's own schedule says of a loop: the clocks that a turn of it takes one of a multiprocessor's four
 * schedulers for a warp. Memory and barriers are not waited for, so that an M40 takes at least that.
 *
 * @module
 */
import { type Control, ControlError, readControl } from "./control.ts";
import { kindOf, sharedClocks, THREADS_A_CLOCK } from "./instructions.ts";
import type { Instruction, Run } from "./kernels.ts";

/** A loop's clocks, a warp and scheduler. */
export interface LoopClocks {
  readonly instructions: number;
  /** Clocks in which instructions are issued: two that are paired take one. */
  readonly slots: number;
  readonly multiplyAdds: number;
  /** Clocks lost to operands that come from the same one of the four register banks. */
  readonly banks: number;
  /** Clocks of the multiprocessor's shared memory. */
  readonly shared: number;
  /** Clocks that the turn takes a warp that is alone. */
  readonly stalls: number;
  /** Instructions that wait for a barrier, and that yield to another warp. */
  readonly waits: number;
  readonly yields: number;
  /** What the turn takes. */
  readonly clocks: number;
  /** What it is bound by. */
  readonly bound: string;
}

/** The share of the clocks that is lost to banks. */
export const bankShare = ({ banks, clocks }: LoopClocks) => clocks === 0 ? 0 : banks / clocks;
/** Multiply-adds a clock: the share of the arithmetic that the loop allows. */
export const multiplyAddsAClock = ({ multiplyAdds, clocks }: LoopClocks) =>
  clocks === 0 ? 0 : multiplyAdds / clocks;

const SCHEDULERS = 4;
const BANKS = 4;
/** Kinds whose operands are read through the banks at the rate of arithmetic. */
const ARITHMETIC = ["fp32", "logic", "add", "multiply", "shift", "compare"];

/** The registers that an arithmetic instruction reads, by the index of its operand; RZ is none. */
export function operandRegisters({ operands }: Instruction): (number | undefined)[] {
  const all = operands.split(",").map((operand) => operand.trim());
  // Results come first: a register, a predicate and a register, or two predicates.
  const results = Math.max(
    1,
    Math.min(2, all.findIndex((operand) => !/^P[T\d]/.test(operand)) + 1),
  );
  const sources = all.slice(results);
  return sources.map((operand) => /^[-~|]*R(\d+)/.exec(operand)?.[1])
    .map((number) => number === undefined ? undefined : Number(number));
}

/** Clocks that are lost where registers of one bank are read: a bank gives one a clock. */
function conflicts(registers: readonly (number | undefined)[]): number {
  const wanted = new Set(registers.filter((register) => register !== undefined));
  const perBank = new Array<number>(BANKS).fill(0);
  for (const register of wanted) perBank[register % BANKS]++;
  return perBank.reduce((sum, n) => sum + Math.max(0, n - 1), 0);
}

function controlOf({ address, control }: Instruction): Control {
  try {
    return readControl(control ?? NaN);
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    throw new ControlError(`at 0x${address.toString(16)}: ${error.message}`);
  }
}

/**
 * Adds up a loop.
 *
 * @param runs Its instructions in order, and how often each runs.
 * @param warps Warps a scheduler, of which each waits for its own stalls; none are said: enough of them.
 * @throws {ControlError} where an instruction has no control, or none that there is.
 */
export function loopClocks(runs: readonly Run[], warps?: number): LoopClocks {
  const sums = { instructions: 0, slots: 0, multiplyAdds: 0, banks: 0, shared: 0, stalls: 0 };
  const signs = { waits: 0, yields: 0 };
  const pipes = new Map<number, number>();
  let kept: (number | undefined)[] = [];
  for (const { instruction, times } of runs) {
    const control = controlOf(instruction);
    const { name } = instruction;
    const kind = kindOf(name);
    sums.instructions += times;
    if (!control.paired) sums.slots += times;
    if (name.startsWith("FFMA")) sums.multiplyAdds += times;
    sums.shared += times * sharedClocks(name);
    sums.stalls += times * control.stall;
    if (control.waits.length > 0) signs.waits += times;
    if (control.yields) signs.yields += times;
    if (kind !== "memory") {
      const rate = THREADS_A_CLOCK[kind];
      pipes.set(rate, (pipes.get(rate) ?? 0) + times * 128 / rate);
    }
    if (!ARITHMETIC.includes(kind)) {
      kept = [];
      continue;
    }
    const registers = operandRegisters(instruction);
    sums.banks += times *
      conflicts(registers.map((register, i) => register === kept[i] ? undefined : register));
    kept = registers.map((register, i) => control.reuse[i] ? register : undefined);
  }
  const bounds: [string, number][] = [
    ["issue and banks", sums.slots + sums.banks],
    ["the half-rate pipe", pipes.get(64) ?? 0],
    ["the quarter-rate pipe", pipes.get(32) ?? 0],
    ["shared memory", SCHEDULERS * sums.shared],
  ];
  if (warps !== undefined) bounds.push([`stalls of ${warps} warps`, sums.stalls / warps]);
  const [bound, clocks] = bounds.reduce((worst, one) => one[1] > worst[1] ? one : worst);
  return { ...sums, ...signs, clocks, bound };
}
