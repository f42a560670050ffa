import { NONE } from "../device/mod.ts";
import { handedOver } from "./cuts.ts";
import { cacheLayerOf, stateOf } from "./kept.ts";
import type { Operation } from "./operation.ts";
import { BUFFER_FIELDS, WEIGHT_FIELDS } from "./operations.generated.ts";
import type { Program } from "./program.ts";

/**
 * Consecutive operations of a program, as a program of its own: what they keep is its own, and what the operations before
 * them computed is given to it.
 */
export interface ProgramPart {
  readonly program: Program;
  /** Its buffers that hold what the part before computed for it, in that one's order; none of the first part. */
  readonly given: readonly number[];
  /** Its buffers that the next part goes on from; none of the last one. A row each is a token's. */
  readonly handed: readonly number[];
  /** The whole program's numbers of its cache layers and states, in the order of its own. */
  readonly cacheLayers: readonly number[];
  readonly states: readonly number[];
}

/**
 * Cuts a program into parts. One after the other they compute what the whole program does, to the bit: the operations are
 * the same.
 *
 * @param cuts Some of those that `cutsOf` finds, rising, something kept of a sequence between each two.
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
  const layers = new Renumbering(risingNumbers(operations.map(cacheLayerOf)));
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
    if (cacheLayerOf(operation) !== undefined) change("layer", layers);
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
