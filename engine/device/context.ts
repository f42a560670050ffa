import { M40Error } from "../errors.ts";
import { asBytes } from "./bytes.ts";
import {
  type CacheDesc,
  encodeCacheDesc,
  encodeTensorDesc,
  type Records,
  type TensorDesc,
} from "./descriptions.ts";
import { DeviceProgram } from "./device_program.ts";
import { DeviceQueue } from "./device_queue.ts";
import { SharedMemory } from "./shared_memory.ts";
import { call, callAsync } from "./status.ts";
import {
  BUFFER_DESC,
  CONTEXT_OPTIONS,
  Executor as Executors,
  Lane,
  LIMITS,
  OP,
} from "./structs.ts";
import type { Symbols } from "./symbols.ts";

/** How a context is made. */
export interface ContextOptions {
  /** Index of the device; 0 where absent. */
  device?: number;
  /** CPU only: threads; 0 or absent is one a physical core. */
  threads?: number;
  /** CPU only: "avx512", "avx2", "avx" or "baseline"; absent is the best there is. */
  instructionSet?: string;
  /** What steps that decode are run by; default "auto", what is measured to be faster. The CPU has launches alone. */
  executor?: Executor;
}

/** What steps that decode are run by: a launch for each operation, or a CUDA graph of them. */
export type Executor = keyof typeof Executors;
/** The names of what steps may be run by. */
export const EXECUTORS = Object.keys(Executors) as Executor[];

/** A device and the memory on it. */
export class Context {
  private pointer: Deno.PointerValue;
  /** Orders the calls; for engine/device/ alone. */
  readonly queue = new DeviceQueue();

  /**
   * @param symbols For engine/device/ alone.
   * @param hasOwnProcess Whether the functions are run in a process of their own.
   */
  constructor(
    readonly symbols: Symbols,
    options: ContextOptions,
    readonly hasOwnProcess = false,
  ) {
    const encoded = CONTEXT_OPTIONS.encode({
      device: options.device ?? 0,
      n_threads: options.threads ?? 0,
      executor: Executors[options.executor ?? "auto"],
      instruction_set: options.instructionSet ?? "",
    });
    this.pointer = created((out, error) => symbols.m40_context_create(encoded, out, error));
  }

  /** The C context; for engine/device/ alone. */
  get handle(): Deno.PointerValue {
    if (this.pointer === null) throw new M40Error("internal", "the context is closed");
    return this.pointer;
  }

  /** A block of device memory of that many bytes. */
  createArena(bytes: number): Arena {
    return new Arena(this, bytes);
  }

  /** Bytes that a tensor takes in an arena. */
  tensorBytes(desc: TensorDesc): number {
    const { symbols, handle } = this;
    const encoded = encodeTensorDesc(desc);
    const [bytes] = sizesOf(
      1,
      ([out], error) => symbols.m40_tensor_bytes(handle, encoded, out, error),
    );
    return bytes;
  }

  /** Bytes that a cache takes in an arena, and those of one KV block and of one slot in host memory. */
  cacheBytes(desc: CacheDesc): { bytes: number; kvBlockBytes: number; slotBytes: number } {
    const { symbols, handle } = this;
    const encoded = encodeCacheDesc(desc);
    const [bytes, kvBlockBytes, slotBytes] = sizesOf(
      3,
      ([all, kvBlock, slot], error) =>
        symbols.m40_cache_bytes(handle, encoded, all, kvBlock, slot, error),
    );
    return { bytes, kvBlockBytes, slotBytes };
  }

  /**
   * Bytes that a program takes in an arena; it ignores tensor indices. `cache` as {@link Arena.createProgram} has it.
   */
  programBytes(records: Records, cache?: CacheDesc): number {
    const encodedCache = cache === undefined ? null : encodeCacheDesc(cache);
    const encoded = encodeRecords(records);
    const [bytes] = sizesOf(
      1,
      ([out], error) =>
        this.symbols.m40_program_bytes(
          this.handle,
          encoded[0],
          encodedCache,
          ...encoded[1],
          out,
          error,
        ),
    );
    return bytes;
  }

  /**
   * Host memory that the device copies from and to without a staging copy, page-locked on a GPU. It is
   * the context's: the array must not be used after {@link close}.
   */
  hostMemory(bytes: number): Uint8Array<ArrayBuffer> {
    if (bytes === 0) return new Uint8Array(0);
    const pointer = created((out, error) =>
      this.symbols.m40_host_alloc(this.handle, BigInt(bytes), out, error)
    );
    return new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(pointer!, bytes));
  }

  /** Memory that other contexts have as well: the same bytes. It is the context's, as {@link hostMemory} is. */
  share(shared: SharedMemory): Uint8Array<ArrayBuffer> {
    const pointer = created((out, error) =>
      this.symbols.m40_host_share(this.handle, shared.handle, out, error)
    );
    return new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(pointer!, shared.bytes));
  }

  /** Has memory of {@link hostMemory} or {@link share} no more. */
  freeHostMemory(memory: Uint8Array<ArrayBuffer>): void {
    if (memory.length > 0) this.symbols.m40_host_free(this.handle, Deno.UnsafePointer.of(memory));
  }

  /** Memory for this context and others of the same library to {@link share}. */
  createShared(bytes: number): SharedMemory {
    return new SharedMemory(this.symbols, bytes);
  }

  /** Waits for all uploads; fails with the first failure among them. */
  finishUploads(): Promise<void> {
    return callAsync((error) => this.symbols.m40_upload_finish(this.handle, error));
  }

  /** The values of rows of a tensor as floats, [rows, columns] in one array. */
  readTensor(tensor: number, firstRow: number, rows: number, columns: number): Float32Array {
    const { symbols, handle } = this;
    const values = new Float32Array(rows * columns);
    const [first, count, size] = [firstRow, rows, values.length].map(BigInt);
    call((error) =>
      symbols.m40_tensor_read(handle, tensor, first, count, asBytes(values), size, error)
    );
    return values;
  }

  /** Frees the device's memory. No call may be under way. */
  close(): void {
    if (this.pointer === null) return;
    this.symbols.m40_context_destroy(this.pointer);
    this.pointer = null;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** A block of device memory: tensors, caches and programs are placed in it one after the other. */
export class Arena {
  private readonly handle: Deno.PointerValue;
  private readonly symbols: Symbols;

  constructor(private readonly context: Context, bytes: number) {
    this.symbols = context.symbols;
    this.handle = created((out, error) =>
      this.symbols.m40_arena_create(context.handle, BigInt(bytes), out, error)
    );
  }

  /** Frees the memory, and with it what was placed in it. No call may be under way. */
  close(): void {
    this.symbols.m40_arena_destroy(this.handle);
  }

  /** Bytes that are taken. */
  get usedBytes(): number {
    return Number(this.symbols.m40_arena_used_bytes(this.handle));
  }

  /**
   * Uploads a tensor from a file, from `offset` bytes on. The copy may still be under way when the
   * promise resolves: {@link Context.finishUploads} waits for it.
   *
   * @returns The tensor's index.
   */
  async uploadFile(desc: TensorDesc, path: string, offset: number): Promise<number> {
    const { symbols, handle } = this;
    const tensor = new Uint32Array(1);
    const encoded = encodeTensorDesc(desc);
    const cPath = new TextEncoder().encode(path + "\0");
    const [index, first] = [asBytes(tensor), BigInt(offset)];
    await callAsync(
      (error) => symbols.m40_tensor_from_file(handle, encoded, cPath, first, index, error),
      ...[encoded, cPath, index],
    );
    return tensor[0];
  }

  /** Uploads a tensor from memory, in the blocks of its type; returns its index. */
  upload(desc: TensorDesc, data: Uint8Array<ArrayBuffer>): number {
    const { symbols, handle } = this;
    const tensor = new Uint32Array(1);
    const [encoded, size, index] = [
      encodeTensorDesc(desc),
      BigInt(data.byteLength),
      asBytes(tensor),
    ];
    call((error) => symbols.m40_tensor_from_memory(handle, encoded, data, size, index, error));
    return tensor[0];
  }

  /** Places a KV cache, and the slots of states. */
  createCache(desc: CacheDesc): Cache {
    const encoded = encodeCacheDesc(desc);
    const handle = created((out, error) =>
      this.symbols.m40_cache_create(this.handle, encoded, out, error)
    );
    return new Cache(this.symbols, this.context.queue, handle, desc);
  }

  /** Checks a program's records and places its memory. `cache` may be absent where no operation uses it. */
  createProgram(records: Records, cache?: Cache): DeviceProgram {
    const ofCache = cache?.handle ?? null;
    const encoded = encodeRecords(records);
    const handle = created((out, error) =>
      this.symbols.m40_program_create(this.handle, encoded[0], ofCache, ...encoded[1], out, error)
    );
    // Steps of the lane of prompts are queued by themselves, concurrently with all other calls.
    const { queue, hasOwnProcess } = this.context;
    const own = records.limits.lane === Lane.prompts ? new DeviceQueue() : queue;
    return new DeviceProgram(this.symbols, own, handle, records, hasOwnProcess);
  }
}

/** KV blocks and slots of states on the device. */
export class Cache {
  constructor(
    private readonly symbols: Symbols,
    private readonly queue: DeviceQueue,
    readonly handle: Deno.PointerValue,
    readonly desc: CacheDesc,
  ) {}

  /** Copies KV block `from[i]` to KV block `to[i]`; the arrays must stay as they are until it is done. */
  async copyKvBlocks(from: Uint32Array<ArrayBuffer>, to: Uint32Array<ArrayBuffer>): Promise<void> {
    if (from.length !== to.length) {
      throw new M40Error(
        "internal",
        `got ${from.length} KV blocks to copy to ${to.length} KV blocks`,
      );
    }
    const [source, target] = [asBytes(from), asBytes(to)];
    await this.copy(
      (symbols, error) =>
        symbols.m40_cache_copy_kv_blocks(this.handle, source, target, from.length, error),
      [source, target],
    );
  }

  /**
   * Copies KV blocks, or slots of states, to host memory, bit for bit, in the order given; both must stay as they are
   * until it is done.
   */
  save(
    kept: "kvBlocks" | "slots",
    which: Uint32Array<ArrayBuffer>,
    memory: Uint8Array<ArrayBuffer>,
  ): Promise<void> {
    const name = kept === "slots" ? "m40_cache_save_slots" : "m40_cache_save_kv_blocks";
    return this.copyHost(name, which, memory);
  }

  /** Copies them back from host memory; as {@link save}. */
  restore(
    kept: "kvBlocks" | "slots",
    which: Uint32Array<ArrayBuffer>,
    memory: Uint8Array<ArrayBuffer>,
  ): Promise<void> {
    const name = kept === "slots" ? "m40_cache_restore_slots" : "m40_cache_restore_kv_blocks";
    return this.copyHost(name, which, memory);
  }

  private async copyHost(
    name: `m40_cache_${"save" | "restore"}_${"kv_blocks" | "slots"}`,
    which: Uint32Array<ArrayBuffer>,
    memory: Uint8Array<ArrayBuffer>,
  ): Promise<void> {
    const indices = asBytes(which);
    const size = BigInt(memory.byteLength);
    await this.copy(
      (symbols, error) => symbols[name](this.handle, indices, which.length, memory, size, error),
      [indices, memory],
    );
  }

  private copy(
    fn: (symbols: Symbols, error: Uint8Array<ArrayBuffer>) => Promise<number>,
    memory: readonly Uint8Array<ArrayBuffer>[],
  ): Promise<void> {
    return this.queue.run(() => callAsync((error) => fn(this.symbols, error), ...memory));
  }
}

/** A program's limits, and its buffers and operations with their numbers, as functions take them. */
function encodeRecords({ limits, buffers, ops }: Records) {
  const bytes = new Uint8Array(Math.max(1, buffers.length) * BUFFER_DESC.bytes);
  const view = new DataView(bytes.buffer);
  buffers.forEach((buffer, i) => BUFFER_DESC.write(view, i * BUFFER_DESC.bytes, buffer));
  const parts = [bytes, buffers.length, ops, ops.length / OP.bytes] as const;
  return [LIMITS.encode(limits), parts] as const;
}

/** Calls a function that leaves so many sizes, each in memory of its own. */
function sizesOf(
  count: number,
  ask: (out: Uint8Array<ArrayBuffer>[], error: Uint8Array<ArrayBuffer>) => number,
): number[] {
  const sizes = new BigUint64Array(count);
  call((error) => ask(Array.from(sizes, (_, i) => asBytes(sizes.subarray(i, i + 1))), error));
  return Array.from(sizes, Number);
}

/** Calls a create function and reads the pointer that it left. */
function created(
  create: (out: Uint8Array<ArrayBuffer>, error: Uint8Array<ArrayBuffer>) => number,
): Deno.PointerValue {
  const out = new BigUint64Array(1);
  call((error) => create(asBytes(out), error));
  return Deno.UnsafePointer.create(out[0]);
}
