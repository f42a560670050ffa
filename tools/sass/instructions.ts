/**
 * What instructions of the M40's machine code (sm_52) cost: how many of a kind a multiprocessor issues a clock.
 *
 * Rates by kind are those of the CUDA C++ Programming Guide's table of arithmetic throughput for compute
 * capability 5.2.
 *
 * @module
 */

/** Warp instructions that the four schedulers issue a clock. */
const ISSUE = 4;

type Kind =
  | "fp32"
  | "logic"
  | "add"
  | "multiply"
  | "move"
  | "shift"
  | "compare"
  | "convert"
  | "special"
  | "shuffle"
  | "memory"
  | "control"
  | "other";

/** Threads a clock a multiprocessor. */
export const THREADS_A_CLOCK: Record<Kind, number> = {
  fp32: 128,
  logic: 128,
  add: 128,
  multiply: 128,
  move: 128,
  shift: 64,
  compare: 64,
  convert: 32,
  special: 32,
  shuffle: 32,
  memory: 32,
  control: 128,
  other: 128,
};

const KINDS: readonly (readonly [RegExp, Kind])[] = [
  [/^(FFMA|FADD|FMUL)/, "fp32"],
  [/^LOP/, "logic"],
  [/^(IADD|LEA|ISCADD)/, "add"],
  [/^XMAD/, "multiply"],
  [/^(SHL|SHR|SHF|BFE|BFI|PRMT)/, "shift"],
  [/^(ISETP|IMNMX|FSETP|FMNMX|ICMP|FCMP|SEL|PSETP|ISET|FSET)/, "compare"],
  [/^(I2F|F2F|F2I|I2I)/, "convert"],
  [/^MUFU/, "special"],
  [/^SHFL/, "shuffle"],
  [/^(LD|ST|TEX|TLD|ATOM|RED)/, "memory"],
  [/^(MOV|S2R|CS2R)/, "move"],
  [/^(BRA|SYNC|SSY|NOP|DEPBAR|BAR|EXIT|BRK|PBK|CAL|RET|PCNT|CONT|MEMBAR)/, "control"],
];

/** The kind of an instruction by its name with modifiers, "FFMA.FTZ". */
export function kindOf(name: string): Kind {
  return KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? "other";
}

/** 4-byte words a lane that a load or store moves. */
function words(name: string): number {
  return name.includes(".128") ? 4 : name.includes(".64") ? 2 : 1;
}

/** Clocks that shared memory is busy with an instruction of a warp: 128 bytes a clock. */
export function sharedClocks(name: string): number {
  return /^(LDS|STS)/.test(name) ? words(name) : 0;
}

/** Clocks that a multiprocessor takes for these instructions of one warp without other stalls. */
export function clocks(names: readonly string[]): number {
  const counts = new Map<Kind, number>();
  let shared = 0;
  for (const name of names) {
    const kind = kindOf(name);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    shared += sharedClocks(name);
  }
  const pipes = [...counts].map(([kind, n]) => n * 32 / THREADS_A_CLOCK[kind]);
  return Math.max(names.length / ISSUE, shared, ...pipes);
}
