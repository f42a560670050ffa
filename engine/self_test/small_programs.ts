import {
  type Arena,
  type BufferDesc,
  type Cache,
  type CacheDesc,
  type Context,
  type DeviceProgram,
  Element,
  type Limits,
  Rows,
  stepBytes,
  type StepSequence,
  type TensorDesc,
} from "../device/mod.ts";
import { encodeOperations } from "../program/mod.ts";
import { completed, type GivenOperation } from "./given_operation.ts";

/** What a small program is made of. */
export interface Recipe {
  readonly ops: readonly GivenOperation[];
  readonly buffers: readonly BufferDesc[];
  readonly limits?: Partial<Limits>;
  readonly cache?: Cache;
}

/** A small program and what it is run on. */
export interface Work extends Recipe {
  /** What buffers hold at first. */
  readonly inputs: Readonly<Record<number, Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>>;
  readonly sequences: readonly StepSequence[];
}

/** A KV cache whose layers are alike, in one group. */
export interface EqualLayers {
  readonly n_layers: number;
  readonly n_kv_heads: number;
  readonly head_dim: number;
  /** Of V, where it is not that of K; 0: the first values of K. */
  readonly value_dim: number;
  readonly kv_block_tokens: number;
  readonly n_kv_blocks: number;
  readonly type: number;
  /** Floats of each state of a sequence. */
  readonly states: readonly number[];
  readonly slots: number;
}

/** The description of such a cache: 16 KV blocks of 4 tokens of one layer, where nothing else is said. */
export function cacheOf(desc: Partial<EqualLayers>): CacheDesc {
  const { n_layers = 1, n_kv_heads = 1, head_dim = 8 } = desc;
  const { value_dim = head_dim } = desc;
  const { kv_block_tokens = 4, n_kv_blocks = n_layers === 0 ? 0 : 16, type = 0 } = desc;
  const { states = [], slots = 0 } = desc;
  const each = (value: number) => new Array<number>(n_layers).fill(value);
  return {
    ...{ n_layers, n_groups: Math.min(n_layers, 1), kv_block_tokens, n_kv_blocks, type },
    n_kv_heads: each(n_kv_heads),
    head_dim: each(head_dim),
    value_dim: each(value_dim),
    group: each(0),
    states,
    slots,
  };
}

/** A context with memory for small tensors and programs: for the self-test, and for tests of single operations. */
export class SmallPrograms implements Disposable {
  arena: Arena;
  private tensors = 0;

  /** @throws {M40Error} "out_of_memory" where the device has no room. */
  constructor(readonly context: Context, protected readonly arenaBytes: number) {
    this.arena = this.context.createArena(arenaBytes);
  }

  /** Uploads floats of shape [rows, columns] or [experts, rows, columns]; returns the tensor's index. */
  tensor(values: ArrayLike<number>, ...shape: number[]): number {
    const [columns, rows = 1, experts = 1] = shape.toReversed();
    return this.blocks(0, new Uint8Array(Float32Array.from(values).buffer), rows, columns, experts);
  }

  /** Uploads blocks of a type (GGUF id), [experts, rows, columns], or a part of them. */
  blocks(
    type: number,
    data: Uint8Array<ArrayBuffer>,
    rows: number,
    columns: number,
    n_experts = 1,
    part?: TensorDesc["part"],
  ): number {
    const tensor = this.arena.upload({ type, n_experts, rows, columns, part }, data);
    this.tensors = tensor + 1;
    return tensor;
  }

  cache(desc: Partial<EqualLayers>): Cache {
    return this.arena.createCache(cacheOf(desc));
  }

  program({ ops, buffers, limits = {}, cache }: Recipe): DeviceProgram {
    const all = {
      n_tokens: 64,
      n_sequences: 16,
      n_outputs: 64,
      n_sequence_kv_blocks: 16,
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

  close(): void {
    this.context.close();
  }

  [Symbol.dispose](): void {
    this.close();
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
