import {
  type DeviceProgram,
  type KernelLibrary,
  ringBytes,
  type StepSequence,
} from "../device/mod.ts";
import type { TensorType } from "../gguf/mod.ts";
import { Random } from "./random.ts";
import { SmallPrograms, type Work } from "./small_programs.ts";
import { randomWeights } from "./weights.ts";

/** One library's side of the self-test: small programs over random numbers, the same for every library. */
export class Runner extends SmallPrograms {
  random = new Random(1);

  /** @throws {M40Error} "out_of_memory" where the device has no room, "device" where it cannot be used. */
  constructor(library: KernelLibrary, device: number, arenaBytes: number) {
    super(library.createContext({ device }), arenaBytes);
  }

  /** Begins a case: with random numbers of its own, and half of the memory at least. */
  begin(seed: number): void {
    this.random = new Random(seed);
    if (this.arena.usedBytes <= this.arenaBytes / 2) return;
    this.arena.close();
    this.arena = this.context.createArena(this.arenaBytes);
  }

  /** A vector or matrix of random floats. */
  floats(rows: number, columns: number, scale = 1): number {
    return this.tensor(this.random.floats(rows * columns, scale), rows, columns);
  }

  /** Random weights of a type, [experts, rows, columns]. */
  weights(type: TensorType, rows: number, columns: number, experts = 1): number {
    const data = randomWeights(type, experts * rows * columns, this.random);
    return this.blocks(type.id, data, rows, columns, experts);
  }

  /** A tensor's values as the library has them. */
  read(tensor: number, rows: number, columns: number): Float32Array {
    return this.context.readTensor(tensor, 0, rows, columns);
  }

  /** A program for these sequences: with the memory that they need alone. */
  override program({ sequences, limits, ...recipe }: Omit<Work, "inputs">): DeviceProgram {
    const tokens = sequences.reduce((sum, one) => sum + one.tokens.length, 0);
    const hasKvBlocks = recipe.cache !== undefined && recipe.cache.desc.n_layers > 0;
    const own = {
      n_tokens: tokens,
      n_sequences: Math.max(1, sequences.length),
      n_outputs: tokens,
      n_sequence_kv_blocks: hasKvBlocks ? 16 : 0,
    };
    return super.program({ ...recipe, limits: { ...own, ...limits } });
  }

  /** Has a program go from step to step by itself, with room for so many tokens. */
  openRuns(program: DeviceProgram, tokens: number): void {
    program.openRuns(this.context.hostMemory(ringBytes(tokens)));
  }
}

/** So many tokens of one prompt from a position on, each an output where that is wanted. */
export function prompt(tokens: number, more: Partial<StepSequence> = {}): StepSequence[] {
  return [{
    tokens: Array.from({ length: tokens }, (_, i) => i % 32),
    position: 0,
    kvBlocks: [],
    outputs: [],
    ...more,
  }];
}

/** So many decoded tokens, each of a sequence of its own. */
export function decoded(tokens: number): StepSequence[] {
  return Array.from({ length: tokens }, () => prompt(1, { decode: true })[0]);
}
