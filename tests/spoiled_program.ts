/**
 * A program and a step in the bytes that cross to the library, for tests that spoil them.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { asBytes } from "../engine/device/bytes.ts";
import type { Cache } from "../engine/device/context.ts";
import type { FieldLayout } from "../engine/device/struct.ts";
import { stepBytes } from "../engine/device/step_block.ts";
import {
  BUFFER_DESC,
  ERROR,
  LIMITS,
  NONE,
  OP,
  OPS,
  OutputKind,
  RESULT,
  SAMPLING,
  Status,
  STEP_HEADER,
} from "../engine/device/structs.ts";
import { encodeOperations, type Operation } from "../engine/program/operation.ts";
import { TestDevice } from "./device_harness.ts";
import { completed } from "./operations.ts";
import { smallModel, STATES, VOCAB, withStates } from "./small_model.ts";

export type Bytes = Uint8Array<ArrayBuffer>;
export type Answer = { status: number; message: string };

export function answer(fn: (error: Bytes) => number): Answer {
  const error = new Uint8Array(ERROR.bytes);
  const status = fn(error);
  return { status, message: ERROR.read(new DataView(error.buffer)).message };
}

export async function answerAsync(fn: (error: Bytes) => Promise<number>): Promise<Answer> {
  const error = new Uint8Array(ERROR.bytes);
  const status = await fn(error);
  return { status, message: ERROR.read(new DataView(error.buffer)).message };
}

export function assertAnswer(got: Answer, status: number, message: RegExp): void {
  assertMatch(got.message, message);
  assertEquals(got.status, status, got.message);
}

/** The small model in parts that a test can spoil before they are handed over. */
export class Parts {
  readonly device = new TestDevice({ threads: 2 });
  readonly symbols = this.device.kernels.symbols;
  readonly handle = this.device.context.handle;
  readonly cache: Cache;
  readonly limits: Bytes;
  readonly buffers: Bytes;
  readonly ops: Bytes;
  private readonly operations: readonly Operation[];

  /** @param states Whether the model has operations with a state, over three slots. */
  constructor(states = false) {
    this.cache = this.device.cache({
      ...{ n_layers: 2, n_kv_heads: 2, head_dim: 12, n_pages: 64 },
      ...states ? { states: STATES, slots: 3 } : {},
    });
    const plain = smallModel(this.device, this.cache);
    const { ops, buffers } = states ? withStates(this.device, plain) : plain;
    this.operations = ops.map(completed);
    const limits = {
      n_tokens: 16,
      n_sequences: 4,
      n_outputs: 8,
      n_sequence_pages: 8,
      n_vocab: VOCAB,
      lane: 0,
    };
    this.limits = LIMITS.encode({ ...limits, step_bytes: BigInt(stepBytes(limits)) });
    this.buffers = new Uint8Array(buffers.length * BUFFER_DESC.bytes);
    buffers.forEach((buffer, i) => {
      BUFFER_DESC.write(new DataView(this.buffers.buffer), i * BUFFER_DESC.bytes, buffer);
    });
    // Tensors are uploaded in rising order, and none is used that was not.
    this.ops = encodeOperations(this.operations, Uint32Array.from({ length: 1000 }, (_, i) => i));
  }

  /** The index of the first operation of the kind. */
  indexOf(kind: Operation["kind"]): number {
    return this.operations.findIndex((operation) => operation.kind === kind);
  }

  /** Changes fields ("rows", or "rows[1]") of the first operation of the kind; returns its index. */
  spoil(kind: Operation["kind"], fields: Record<string, number>): number {
    const index = this.indexOf(kind);
    const payload = index * OP.bytes + OP.fields.payload.offset;
    const view = new DataView(this.ops.buffer);
    for (const [name, value] of Object.entries(fields)) {
      const [, field, element = "0"] = name.match(/^(\w+)(?:\[(\d)\])?$/)!;
      const { type, offset } = (OPS[kind].fields as Record<string, FieldLayout>)[field];
      const at = payload + offset + 4 * Number(element);
      if (type === "f32") view.setFloat32(at, value, true);
      else view.setUint32(at, value, true);
    }
    return index;
  }

  /** Places the program in an arena of its own, runs `use`, and frees both. */
  async create(use?: (program: Deno.PointerValue) => Promise<void>): Promise<Answer> {
    const out = new BigUint64Array(1);
    const arena = answer((e) =>
      this.symbols.m40_arena_create(this.handle, 8n << 20n, asBytes(out), e)
    );
    assertEquals(arena.status, Status.ok, arena.message);
    const arenaHandle = Deno.UnsafePointer.create(out[0]);
    out[0] = 0n;
    const got = answer((e) =>
      this.symbols.m40_program_create(
        arenaHandle,
        this.limits,
        this.cache.handle,
        this.buffers,
        this.buffers.length / BUFFER_DESC.bytes,
        this.ops,
        this.ops.length / OP.bytes,
        asBytes(out),
        e,
      )
    );
    if (got.status === Status.ok) {
      const program = Deno.UnsafePointer.create(out[0]);
      await use?.(program);
      this.symbols.m40_program_destroy(program);
    } else {
      assertEquals(out[0], 0n, "a failure leaves the out parameter as it was");
      assertEquals(this.symbols.m40_arena_used_bytes(arenaHandle), 0n);
    }
    this.symbols.m40_arena_destroy(arenaHandle);
    return got;
  }

  step(program: Deno.PointerValue, block: Bytes, length = block.length): Promise<Answer> {
    const results = new Uint8Array(8 * RESULT.bytes);
    const values = new Float32Array(8 * VOCAB);
    const room = BigInt(values.length);
    return answerAsync((e) =>
      this.symbols.m40_step(program, block, BigInt(length), results, 8, asBytes(values), room, e)
    );
  }

  close(): void {
    this.device.close();
  }
}

export async function withParts(
  test: (parts: Parts) => Promise<void> | void,
  states = false,
): Promise<void> {
  const parts = new Parts(states);
  try {
    await test(parts);
  } finally {
    parts.close();
  }
}

// Words of the arrays of the valid step below, from the block's start.
export const HEADER = STEP_HEADER.bytes / 4;
export const AT = {
  tokens: HEADER,
  positions: HEADER + 5,
  sequences: HEADER + 10,
  pages: HEADER + 15,
  outputs: HEADER + 19,
  sampling: HEADER + 23,
};
export const COUNTS = AT.sampling + 2 * SAMPLING.bytes / 4;
export const BIASES = COUNTS + 4;
export const SLOTS = BIASES + 4;
export const MASKS = SLOTS + 4;
export const WORDS = MASKS + 4;

/** A step of two sequences (three tokens from 3 on, two from 0 on), two outputs, all sampling parts, a shaped draw. */
export function validStep(): { bytes: Bytes; words: Uint32Array; view: DataView } {
  const words = new Uint32Array(WORDS);
  const view = new DataView(words.buffer);
  STEP_HEADER.write(view, 0, {
    n_tokens: 5,
    n_sequences: 2,
    n_outputs: 2,
    n_decode: 0,
    page_stride: 2,
    tokens: 4 * AT.tokens,
    positions: 4 * AT.positions,
    sequences: 4 * AT.sequences,
    page_table: 4 * AT.pages,
    outputs: 4 * AT.outputs,
    sampling: 4 * AT.sampling,
    token_counts: 4 * COUNTS,
    n_token_counts: 2,
    token_biases: 4 * BIASES,
    n_token_biases: 2,
    masks: 4 * MASKS,
    n_masks: 1,
    states: 4 * SLOTS,
  });
  words.set([1, 2, 99, 4, 5], AT.tokens);
  words.set([3, 4, 5, 0, 1], AT.positions);
  words.set([1, 1, 1, 0, 0], AT.sequences);
  words.set([7, NONE, 63, 0], AT.pages);
  words.set([2, OutputKind.sample, 4, OutputKind.sample], AT.outputs);
  for (let i = 0; i < 2; i++) {
    SAMPLING.write(view, 4 * AT.sampling + i * SAMPLING.bytes, {
      temperature: 0.8,
      top_p: 0.9,
      min_p: 0.01,
      repetition_penalty: 1.1,
      frequency_penalty: 0.1,
      presence_penalty: 0.1,
      top_k: 40,
      n_top_logprobs: 3,
      seed_low: 1,
      counter: i,
      mask: i === 0 ? 0 : NONE,
      first_token_count: i,
      n_token_counts: 1,
      first_token_bias: 0,
      n_token_biases: 2,
      // The second is a shaped draw.
      typical_p: i === 0 ? 1 : 0.9,
      xtc_probability: 0.5 * i,
      xtc_threshold: 0.05 * i,
      dynatemp_range: 0.2 * i,
      dynatemp_exponent: 1.5,
      mirostat: 2 * i,
      mirostat_mu: 6 * i,
    });
  }
  words.set([1, 2, 99, 0], COUNTS);
  words.set([5, 0, 6, 0], BIASES);
  words.set([NONE, NONE, NONE, NONE], MASKS);
  words.set([NONE, 0, 1, 2], SLOTS);
  return { bytes: new Uint8Array(words.buffer), words, view };
}
