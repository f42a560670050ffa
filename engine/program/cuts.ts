import { Rows } from "../device/mod.ts";
import { buffersOf } from "./buffer_fields.ts";
import { keptBy } from "./kept.ts";
import type { Program } from "./program.ts";
import { writesAll } from "./writes_all.ts";

/**
 * Where a program may be cut, as the numbers of the operations that then come first. On each side something is kept of
 * a sequence, and no kept state belongs to operations on both sides. Only rows of tokens that the first part surely
 * wrote cross the cut.
 */
export function cutsOf(program: Program): number[] {
  const { operations, buffers } = program;
  const uses = new BufferUses(program);
  const kept = new Map<string, { first: number; last: number }>();
  for (const [i, operation] of operations.entries()) {
    for (const one of keptBy(operation)) {
      kept.set(one, { first: kept.get(one)?.first ?? i, last: i });
    }
  }
  const spans = [...kept.values()];
  return operations.map((_, cut) => cut).filter((cut) =>
    spans.some(({ last }) => last < cut) &&
    spans.some(({ first }) => first >= cut) &&
    !spans.some(({ first, last }) => first < cut && last >= cut) &&
    uses.handedOver(cut).every((buffer) =>
      buffers[buffer].rows === Rows.tokens && !uses.mayBeLeftOut(buffer, cut)
    )
  );
}

/**
 * Of {@link cutsOf} the cheap ones, one between each two operations that keep something: where the fewest columns
 * cross. Of equal ones it takes the last, so that what follows a layer's attention stays with it.
 */
export function layerCutsOf(program: Program): number[] {
  const uses = new BufferUses(program);
  const columns = (cut: number) =>
    uses.handedOver(cut).reduce((sum, buffer) => sum + program.buffers[buffer].columns, 0);
  const best = new Map<number, { cut: number; columns: number }>();
  let keeping = 0;
  let counted = 0;
  for (const cut of cutsOf(program)) {
    for (; counted < cut; counted++) keeping += keptBy(program.operations[counted]).length;
    const one = { cut, columns: columns(cut) };
    const known = best.get(keeping);
    if (known === undefined || one.columns <= known.columns) best.set(keeping, one);
  }
  const found = [...best.values()];
  // Cuts within a layer pass on more than cuts between two.
  const least = Math.min(...found.map(({ columns }) => columns));
  return found.filter(({ columns }) => columns <= 2 * least).map(({ cut }) => cut);
}

/** The buffers that operations before a cut write and those after it go on from, rising. */
export function handedOver(program: Program, cut: number): number[] {
  return new BufferUses(program).handedOver(cut);
}

/** What the operations of a program do to its buffers, in their order. */
class BufferUses {
  /** Of each buffer the operations that use it, rising. */
  private readonly uses: readonly {
    readonly operation: number;
    readonly reads: boolean;
    readonly writes: boolean;
    readonly writesAll: boolean;
  }[][];

  constructor({ operations, buffers }: Program) {
    const uses: BufferUses["uses"] = buffers.map(() => []);
    for (const [i, operation] of operations.entries()) {
      const accesses = Map.groupBy(buffersOf(operation), ({ buffer }) => buffer);
      for (const [buffer, some] of accesses) {
        uses[buffer].push({
          operation: i,
          reads: some.some(({ access }) => access !== "writes"),
          writes: some.some(({ access }) => access !== "reads"),
          writesAll: writesAll(operation, buffers[buffer].columns),
        });
      }
    }
    this.uses = uses;
  }

  /** See {@link handedOver}. */
  handedOver(cut: number): number[] {
    return this.uses.flatMap((uses, buffer) => {
      if (!uses.some(({ operation, writes }) => writes && operation < cut)) return [];
      const next = uses.find(({ operation }) => operation >= cut);
      // What is written in part goes on from what was there.
      return next !== undefined && (next.reads || !next.writesAll) ? [buffer] : [];
    });
  }

  /**
   * Whether a library may skip writing what operations before a cut last put into a buffer. It may fuse two of them,
   * and leave out what is between them where no other operation reads it (cuda/gpu/fusion.cu). Of those behind the cut
   * it sees nothing.
   */
  mayBeLeftOut(buffer: number, cut: number): boolean {
    const before = this.uses[buffer].filter(({ operation }) => operation < cut);
    const last = before.findLastIndex(({ writes }) => writes);
    const readers = before.slice(last + 1);
    return readers.length === 1 && readers[0].operation === before[last].operation + 1;
  }
}
