/**
 * Small programs on a kernel library, for tests of single operations: the CPU library, or the one that
 * M40_TEST_BACKEND names ("emulated", "cuda").
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { asBytes } from "../engine/device/bytes.ts";
import type { Arena, Cache, Context, Executor } from "../engine/device/context.ts";
import type { BufferDesc, CacheDesc, Limits } from "../engine/device/descriptions.ts";
import { type Backend, KernelLibrary } from "../engine/device/library.ts";
import { DeviceProgram } from "../engine/device/device_program.ts";
import { stepBytes, type StepSequence } from "../engine/device/step_block.ts";
import { Element, Rows } from "../engine/device/structs.ts";
import { encodeOperations } from "../engine/program/operation.ts";
import { completed, type GivenOperation } from "./operations.ts";

/** The library that these tests are run on. */
export const BACKEND = (Deno.env.get("M40_TEST_BACKEND") ?? "cpu") as Backend;

/** What steps are run by in all contexts and engines of these tests, where M40_TEST_EXECUTOR says it ("launches", "graphs"). */
export const EXECUTOR = Deno.env.get("M40_TEST_EXECUTOR") as Executor | undefined;
if (EXECUTOR) {
  const { createContext } = KernelLibrary.prototype;
  KernelLibrary.prototype.createContext = function (options = {}) {
    return createContext.call(this, { ...options, executor: options.executor ?? EXECUTOR });
  };
}

/**
 * Where M40_TEST_DIGEST names a file, it gets a line for every result that the tests of this process see: two
 * runs that computed the same bits leave the same file.
 */
const digests = Deno.env.get("M40_TEST_DIGEST");
if (digests) recordResults(digests);

function recordResults(path: string): void {
  const file = Deno.openSync(path, { write: true, create: true, truncate: true });
  const encoder = new TextEncoder();
  /** FNV-1a over words, with what the result is of. */
  const record = (what: string, bytes: Uint8Array) => {
    let hash = 0x811C9DC5;
    for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    file.writeSync(encoder.encode(`${what} ${bytes.length} ${hash.toString(16)}\n`));
  };
  const { step, readBuffer } = DeviceProgram.prototype;
  DeviceProgram.prototype.step = async function (...args) {
    const result = await step.apply(this, args);
    for (const { status, sample, values } of result.outputs) {
      record("output", encoder.encode(JSON.stringify([status, sample ?? null])));
      if (values) record("values", asBytes(values as Float32Array<ArrayBuffer>));
    }
    return result;
  };
  DeviceProgram.prototype.readBuffer = function (buffer, data) {
    const values = readBuffer.call(this, buffer, data);
    record("buffer", asBytes(values));
    return values as typeof data;
  };
}

/** What a test program is made of. */
export interface Recipe {
  readonly ops: readonly GivenOperation[];
  readonly buffers: readonly BufferDesc[];
  readonly limits?: Partial<Limits>;
  readonly cache?: Cache;
}

/** A KV cache whose layers are alike, in one group. */
export interface EqualLayers {
  readonly n_layers: number;
  readonly n_kv_heads: number;
  readonly head_dim: number;
  /** Of V, where it is not that of K; 0: the first values of K. */
  readonly value_dim: number;
  readonly page_tokens: number;
  readonly n_pages: number;
  readonly type: number;
  /** Floats of each state of a sequence. */
  readonly states: readonly number[];
  readonly slots: number;
}

/** The description of such a cache: 16 pages of 4 tokens of one layer, where nothing else is said. */
export function cacheOf(desc: Partial<EqualLayers>): CacheDesc {
  const { n_layers = 1, n_kv_heads = 1, head_dim = 8 } = desc;
  const { value_dim = head_dim } = desc;
  const { page_tokens = 4, n_pages = n_layers === 0 ? 0 : 16, type = 0 } = desc;
  const { states = [], slots = 0 } = desc;
  const each = (value: number) => new Array<number>(n_layers).fill(value);
  return {
    ...{ n_layers, n_groups: Math.min(n_layers, 1), page_tokens, n_pages, type },
    n_kv_heads: each(n_kv_heads),
    head_dim: each(head_dim),
    value_dim: each(value_dim),
    group: each(0),
    states,
    slots,
  };
}

/** A context of the library with memory for small tensors and programs. */
export class TestDevice {
  readonly kernels: KernelLibrary;
  readonly context: Context;
  readonly arena: Arena;
  private nTensors = 0;

  constructor(
    options: {
      threads?: number;
      instructionSet?: string;
      executor?: Executor;
      arenaBytes?: number;
      /** The path of a library to take instead. */
      library?: string;
    } = {},
  ) {
    const { threads = 1, instructionSet, arenaBytes = 512 << 20, library } = options;
    const { executor = EXECUTOR } = options;
    this.kernels = library ? KernelLibrary.open(library) : KernelLibrary.find(BACKEND);
    try {
      this.context = this.kernels.createContext({ threads, instructionSet, executor });
      this.arena = this.context.createArena(arenaBytes);
    } catch (error) {
      // Such as an instruction set that the processor lacks.
      this.kernels.close();
      throw error;
    }
  }

  /** Uploads floats of shape [rows, columns] or [experts, rows, columns]; returns the tensor's index. */
  tensor(values: ArrayLike<number>, ...shape: number[]): number {
    const [columns, rows = 1, n_experts = 1] = shape.toReversed();
    assertEquals(values.length, columns * rows * n_experts);
    const data = new Uint8Array(Float32Array.from(values).buffer);
    this.nTensors++;
    return this.arena.upload({ type: 0, n_experts, rows, columns }, data);
  }

  /** Uploads blocks of a quantised type. */
  blocks(
    type: number,
    data: Uint8Array<ArrayBuffer>,
    rows: number,
    columns: number,
    n_experts = 1,
  ): number {
    this.nTensors++;
    return this.arena.upload({ type, n_experts, rows, columns }, data);
  }

  cache(desc: Partial<EqualLayers>): Cache {
    return this.arena.createCache(cacheOf(desc));
  }

  program({ ops, buffers, limits = {}, cache }: Recipe): DeviceProgram {
    const all = {
      n_tokens: 64,
      n_sequences: 16,
      n_outputs: 64,
      n_sequence_pages: 16,
      n_vocab: 32,
      lane: 0,
      ...limits,
    };
    const identity = Uint32Array.from({ length: this.nTensors }, (_, i) => i);
    return this.arena.createProgram({
      limits: { ...all, step_bytes: BigInt(stepBytes(all)) },
      buffers,
      ops: encodeOperations(ops.map(completed), identity),
    }, cache);
  }

  /** Runs one operation over as many tokens, all outputs, of one sequence; returns the buffers' values. */
  async compute(
    parts: Recipe,
    tokens: number,
    inputs: Record<number, Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>,
    output: { buffer: number; values: number },
  ): Promise<Float32Array> {
    const program = this.program(parts);
    for (const [buffer, values] of Object.entries(inputs)) {
      program.writeBuffer(Number(buffer), values);
    }
    await program.step([plainSequence(tokens)]);
    return program.readBuffer(output.buffer, new Float32Array(output.values));
  }

  close(): void {
    this.context.close();
    this.kernels.close();
  }
}

/** Runs a test with a device that is closed afterwards, however it ends. */
export async function withDevice(
  options: ConstructorParameters<typeof TestDevice>[0],
  test: (device: TestDevice) => Promise<void> | void,
): Promise<void> {
  const device = new TestDevice(options);
  try {
    await test(device);
  } finally {
    device.close();
  }
}

/** So many tokens 0 at positions 0, 1, ..., each an output; no pages. */
export function plainSequence(tokens: number): StepSequence {
  return {
    tokens: new Array(tokens).fill(0),
    position: 0,
    pages: [],
    outputs: Array.from({ length: tokens }, (_, row) => ({ row })),
  };
}

/**
 * What a program makes of tokens: of a prompt's, and of decoded ones, each of a sequence of its own. Fails where
 * their bits are not those of each token by itself.
 *
 * @param inputs What buffers hold, token after token; of the output's own, what is there before.
 * @returns The output's values, [prompt, decoded].
 */
export async function everyWay(
  device: TestDevice,
  recipe: Recipe,
  tokens: number,
  inputs: Record<number, Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>,
  output: number,
): Promise<Float32Array<ArrayBuffer>[]> {
  const program = device.program({
    ...recipe,
    limits: { n_tokens: tokens, n_sequences: tokens, n_outputs: tokens, ...recipe.limits },
  });
  const { columns, rows_factor } = recipe.buffers[output];
  const size = columns * rows_factor;
  const run = async (first: number, n: number, decode: boolean) => {
    for (const [buffer, values] of Object.entries(inputs)) {
      const each = values.length / tokens;
      program.writeBuffer(Number(buffer), values.slice(first * each, (first + n) * each));
    }
    const one = { ...plainSequence(1), decode: true };
    await program.step(decode ? new Array(n).fill(one) : [plainSequence(n)]);
    return program.readBuffer(output, new Float32Array(n * size));
  };
  const results = [];
  for (const decode of [false, true]) {
    const together = await run(0, tokens, decode);
    for (let t = 0; t < tokens; t++) {
      const alone = await run(t, 1, decode);
      const what = `token ${t} by itself, ${decode ? "decoded" : "of a prompt"}`;
      assertEquals(bitsOf(alone), bitsOf(row(together, t, size)), what);
    }
    results.push(together);
  }
  return results;
}

/** Floats as words: to compare what is not a number as well. */
export function bitsOf(values: Float32Array<ArrayBuffer>): Uint32Array {
  return new Uint32Array(values.slice().buffer);
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

/** Random numbers that are the same in every run: mulberry32. */
export class Random {
  constructor(private state: number) {}

  /** 0 to 2^32 - 1. */
  word(): number {
    this.state = (this.state + 0x6D2B79F5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** 0 to n - 1. */
  below(n: number): number {
    return this.word() % n;
  }

  /** Standard normal, each rounded to a float. */
  floats(n: number, scale = 1): Float32Array<ArrayBuffer> {
    return Float32Array.from({ length: n }, () => {
      const radius = Math.sqrt(-2 * Math.log((this.word() + 1) / 2 ** 32));
      return scale * radius * Math.cos(2 * Math.PI * this.word() / 2 ** 32);
    });
  }
}

/** Fails where any value is further from the wanted than `tolerance` of the largest wanted one. */
export function assertClose(
  got: ArrayLike<number>,
  wanted: ArrayLike<number>,
  tolerance = 2e-6,
): void {
  assertEquals(got.length, wanted.length);
  const scale = Math.max(...Array.from(wanted, Math.abs), 1e-30);
  for (let i = 0; i < wanted.length; i++) {
    const error = Math.abs(got[i] - wanted[i]) / scale;
    assert(error <= tolerance, `value ${i} is ${got[i]}, wanted ${wanted[i]} (error ${error})`);
  }
}

/** Row r of a matrix of so many columns. */
export function row<T extends Float32Array | number[]>(matrix: T, r: number, columns: number): T {
  return matrix.slice(r * columns, (r + 1) * columns) as T;
}

/** The sum of products, in float64. */
export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
