import { M40Error } from "../errors.ts";
import {
  type Arena,
  type BufferDesc,
  type Cache,
  type Context,
  type DeviceProgram,
  Element,
  type KernelLibrary,
  type Limits,
  ringBytes,
  Rows,
  stepBytes,
  type StepSequence,
} from "../device/mod.ts";
import { GGML_TYPES, type TensorType } from "../gguf/mod.ts";
import { encodeOperations } from "../program/mod.ts";
import { completed, type GivenOperation } from "./given_operation.ts";
import { Random } from "./random.ts";
import { randomWeights } from "./weights.ts";

/** The type of floats. */
const F32 = GGML_TYPES[0];

/** A program and what it is run on. */
export interface Work {
  readonly ops: readonly GivenOperation[];
  readonly buffers: readonly BufferDesc[];
  /** What buffers hold at first. */
  readonly inputs: Readonly<Record<number, Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>>;
  readonly sequences: readonly StepSequence[];
  readonly limits?: Partial<Limits>;
  readonly cache?: Cache;
}

/** One library's side of the self-test: small programs over random numbers, the same for every library. */
export class Runner {
  random = new Random(1);
  private readonly context: Context;
  private arena: Arena;
  private tensors = 0;

  /** @throws {M40Error} "out_of_memory" where the device has no room, "device" where it cannot be used. */
  constructor(library: KernelLibrary, device: number, private readonly arenaBytes: number) {
    this.context = library.createContext({ device });
    this.arena = this.context.createArena(arenaBytes);
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
    return this.upload(
      F32,
      new Uint8Array(this.random.floats(rows * columns, scale).buffer),
      rows,
      columns,
    );
  }

  /** A vector of these floats. */
  vector(values: Float32Array<ArrayBuffer>): number {
    return this.upload(F32, new Uint8Array(values.buffer), 1, values.length);
  }

  /** Random weights of a type, [experts, rows, columns]. */
  weights(type: TensorType, rows: number, columns: number, experts = 1): number {
    const data = randomWeights(type, experts * rows * columns, this.random);
    return this.upload(type, data, rows, columns, experts);
  }

  /** A tensor's values as the library has them. */
  read(tensor: number, rows: number, columns: number): Float32Array {
    return this.context.readTensor(tensor, 0, rows, columns);
  }

  /** A cache of one layer with 16 KV blocks of 16 tokens, or of states in 4 slots. */
  cache(
    layer: { type: number; kvHeads: number; headDim: number; valueDim: number } | { state: number },
  ): Cache {
    const none = { n_kv_heads: [], head_dim: [], value_dim: [], group: [] };
    if ("state" in layer) {
      const counts = { n_layers: 0, n_groups: 0, kv_block_tokens: 16, n_kv_blocks: 0, type: 0 };
      return this.arena.createCache({ ...none, ...counts, states: [layer.state], slots: 4 });
    }
    return this.arena.createCache({
      ...{ n_layers: 1, n_groups: 1, kv_block_tokens: 16, n_kv_blocks: 16, type: layer.type },
      ...{ n_kv_heads: [layer.kvHeads], head_dim: [layer.headDim], value_dim: [layer.valueDim] },
      ...{ group: [0], states: [], slots: 0 },
    });
  }

  program({ ops, buffers, sequences, limits, cache }: Omit<Work, "inputs">): DeviceProgram {
    const tokens = sequences.reduce((sum, one) => sum + one.tokens.length, 0);
    const all = {
      n_tokens: tokens,
      n_sequences: Math.max(1, sequences.length),
      n_outputs: tokens,
      n_sequence_kv_blocks: cache === undefined || cache.desc.n_layers === 0 ? 0 : 16,
      n_vocab: 32,
      lane: 0,
      ...limits,
    };
    const identity = Uint32Array.from({ length: this.tensors }, (_, i) => i);
    return this.arena.createProgram({
      limits: { ...all, step_bytes: BigInt(stepBytes(all)) },
      buffers,
      ops: encodeOperations(ops.map(completed), identity),
    }, cache);
  }

  /** Runs a program once; the floats of a buffer afterwards. */
  async compute(work: Work, output: number, values: number): Promise<Float32Array<ArrayBuffer>> {
    const program = this.program(work);
    for (const [buffer, data] of Object.entries(work.inputs)) {
      program.writeBuffer(Number(buffer), data);
    }
    await program.step(work.sequences);
    return program.readBuffer(output, new Float32Array(values));
  }

  /** Has a program go from step to step by itself, with room for so many tokens. */
  openRuns(program: DeviceProgram, tokens: number): void {
    program.openRuns(this.context.hostMemory(ringBytes(tokens)));
  }

  close(): void {
    this.context.close();
  }

  private upload(
    type: TensorType,
    data: Uint8Array<ArrayBuffer>,
    rows: number,
    columns: number,
    n_experts = 1,
  ): number {
    const tensor = this.arena.upload({ type: type.id, n_experts, rows, columns }, data);
    if (tensor !== this.tensors) {
      throw new M40Error("internal", `tensor ${tensor} for ${this.tensors}`);
    }
    this.tensors++;
    return tensor;
  }
}

/** A buffer of floats, one row a token. */
export function tokenBuffer(columns: number): BufferDesc {
  return { rows: Rows.tokens, rows_factor: 1, columns, element: Element.f32 };
}

/** A buffer of floats, one row an output. */
export function outputBuffer(columns: number): BufferDesc {
  return { rows: Rows.outputs, rows_factor: 1, columns, element: Element.f32 };
}

/** A buffer of floats, one row a token and chosen expert. */
export function expertBuffer(columns: number, used: number): BufferDesc {
  return { rows: Rows.experts, rows_factor: used, columns, element: Element.f32 };
}

/** A buffer of indices, one row a token. */
export function indexBuffer(columns: number): BufferDesc {
  return { rows: Rows.tokens, rows_factor: 1, columns, element: Element.u32 };
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
