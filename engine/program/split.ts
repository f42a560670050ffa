import { NONE, Rows } from "../device/structs.ts";
import { type Access, BUFFER_FIELDS, buffersOf } from "./buffer_fields.ts";
import { type Operation, WEIGHT_FIELDS } from "./operation.ts";
import type { Program } from "./program.ts";
import { writesAll } from "./writes_all.ts";

/**
 * Consecutive operations of a program, as a program of its own: what they keep is its own, and what the operations before
 * them computed is given to it.
 */
export interface ProgramPart {
  readonly program: Program;
  /** Its buffers that hold what the part before hands over, in that one's order; none of the first part. */
  readonly given: readonly number[];
  /** Its buffers that the next part goes on from; none of the last one. A row each is a token's. */
  readonly handed: readonly number[];
  /** The whole program's numbers of its cache layers and states, in the order of its own. */
  readonly cacheLayers: readonly number[];
  readonly states: readonly number[];
}

/**
 * Where a program may be cut, as the numbers of the operations that then come first: on each side something is kept of a
 * sequence, nothing of it is of operations on both sides, and all that goes from one side to the other is rows of tokens that
 * the first part has written for sure.
 */
export function cutsOf(program: Program): number[] {
  const { operations, buffers } = program;
  const cuts: number[] = [];
  for (let cut = 1; cut < operations.length; cut++) {
    const before = new Set(operations.slice(0, cut).flatMap(keptBy));
    const after = operations.slice(cut).flatMap(keptBy);
    if (before.size === 0 || after.length === 0 || after.some((one) => before.has(one))) continue;
    const isFit = (buffer: number) =>
      buffers[buffer].rows === Rows.tokens && !mayBeLeftOut(operations.slice(0, cut), buffer);
    if (handedOver(program, cut).every(isFit)) cuts.push(cut);
  }
  return cuts;
}

/**
 * Whether a library may never write what operations last put into a buffer: it may do two of them in one, and leave out
 * what is between them where it sees nobody else read it (cuda/runtime/fusion.cu). Of the next part it sees nothing.
 */
function mayBeLeftOut(operations: readonly Operation[], buffer: number): boolean {
  const last = operations.findLastIndex((one) =>
    accessesTo(one, buffer).some((access) => access !== "reads")
  );
  const isRead = (one: Operation) => accessesTo(one, buffer).length > 0;
  const [next, ...later] = operations.slice(last + 1);
  return next !== undefined && isRead(next) && !later.some(isRead);
}

/** What an operation keeps of a sequence: its cache layer, or its state. */
function keptBy(operation: Operation): string[] {
  const [layer, state] = [layerOf(operation), stateOf(operation)];
  return [
    ...(layer === undefined ? [] : [`layer ${layer}`]),
    ...(state === undefined ? [] : [`state ${state}`]),
  ];
}

/** The buffers that operations before a cut write and those after it go on from, rising. */
export function handedOver({ operations, buffers }: Program, cut: number): number[] {
  const written = new Set<number>();
  for (const operation of operations.slice(0, cut)) {
    for (const { buffer, access } of buffersOf(operation)) {
      if (access !== "reads") written.add(buffer);
    }
  }
  const wanted = [...written].filter((buffer) => {
    for (const operation of operations.slice(cut)) {
      const accesses = accessesTo(operation, buffer);
      if (accesses.length === 0) continue;
      // What is written in part goes on from what was there.
      return accesses.some((access) => access !== "writes") ||
        !writesAll(operation, buffers[buffer].columns);
    }
    return false;
  });
  return wanted.sort((a, b) => a - b);
}

/**
 * Cuts a program into parts. One after the other they compute what the whole program does, to the bit: the operations are
 * the same.
 *
 * @param cuts Some of {@link cutsOf}, rising, something kept of a sequence between each two.
 */
export function splitProgram(program: Program, cuts: readonly number[]): ProgramPart[] {
  const ends = [...cuts, program.operations.length];
  return ends.map((end, i) => {
    const start = i === 0 ? 0 : ends[i - 1];
    const given = start === 0 ? [] : handedOver(program, start);
    const handed = end === program.operations.length ? [] : handedOver(program, end);
    return partOf(program, start, end, given, handed);
  });
}

function partOf(
  program: Program,
  start: number,
  end: number,
  given: readonly number[],
  handed: readonly number[],
): ProgramPart {
  const operations = program.operations.slice(start, end);
  const buffers = new Renumbering([...given, ...handed]);
  const weights = new Renumbering();
  const layers = new Renumbering(risingNumbers(operations.map(layerOf)));
  const states = new Renumbering(risingNumbers(operations.map(stateOf)));
  const renumbered = operations.map((operation) => {
    const values: Record<string, unknown> = { ...operation };
    const change = (field: string, numbers: Renumbering) => {
      const value = values[field] as number | readonly number[];
      values[field] = typeof value === "number"
        ? numbers.of(value)
        : value.map((one) => numbers.of(one));
    };
    for (const field of Object.keys(BUFFER_FIELDS[operation.kind])) change(field, buffers);
    for (const field of WEIGHT_FIELDS[operation.kind] ?? []) change(field, weights);
    if (layerOf(operation) !== undefined) change("layer", layers);
    if (stateOf(operation) !== undefined) change("state", states);
    return values as unknown as Operation;
  });
  return {
    program: {
      operations: renumbered,
      buffers: buffers.numbers.map((buffer) => program.buffers[buffer]),
      weights: weights.numbers.map((weight) => program.weights[weight]),
      cacheLayers: layers.numbers.map((layer) => program.cacheLayers[layer]),
      states: states.numbers.map((state) => program.states[state]),
    },
    given: given.map((buffer) => buffers.of(buffer)),
    handed: handed.map((buffer) => buffers.of(buffer)),
    cacheLayers: layers.numbers,
    states: states.numbers,
  };
}

/** Numbers of a whole program that a part of it uses: which, in the order of the part's own. */
class Renumbering {
  readonly numbers: number[] = [];
  private readonly own = new Map<number, number>();

  constructor(first: readonly number[] = []) {
    for (const number of first) this.of(number);
  }

  /** The part's own number. */
  of(number: number): number {
    if (number === NONE) return NONE;
    const known = this.own.get(number);
    if (known !== undefined) return known;
    this.own.set(number, this.numbers.length);
    return this.numbers.push(number) - 1;
  }
}

function risingNumbers(numbers: readonly (number | undefined)[]): number[] {
  return numbers.filter((one) => one !== undefined).sort((a, b) => a - b);
}

function layerOf(operation: Operation): number | undefined {
  return "layer" in operation && operation.layer !== NONE ? operation.layer : undefined;
}

function stateOf(operation: Operation): number | undefined {
  return "state" in operation ? operation.state : undefined;
}

function accessesTo(operation: Operation, buffer: number): Access[] {
  return buffersOf(operation).filter((one) => one.buffer === buffer).map(({ access }) => access);
}
