/**
 * How Maxwell's assembler scheduled an instruction: the control words of sm_52.
 *
 * Of four 8-byte words of machine code the first is no instruction but says how the other three are issued, 21 bits each,
 * the first's lowest: stall (4 bits), no yield (1), write barrier (3), read barrier (3), barriers to wait for (6), reuse of
 * operands (4). S. Gray's maxas documents them.
 *
 * @module
 */

/** How one instruction is issued. */
export interface Control {
  /** Clocks until the warp's next instruction may be issued. */
  readonly stall: number;
  /** Whether the next one is issued in the same clock: a dual issue. */
  readonly paired: boolean;
  /** Whether the scheduler should rather go on with another warp. */
  readonly yields: boolean;
  /** The barrier, 0 to 5, that is set until its result is there. */
  readonly writeBarrier?: number;
  /** The barrier that is set until its operands have been read. */
  readonly readBarrier?: number;
  /** Barriers that it waits for. */
  readonly waits: readonly number[];
  /** By operand, in the order of the listing: whether its register's value is kept for the next instruction. */
  readonly reuse: readonly boolean[];
}

/** A control word that is none. */
export class ControlError extends Error {
  override name = "ControlError";
}

const BARRIERS = 6;
const NO_BARRIER = 7;
/** Operands of an instruction that come from registers, at most. */
export const OPERANDS = 3;

/**
 * The fields of the three instructions that a control word schedules, 21 bits each.
 *
 * @param word 16 hexadecimal digits.
 * @throws {ControlError} where that is no control word.
 */
export function controlFields(word: string): [number, number, number] {
  if (!/^[0-9a-f]{16}$/.test(word)) {
    throw new ControlError(`"${word}" is no control word: wanted 16 hexadecimal digits`);
  }
  const high = parseInt(word.slice(0, 8), 16);
  const low = parseInt(word.slice(8), 16);
  if (high >>> 31) {
    throw new ControlError(`0x${word} is no control word: its highest bit is set, wanted three 21`);
  }
  const mask = 0x1fffff;
  return [low & mask, (low >>> 21 | high << 11) & mask, high >>> 10 & mask];
}

function barrier(field: number, kind: string): number | undefined {
  if (field === NO_BARRIER) return undefined;
  if (field < BARRIERS) return field;
  throw new ControlError(
    `an instruction sets ${kind} barrier ${field}: there are 0 to 5, 7 is none`,
  );
}

/**
 * What a field of a control word says.
 *
 * @throws {ControlError} where a barrier or an operand is named that there is not.
 */
export function readControl(field: number): Control {
  if (!Number.isInteger(field) || field < 0 || field > 0x1fffff) {
    throw new ControlError(`an instruction's control is ${field}: wanted 21 bits`);
  }
  const reuse = field >> 17;
  if (reuse >> OPERANDS) {
    throw new ControlError("an instruction keeps a fourth operand: wanted three at most");
  }
  const stall = field & 15;
  const yields = (field >> 4 & 1) === 0;
  return {
    stall,
    // Padding has neither a stall nor a pair.
    paired: stall === 0 && !yields,
    yields,
    writeBarrier: barrier(field >> 5 & 7, "write"),
    readBarrier: barrier(field >> 8 & 7, "read"),
    waits: Array.from({ length: BARRIERS }, (_, i) => i).filter((i) => field >> 11 + i & 1),
    reuse: Array.from({ length: OPERANDS }, (_, i) => (reuse >> i & 1) === 1),
  };
}
