/**
 * The kernels of a library, out of what cuobjdump prints of it.
 *
 * @module
 */
import { ControlError, controlFields } from "./control.ts";

/** One instruction. */
export interface Instruction {
  readonly address: number;
  /** With modifiers: "LDG.E.128". */
  readonly name: string;
  /** Whether it depends on a predicate. */
  readonly predicated: boolean;
  readonly operands: string;
  /** How it is issued (control.ts reads it); undefined where the listing does not say. */
  readonly control?: number;
}

/** A kernel in the machine code of one architecture. */
export interface Kernel {
  /** "matmul_decode<12, 1>" */
  readonly name: string;
  readonly base: string;
  /** Template arguments that are integers. */
  readonly args: readonly number[];
  readonly instructions: Instruction[];
  registers: number;
  /** Bytes of shared memory that are fixed at compile time. */
  shared: number;
  /** The most threads that a block may have; 0 where the kernel does not say. */
  threads: number;
  /** The major version of the CUDA toolkit that compiled it; 0 where the listing does not say. */
  cuda: number;
}

/** The name and template arguments of a mangled function of namespace m40::cuda. */
export function parseName(mangled: string): { name: string; base: string; args: number[] } {
  // _ZN 3m40 4cuda [12_GLOBAL__N_1 or another] 13matmul_narrow I Lj12E Li1E E ...
  let rest = mangled.replace(/^_ZN/, "");
  let base = mangled;
  for (let match = /^(\d+)/.exec(rest); match; match = /^(\d+)/.exec(rest)) {
    const start = match[1].length;
    base = rest.slice(start, start + Number(match[1]));
    rest = rest.slice(start + Number(match[1]));
  }
  const list = /^I((?:L\w\w*?E)+)E/.exec(rest)?.[1] ?? "";
  const args = [...list.matchAll(/L[a-z](n?\d+)E/g)].map(([, n]) => Number(n.replace("n", "-")));
  return { name: args.length > 0 ? `${base}<${args.join(", ")}>` : base, base, args };
}

/** A control word and the three instructions that it schedules. */
const CONTROL_BYTES = 32;

/** Reads `cuobjdump -sass`, a line at a time; throws a ControlError where a control word is none. */
export class SassParser {
  readonly kernels = new Map<string, Kernel>();
  private current?: Kernel;
  /** The last word that stood in a line of its own: a control word, or the machine code of a pair's second half. */
  private word?: string;
  private controls: readonly (number | undefined)[] = [];

  push(line: string): void {
    const word = /^\s*\/\* 0x([0-9a-f]+) \*\/\s*$/.exec(line);
    if (word) {
      this.word = word[1];
      return;
    }
    const start = /Function : (\S+)/.exec(line);
    if (start) {
      const { name, base, args } = parseName(start[1]);
      this.current = {
        ...{ name, base, args, instructions: [] },
        ...{ registers: 0, shared: 0, threads: 0, cuda: 0 },
      };
      this.kernels.set(start[1], this.current);
      this.word = undefined;
      this.controls = [];
      return;
    }
    const match = /^\s*\/\*([0-9a-f]{4,})\*\/\s+(?:\{\s*)?(@!?P\d\s+)?([A-Z0-9][A-Z0-9_.]*)([^;]*)/
      .exec(
        line,
      );
    if (match && this.current) {
      const address = parseInt(match[1], 16);
      // A control word stands before the three instructions that it schedules.
      const place = address % CONTROL_BYTES / 8;
      if (place === 1) {
        this.controls = this.word === undefined ? [] : this.fields(this.word, address);
      }
      this.word = undefined;
      this.current.instructions.push({
        address,
        control: place === 0 ? undefined : this.controls[place - 1],
        predicated: match[2] !== undefined,
        name: match[3],
        operands: match[4],
      });
    }
  }

  private fields(word: string, address: number): readonly number[] {
    try {
      return controlFields(word);
    } catch (error) {
      if (!(error instanceof ControlError)) throw error;
      const place = `${this.current?.name} before 0x${address.toString(16)}`;
      throw new ControlError(`${place}: ${error.message}`);
    }
  }
}

/** Adds what `cuobjdump -res-usage` says: registers and shared memory. */
export function addResources(kernels: Map<string, Kernel>, usage: string): void {
  for (
    const [, name, registers, shared] of usage.matchAll(
      /Function (\S+?):\s+REG:(\d+).*?SHARED:(\d+)/g,
    )
  ) {
    const kernel = kernels.get(name);
    if (kernel) [kernel.registers, kernel.shared] = [Number(registers), Number(shared)];
  }
}

/** CUDA's major versions by those of the PTX that they write. */
const CUDA_OF_PTX: Record<string, number> = { 7: 11, 8: 12 };

/**
 * Reads from `cuobjdump -ptx`, a line at a time, how many threads the blocks of each kernel have, and whose PTX it is.
 */
export class PtxReader {
  private current?: Kernel;
  private cuda = 0;

  constructor(private readonly kernels: Map<string, Kernel>) {}

  push(line: string): void {
    const version = /^\.version (\d+)\.\d+/.exec(line);
    if (version) this.cuda = CUDA_OF_PTX[version[1]] ?? 0;
    const entry = /\.entry (\w+)/.exec(line);
    if (entry) {
      this.current = this.kernels.get(entry[1]);
      if (this.current) this.current.cuda = this.cuda;
    }
    const threads = /^\.maxntid (\d+), (\d+), (\d+)/.exec(line);
    if (threads && this.current) {
      this.current.threads = threads.slice(1).reduce((product, n) => product * Number(n), 1);
    }
  }
}

/** Loads and stores of local memory: registers that did not suffice, or arrays that cannot be in them. */
export function localAccesses(kernel: Kernel): number {
  return kernel.instructions.filter(({ name }) => /^(LDL|STL)/.test(name)).length;
}

/**
 * Bytes that a warp reads from global memory, apart from 4-byte words: those are tables of addresses. Halves are
 * scales of Q8_0, of which four lanes read the same.
 */
export function globalBytes(loop: Loop): number {
  const bytes = (name: string) =>
    name.includes(".128") ? 16 : name.includes(".64") ? 8 : name.includes(".U16") ? 2 / 4 : 0;
  return loop.filter((name) => name.startsWith("LDG"))
    .reduce((sum, name) => sum + 32 * bytes(name), 0);
}

/** The names of the instructions of a loop. */
export type Loop = readonly string[];

/** An instruction of a loop, and how often it runs. */
export interface Run {
  readonly instruction: Instruction;
  readonly times: number;
}

/** A loop: what lies between a jump back and where it goes. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** Where an instruction jumps to, or undefined. */
function jumpTarget({ name, operands }: Instruction): number | undefined {
  const target = name.startsWith("BRA") ? /0x([0-9a-f]+)/.exec(operands) : null;
  return target ? parseInt(target[1], 16) : undefined;
}

/** Where a jump goes is named before it, for some: SYNC by SSY, BRK by PBK, the innermost. */
const NAMED_BEFORE: Record<string, string> = { SYNC: "SSY", BRK: "PBK" };

function forwardJumps(instructions: readonly Instruction[]): Range[] {
  const named = instructions.filter(({ name }) => Object.values(NAMED_BEFORE).includes(name))
    .map(({ name, operands, address }) => ({
      name,
      address,
      to: parseInt(/0x([0-9a-f]+)/.exec(operands)?.[1] ?? "0", 16),
    }));
  const targetOf = (instruction: Instruction) => {
    const by = NAMED_BEFORE[instruction.name];
    if (by === undefined) return jumpTarget(instruction) ?? 0;
    const { address } = instruction;
    return Math.min(
      ...named.filter((place) => place.name === by && place.address < address && place.to > address)
        .map(({ to }) => to),
    );
  };
  return instructions.map((instruction) => ({
    from: instruction.address,
    to: targetOf(instruction),
  })).filter(({ from, to }) => to > from && Number.isFinite(to));
}

function inside({ from, to }: Range, address: number): boolean {
  return address >= from && address <= to;
}

function loopRanges(kernel: Kernel): Range[] {
  const ends = new Map<number, number>();
  for (const instruction of kernel.instructions) {
    const { address } = instruction;
    const to = jumpTarget(instruction);
    if (to === undefined) continue;
    // A jump to itself ends a kernel.
    if (to < address) ends.set(to, Math.max(ends.get(to) ?? 0, address));
  }
  return [...ends].map(([from, to]) => ({ from, to }));
}

/** How many of these are 32-bit floating-point multiply-adds. */
export function multiplyAdds(loop: Loop): number {
  return loop.filter((name) => name.startsWith("FFMA")).length;
}

/** The same, with multiplications: what has an operation a value. */
export function multiplications(loop: Loop): number {
  return loop.filter((name) => /^(FFMA|FMUL)/.test(name)).length;
}

/**
 * The loop that a kernel spends its time in: the smallest one that has a share of its multiply-adds, most of them if
 * nothing else is said. Loops inside it that have none (which look something up now and then) are left out.
 */
export function hotLoop(kernel: Kernel, share?: number): Loop | undefined {
  return hotRuns(kernel, share)?.map(({ instruction }) => instruction.name);
}

const isShuffle = (name: string) => name.startsWith("SHFL");

/** The same as instructions that run once each. */
export function hotRuns(kernel: Kernel, share = 1 / 2): Run[] | undefined {
  const ranges = loopRanges(kernel).map((range) => {
    const loop = kernel.instructions.filter(({ address }) => inside(range, address));
    const names = loop.map(({ name }) => name);
    return { range, loop, work: multiplyAdds(names), shuffles: names.some(isShuffle) };
  });
  // Attention of decoded tokens adds over lanes in each turn. The loop that adds the results of chunks does not, and
  // has as many multiply-adds as the one over positions has with few heads.
  const shuffles = kernel.base === "attention_decode_kernel" &&
    ranges.some(({ work, shuffles }) => work > 0 && shuffles);
  const worth = ranges.filter((range) => range.work > 0 && (range.shuffles || !shuffles));
  const most = Math.max(0, ...worth.map(({ work }) => work));
  const hot = worth.filter(({ work }) => work >= most * share)
    .sort((a, b) => a.loop.length - b.loop.length)[0];
  const idle = ranges.filter(({ work }) => work === 0).map(({ range }) => range);
  return hot?.loop.filter(({ address }) => !idle.some((range) => inside(range, address)))
    .map((instruction) => ({ instruction, times: 1 }));
}

/** Turns of an outer loop that nestedLoop() looks at: what stands within three branches runs in one of them. */
const OUTER_TURNS = 8;

/**
 * What eight turns of a kernel's outer loop run, where the loop inside it with most of the multiply-adds takes that
 * many turns: an instruction is named as often as it runs. What a forward jump in the inner loop passes over runs once
 * a turn of the outer; of the two sides of a branch, either runs in every second turn. Undefined where no loop lies
 * within another.
 */
export function nestedLoop(kernel: Kernel, innerTurns: number): Loop | undefined {
  return nestedRuns(kernel, innerTurns)?.flatMap(({ instruction, times }) =>
    new Array<string>(times).fill(instruction.name)
  );
}

/** The same as instructions and how often each runs. */
export function nestedRuns(kernel: Kernel, innerTurns: number): Run[] | undefined {
  const { instructions } = kernel;
  const within = (range: Range) => instructions.filter(({ address }) => inside(range, address));
  const loops = loopRanges(kernel)
    .map((range) => ({ range, work: multiplyAdds(within(range).map(({ name }) => name)) }));
  const most = Math.max(0, ...loops.map(({ work }) => work));
  const length = ({ range: { from, to } }: { range: Range }) => to - from;
  const sorted = loops.filter(({ work }) => work > 0 && work >= most / 2)
    .sort((a, b) => length(a) - length(b));
  const inner = sorted[0]?.range;
  const outer = sorted.find(({ range }) => range.from < inner.from && range.to > inner.to)?.range;
  if (!outer) return undefined;
  const passedOver = forwardJumps(within(inner)).filter(({ to }) => to <= inner.to);
  const sides = branchSides(within(outer));
  const around = (ranges: Range[], address: number) =>
    ranges.filter(({ from, to }) => address > from && address < to).length;
  return within(outer).map((instruction) => {
    const { address } = instruction;
    const always = inside(inner, address) && around(passedOver, address) === 0;
    const times = OUTER_TURNS * (always ? innerTurns : 2 ** -around(sides, address));
    return { instruction, times: Math.max(1, times) };
  });
}

/**
 * What lies between the jump to the other side of a branch and that side, and between that and where both meet: one
 * side ends with a jump that is always taken, the other begins right after it, and ends at the meeting place or with
 * a jump there.
 */
function branchSides(instructions: readonly Instruction[]): Range[] {
  const jumps = forwardJumps(instructions);
  const unconditional = instructions.filter(({ predicated }) => !predicated)
    .map(({ address }) => address);
  return jumps.filter(({ from }) => unconditional.includes(from)).flatMap((end) => {
    const next = instructions.find(({ address }) => address > end.from)?.address;
    // A target may be the word before an instruction that says how three are scheduled.
    const start = next === undefined || end.to <= next
      ? undefined
      : jumps.find(({ from, to }) => from < end.from && to > end.from && to <= next);
    if (!start) return [];
    const other = jumps.find(({ from, to }) =>
      from > end.from && to === end.to && unconditional.includes(from)
    );
    return [{ from: start.from, to: start.to }, { from: end.from, to: other?.from ?? end.to }];
  });
}

/**
 * Blocks that a multiprocessor of the M40 holds at a time (64 K registers, 96 KB of shared memory, 64 warps, 32
 * blocks), apart from shared memory that a launch asks for; undefined where the kernel does not say how many
 * threads its blocks have.
 */
export function residentBlocks(kernel: Kernel): number | undefined {
  if (kernel.threads === 0) return undefined;
  const warps = Math.ceil(kernel.threads / 32);
  const registers = Math.ceil(kernel.registers * 32 / 256) * 256 * warps;
  const shared = Math.ceil(kernel.shared / 256) * 256;
  return Math.min(
    32,
    Math.floor(64 / warps),
    registers > 0 ? Math.floor(65536 / registers) : 32,
    shared > 0 ? Math.floor(98304 / shared) : 32,
  );
}
