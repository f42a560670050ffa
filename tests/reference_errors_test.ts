import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { asBytes } from "../engine/device/context.ts";
import { stepBytes } from "../engine/device/step_block.ts";
import {
  BUFFER_DESC,
  CACHE_DESC,
  CONTEXT_OPTIONS,
  ERROR,
  LIMITS,
  NONE,
  OP,
  SAMPLE,
  SAMPLING,
  Status,
  STEP_HEADER,
  TENSOR_DESC,
} from "../engine/device/structs.ts";
import { encodeOperations, type Operation } from "../engine/program/operation.ts";
import { expertBuffer, outputBuffer, Random, TestDevice, tokenBuffer } from "./device_harness.ts";
import { smallModel, VOCAB } from "./small_model.ts";

// What is wrong is answered with a status and a message, and nothing is lost. The functions of m40.h are
// called directly here: engine/device/ would refuse much of this by itself.

type Bytes = Uint8Array<ArrayBuffer>;
type Answer = { status: number; message: string };

function answer(fn: (error: Bytes) => number): Answer {
  const error = new Uint8Array(ERROR.bytes);
  const status = fn(error);
  return { status, message: ERROR.read(new DataView(error.buffer)).message };
}

async function answerAsync(fn: (error: Bytes) => Promise<number>): Promise<Answer> {
  const error = new Uint8Array(ERROR.bytes);
  const status = await fn(error);
  return { status, message: ERROR.read(new DataView(error.buffer)).message };
}

function assertAnswer(got: Answer, status: number, message: RegExp): void {
  assertMatch(got.message, message);
  assertEquals(got.status, status, got.message);
}

/** The small model in parts that a test can spoil before they are handed over. */
class Parts {
  readonly device = new TestDevice({ threads: 2 });
  readonly symbols = this.device.library.symbols;
  readonly handle = this.device.context.handle;
  readonly cache = this.device.cache({ n_layers: 2, n_kv_heads: 2, head_dim: 12, n_pages: 64 });
  readonly limits: Bytes;
  readonly buffers: Bytes;
  readonly ops: Bytes;
  private readonly operations: readonly Operation[];

  constructor() {
    const { ops, buffers } = smallModel(this.device, this.cache);
    this.operations = ops;
    const limits = {
      n_tokens: 16,
      n_sequences: 4,
      n_outputs: 8,
      n_sequence_pages: 8,
      n_vocab: VOCAB,
      reserved: 0,
    };
    this.limits = LIMITS.encode({ ...limits, step_bytes: BigInt(stepBytes(limits)) });
    this.buffers = new Uint8Array(buffers.length * BUFFER_DESC.bytes);
    buffers.forEach((buffer, i) => {
      BUFFER_DESC.write(new DataView(this.buffers.buffer), i * BUFFER_DESC.bytes, buffer);
    });
    // Tensors are uploaded in rising order, and none is used that was not.
    this.ops = encodeOperations(ops, Uint32Array.from({ length: 1000 }, (_, i) => i));
  }

  /** The words of the payload of the first record of that kind, or of the one after it, and so on. */
  record(kind: Operation["kind"], nth = 0): { index: number; view: DataView } {
    const index =
      this.operations.map((op, i) => op.kind === kind ? i : -1).filter((i) => i >= 0)[nth];
    return { index, view: new DataView(this.ops.buffer, index * OP.bytes + 8, 120) };
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
    const samples = new Uint8Array(8 * SAMPLE.bytes);
    return answerAsync((e) =>
      this.symbols.m40_step(program, block, BigInt(length), samples, 8, null, 0n, e)
    );
  }

  close(): void {
    this.device.close();
  }
}

async function withParts(test: (parts: Parts) => Promise<void> | void): Promise<void> {
  const parts = new Parts();
  try {
    await test(parts);
  } finally {
    parts.close();
  }
}

// Words of the arrays of the valid step below, from the block's start.
const HEADER = STEP_HEADER.bytes / 4;
const AT = {
  tokens: HEADER,
  positions: HEADER + 5,
  sequences: HEADER + 10,
  pages: HEADER + 15,
  outputs: HEADER + 19,
  sampling: HEADER + 21,
};
const COUNTS = AT.sampling + 32;
const BIASES = COUNTS + 4;
const MASKS = BIASES + 4;
const WORDS = MASKS + 4;

/** A step of two sequences (three tokens from 3 on, two from 0 on), two outputs, all sampling parts. */
function validStep(): { bytes: Bytes; words: Uint32Array; view: DataView } {
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
  });
  words.set([1, 2, 99, 4, 5], AT.tokens);
  words.set([3, 4, 5, 0, 1], AT.positions);
  words.set([1, 1, 1, 0, 0], AT.sequences);
  words.set([7, NONE, 63, 0], AT.pages);
  words.set([2, 4], AT.outputs);
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
    });
  }
  words.set([1, 2, 99, 0], COUNTS);
  words.set([5, 0, 6, 0], BIASES);
  words.set([NONE, NONE, NONE, NONE], MASKS);
  return { bytes: new Uint8Array(words.buffer), words, view };
}

Deno.test("records: what is wrong is named with its operation, what was got and what was wanted", async () => {
  const cases: [
    Operation["kind"],
    number,
    (view: DataView, word: (i: number, value: number) => void) => void,
    RegExp,
  ][] = [
    ["embed", 0, (_, w) => w(0, 99), /\(embed\): output is buffer 99: wanted one below 14/],
    ["embed", 0, (_, w) => w(0, 13), /output \(buffer 13\) has rows of outputs: wanted tokens/],
    ["embed", 0, (_, w) => w(0, 7), /output \(buffer 7\) has elements U32: wanted F32/],
    ["embed", 0, (_, w) => w(1, 5000), /table is tensor 5000, which does not exist/],
    ["embed", 0, (_, w) => w(1, NONE), /table is missing/],
    [
      "embed",
      0,
      (_, w) => w(3, 47),
      /table \(tensor \d+\) is \[1, 100, 48\]: wanted \[1, 100, 47\]/,
    ],
    ["embed", 0, (_, w) => w(3, 49), /has 48 columns: wanted at least 49/],
    ["embed", 0, (_, w) => w(3, 0), /output would have no columns/],
    [
      "embed",
      0,
      (view) => view.setFloat32(16, NaN, true),
      /scale is .*nan: wanted a finite number/,
    ],
    ["norm", 0, (_, w) => w(1, 12), /input has rows of tokens x 1, output of outputs x 1/],
    ["norm", 0, (_, w) => w(5, 2), /norm is 2: wanted 0 to 1/],
    ["norm", 0, (view) => view.setFloat32(28, -1, true), /epsilon is -1: wanted 0 or more/],
    ["matmul", 0, (_, w) => w(3, 4), /n_weights is 4: wanted 1 to 3/],
    ["matmul", 0, (_, w) => w(1, 1), /input and output are both buffer 1/],
    ["matmul", 0, (_, w) => w(2, 1), /a residual with 3 weights: wanted 1/],
    ["matmul", 0, (_, w) => w(15, 50), /the output columns of weights 1 and 2 overlap/],
    ["matmul", 0, (_, w) => w(16, 90), /output \(buffer 2\) has 96 columns: wanted at least 114/],
    [
      "matmul",
      0,
      (_, w) => w(11, 47),
      /weight \(tensor \d+\) is \[1, 48, 48\]: wanted \[1, 47, 48\]/,
    ],
    ["matmul", 0, (_, w) => w(11, 0), /rows\[0\] is 0/],
    ["rope", 0, (_, w) => w(1, 2), /layer 2: the cache has 2/],
    ["rope", 0, (_, w) => w(2, 5), /5 heads over 2 KV heads: wanted a multiple/],
    ["rope", 0, (_, w) => w(3, 1), /1 KV heads of dimension 12: the cache has 2 of 12/],
    ["rope", 0, (_, w) => w(2, 0xFFFFFFFE), /4294967294 heads, 2 KV heads/],
    [
      "rope",
      0,
      (_, w) => w(5, 13),
      /rope_dim is 13: wanted an even number from 2 to the head dimension, 12/,
    ],
    ["rope", 0, (_, w) => w(6, 3), /rope is 3: wanted 0 to 2/],
    ["rope", 0, (view) => view.setFloat32(48, 0, true), /freq_base is 0: wanted more than 0/],
    ["rope", 0, (view) => view.setFloat32(56, 1, true), /beta_fast is 0: wanted more than 0/],
    ["attention", 0, (_, w) => w(1, 2), /qkv and output are both buffer 2/],
    [
      "attention",
      0,
      (_, w) => w(3, 8),
      /qkv \(buffer 2\)|output \(buffer 3\) has 48 columns: wanted at least 96/,
    ],
    ["attention", 0, (view) => view.setFloat32(32, -2, true), /softcap is -2/],
    ["activation", 0, (_, w) => w(4, 71), /has 140 columns: wanted at least 142/],
    ["activation", 0, (_, w) => w(2, 4), /activation is 4: wanted 0 to 3/],
    ["activation", 0, (_, w) => w(3, 2), /gated is 2: wanted 0 to 1/],
    ["add", 0, (_, w) => w(1, 13), /a has rows of tokens x 1, b of outputs x 1/],
    ["select", 0, (_, w) => w(1, 1), /output \(buffer 1\) has rows of tokens: wanted outputs/],
    ["softcap", 0, (_, w) => w(2, 101), /has 100 columns: wanted at least 101/],
    ["route", 0, (_, w) => w(4, 5), /5 experts used of 4: wanted 1 to 4/],
    ["route", 0, (_, w) => w(1, 8), /experts \(buffer 8\) has elements F32: wanted U32/],
    ["expert_matmul", 0, (_, w) => w(3, 3), /n_weights is 3: wanted 1 or 2/],
    ["expert_matmul", 0, (_, w) => w(2, 5), /output has rows of tokens x 1: wanted experts x 2/],
    [
      "expert_matmul",
      0,
      (_, w) => w(6, 5),
      /weight \(tensor \d+\) is \[4, 70, 48\]: wanted \[5, 70, 48\]/,
    ],
    ["expert_sum", 0, (_, w) => w(5, 1), /input has rows of experts x 2: wanted experts x 1/],
    ["expert_sum", 0, (_, w) => w(1, 3), /^$/],
    ["sample", 0, (_, w) => w(1, 99), /99 columns: wanted the vocabulary's 100/],
  ];
  for (const [kind, nth, spoil, message] of cases) {
    await withParts(async (parts) => {
      const { view, index } = parts.record(kind, nth);
      spoil(view, (i, value) => view.setUint32(4 * i, value, true));
      const got = await parts.create();
      if (message.source === "^$") return assertEquals(got.status, Status.ok, got.message);
      assertAnswer(got, Status.invalidArgument, message);
      assertMatch(got.message, new RegExp(`^operation ${index} \\(${kind}\\): `));
    });
  }
});

Deno.test("records: unknown kinds, flags, a second sample operation, no operations, wrong buffers", async () => {
  const cases: [(parts: Parts) => void, number, RegExp][] = [
    [
      ({ ops }) => ops.set([14], 0),
      Status.invalidArgument,
      /kind 14 is not an operation of this ABI: wanted 1 to 13/,
    ],
    [({ ops }) => ops.set([0], 0), Status.invalidArgument, /kind 0 is not/],
    [({ ops }) => ops.set([1], 4), Status.invalidArgument, /flags are 0x1: wanted 0/],
    [
      (parts) => {
        const { index } = parts.record("sample");
        const at = index * OP.bytes;
        parts.ops.copyWithin(at - OP.bytes, at, at + OP.bytes);
      },
      Status.invalidArgument,
      /samples already: wanted one a program/,
    ],
    [({ buffers }) => buffers.set([3], 0), Status.invalidArgument, /buffer 0: rows is 3/],
    [
      ({ buffers }) => buffers.set([2], 4),
      Status.invalidArgument,
      /buffer 0: rows_factor is 2: wanted 1/,
    ],
    [
      ({ buffers }) => buffers.set([0, 0, 0, 0], 8),
      Status.invalidArgument,
      /buffer 0: columns is 0/,
    ],
    [({ buffers }) => buffers.set([2], 12), Status.invalidArgument, /buffer 0: element is 2/],
    [
      ({ buffers }) => buffers.fill(255, 8, 12),
      Status.outOfMemory,
      /a program of \d+ bytes does not fit the arena/,
    ],
    [({ limits }) => limits.fill(0, 0, 4), Status.invalidArgument, /limits of 0 tokens/],
    [({ limits }) => limits.fill(255, 0, 4), Status.outOfMemory, /does not fit the arena/],
    [
      ({ limits }) => limits.fill(255, 16, 20),
      Status.invalidArgument,
      /a vocabulary of 4294967295 tokens/,
    ],
    [
      ({ limits }) => limits.fill(0, 24, 32),
      Status.invalidArgument,
      /step_bytes is 0: wanted at least/,
    ],
    [
      ({ limits }) => limits.fill(255, 12, 16),
      Status.invalidArgument,
      /positions would not fit 32 bits/,
    ],
  ];
  for (const [spoil, status, message] of cases) {
    await withParts(async (parts) => {
      spoil(parts);
      assertAnswer(await parts.create(), status, message);
    });
  }
});

Deno.test("a program that uses the cache is refused without one", async () => {
  await withParts((parts) => {
    const out = new BigUint64Array(1);
    const got = answer((e) =>
      parts.symbols.m40_program_bytes(
        parts.handle,
        parts.limits,
        null,
        parts.buffers,
        parts.buffers.length / BUFFER_DESC.bytes,
        parts.ops,
        parts.ops.length / OP.bytes,
        asBytes(out),
        e,
      )
    );
    assertAnswer(got, Status.invalidArgument, /\(rope\): the program has no KV cache/);
  });
});

/** The word of a field of the step's header. */
const H = (field: keyof typeof STEP_HEADER.fields) => STEP_HEADER.fields[field].offset / 4;

const STEP_CASES: [(step: ReturnType<typeof validStep>) => void, RegExp][] = [
  [({ words }) => words[H("n_tokens")] = 17, /17 tokens: wanted at most 16/],
  [({ words }) => words[H("n_tokens")] = 0, /a step of 0 tokens/],
  [({ words }) => words[H("n_sequences")] = 5, /5 sequences: wanted at most 4/],
  [({ words }) => words[H("n_outputs")] = 9, /9 outputs: wanted at most 8/],
  [({ words }) => words[H("n_decode")] = 6, /6 decoded tokens in a step of 5 tokens/],
  [({ words }) => words[H("n_decode")] = 1, /token 1 of the step is the second of sequence 1/],
  [({ words }) => words[H("page_stride")] = 9, /9 pages a sequence: wanted at most 8/],
  [
    ({ words }) => words[H("page_stride")] = 8,
    /page 0 of sequence 1 is \d+: the KV cache has 64 pages/,
  ],
  [
    ({ words }) => words[H("page_stride")] = 1,
    /sequence 1 reaches position 5, page 1: its row of the page table has 1/,
  ],
  [
    ({ words }) => words[H("tokens")] = 65,
    /tokens at byte 65 of the step block: wanted a multiple of 4/,
  ],
  [
    ({ words }) => words[H("tokens")] = 0xFFFFFFFC,
    /tokens: 5 elements of 4 bytes from byte 4294967292 on do not fit/,
  ],
  [({ words }) => words[H("sampling")] = 4 * WORDS, /sampling: 2 elements of 64 bytes/],
  [
    ({ words }) => words[H("n_token_counts")] = 0xFFFFFFFF,
    /token_counts: 4294967295 elements of 8 bytes/,
  ],
  [({ words }) => words[H("n_token_biases")] = 0x20000000, /token_biases: 536870912 elements/],
  [({ words }) => words[H("n_masks")] = 0xFFFFFFFF, /masks: 17179869180 elements of 4 bytes/],
  [({ words }) => words[AT.tokens] = 100, /token 0 of the step is 100: wanted 0 to 99/],
  [({ words }) => words[AT.tokens + 4] = NONE, /token 4 of the step is -1/],
  [
    ({ words }) => words[AT.positions] = 32,
    /token 0 of the step has position 32: wanted one below 32/,
  ],
  [
    ({ words }) => words[AT.positions + 1] = 3,
    /token 1 of the step has position 3 after 3 of the same sequence/,
  ],
  [({ words }) => words[AT.positions + 2] = 31, /sequence 1 reaches position 31, page 7/],
  [
    ({ words }) => words[AT.sequences] = 2,
    /token 0 of the step is of sequence 2: wanted one below 2/,
  ],
  [
    ({ words }) => words[AT.sequences + 4] = 1,
    /token 4 of the step: the tokens of sequence 1 do not stand together/,
  ],
  [
    ({ words }) => words[AT.pages + 2] = 64,
    /page 0 of sequence 1 is 64: the KV cache has 64 pages/,
  ],
  [({ words }) => words[AT.pages + 3] = NONE, /page 1 of sequence 1 is 4294967295/],
  [({ words }) => words[AT.outputs + 1] = 5, /output 1 is of token 5: the step has 5 tokens/],
  [({ words }) => words[AT.outputs + 1] = 2, /output 1 is of token 2 after 2: wanted rising ones/],
  [({ words }) => words[COUNTS] = 100, /token count 0 is of token 100/],
  [({ words }) => words[BIASES + 2] = NONE, /token bias 1 is of token -1/],
  [
    ({ view }) => view.setFloat32(4 * BIASES + 4, Infinity, true),
    /token bias 0 is inf: wanted a finite number/,
  ],
  ...([
    ["temperature", -0.1, /output 1: temperature is -0.1: wanted a finite number, 0 or more/],
    ["temperature", NaN, /temperature is -?nan/],
    ["temperature", Infinity, /temperature is inf/],
    ["top_p", 0, /top_p is 0: wanted more than 0, at most 1/],
    ["top_p", 1.01, /top_p is 1.01/],
    ["min_p", -1, /min_p is -1: wanted 0 to 1/],
    ["min_p", 2, /min_p is 2/],
    ["repetition_penalty", 0, /repetition_penalty is 0: wanted a finite number above 0/],
    ["frequency_penalty", NaN, /frequency_penalty is -?nan/],
    ["presence_penalty", -Infinity, /presence_penalty is -inf/],
    ["n_top_logprobs", 21, /n_top_logprobs is 21: wanted 0 to 20/],
    ["mask", 1, /mask 1: the step has 1/],
    ["first_token_count", 2, /token counts 2 to 3: the step has 2/],
    ["n_token_counts", NONE, /token counts 1 to 4294967296: the step has 2/],
    ["first_token_bias", NONE, /token biases 4294967295 to 4294967297: the step has 2/],
  ] as [keyof typeof SAMPLING.fields, number, RegExp][]).map(
    ([field, value, message]): typeof STEP_CASES[number] => [
      ({ view }) => SAMPLING.write(view, 4 * AT.sampling + SAMPLING.bytes, { [field]: value }),
      message,
    ],
  ),
];

Deno.test("steps: every wrong count, offset, token, position, page and parameter is named", async () => {
  await withParts(async (parts) => {
    const created = await parts.create(async (program) => {
      assertEquals(await parts.step(program, validStep().bytes), {
        status: Status.ok,
        message: "",
      });
      for (const [spoil, message] of STEP_CASES) {
        const step = validStep();
        spoil(step);
        assertAnswer(await parts.step(program, step.bytes), Status.invalidArgument, message);
      }
      const { bytes } = validStep();
      assertAnswer(
        await parts.step(program, bytes, STEP_HEADER.bytes - 1),
        Status.invalidArgument,
        /a step block of 67 bytes: wanted at least the header's 68/,
      );
      assertAnswer(
        await parts.step(program, bytes, bytes.length - 1),
        Status.invalidArgument,
        /masks: 4 elements of 4 bytes .* do not fit/,
      );
      const most = Number(LIMITS.read(new DataView(parts.limits.buffer)).step_bytes);
      assertAnswer(
        await parts.step(program, new Uint8Array(most + 1)),
        Status.invalidArgument,
        /the program's step_bytes/,
      );
      const odd = new Uint8Array(bytes.length + 1).subarray(1);
      odd.set(bytes);
      assertAnswer(
        await parts.step(program, odd),
        Status.invalidArgument,
        /the step block starts at .*: wanted a multiple of 4/,
      );
      const { symbols } = parts;
      const few = await answerAsync((e) =>
        symbols.m40_step(
          program,
          bytes,
          BigInt(bytes.length),
          new Uint8Array(SAMPLE.bytes),
          1,
          null,
          0n,
          e,
        )
      );
      assertAnswer(few, Status.invalidArgument, /room for 1 samples: the step has 2 outputs/);
      const logits = await answerAsync((e) =>
        symbols.m40_step(
          program,
          bytes,
          BigInt(bytes.length),
          new Uint8Array(2 * SAMPLE.bytes),
          2,
          new Uint8Array(4),
          1n,
          e,
        )
      );
      assertAnswer(
        logits,
        Status.invalidArgument,
        /room for 1 logits: the step has 2 outputs of 100/,
      );
      assertEquals((await parts.step(program, bytes)).status, Status.ok, "the program still works");
    });
    assertEquals(created.status, Status.ok, created.message);
  });
});

Deno.test("steps after the arena of the weights was destroyed are refused", async () => {
  await withParts(async (parts) => {
    await parts.create(async (program) => {
      const arena = (parts.device.arena as unknown as { handle: Deno.PointerValue }).handle;
      parts.symbols.m40_arena_destroy(arena);
      assertAnswer(
        await parts.step(program, validStep().bytes),
        Status.invalidArgument,
        /an arena that the program uses has been destroyed/,
      );
    });
  });
});

Deno.test("an expert index that a buffer was given from outside is checked before it is used", async () => {
  const device = new TestDevice();
  try {
    const program = device.program({
      ops: [{
        kind: "expert_matmul",
        input: 0,
        experts: 1,
        output: 2,
        n_weights: 1,
        columns: 4,
        n_used: 1,
        n_experts: 2,
        weight: [device.tensor(new Float32Array(2 * 3 * 4), 2, 3, 4), NONE],
        rows: [3, 0],
        output_column: [0, 0],
      }],
      buffers: [tokenBuffer(4), { ...tokenBuffer(1), element: 1 }, expertBuffer(3, 1)],
    });
    program.writeBuffer(1, Uint32Array.of(2));
    let message = "";
    await program.step([{ tokens: [0], position: 0, pages: [], outputs: [] }], { sample: false })
      .catch((error) => message = error.message);
    assertMatch(message, /token 0 of the step goes to expert 2: wanted one below 2/);
  } finally {
    device.close();
  }
});

Deno.test("files: missing, a folder, too short, an offset beyond the end; the arena stays as it was", async () => {
  const folder = await Deno.makeTempDir();
  const device = new TestDevice({ arenaBytes: 4096 });
  try {
    const path = join(folder, "weights");
    await Deno.writeFile(path, new Uint8Array(1000));
    const { symbols } = device.library;
    const arena = (device.arena as unknown as { handle: Deno.PointerValue }).handle;
    const upload = (
      desc: Partial<Record<keyof typeof TENSOR_DESC.fields, number>>,
      file: string,
      offset: bigint,
    ) => {
      const tensor = Uint32Array.of(123);
      const encoded = TENSOR_DESC.encode({ type: 0, n_experts: 1, rows: 2, columns: 10, ...desc });
      const cPath = new TextEncoder().encode(file + "\0");
      return answerAsync((e) =>
        symbols.m40_tensor_from_file(arena, encoded, cPath, offset, asBytes(tensor), e)
      ).then((got) => {
        assertEquals(tensor[0], 123);
        assertEquals(device.arena.usedBytes, 0);
        return got;
      });
    };
    assertAnswer(
      await upload({}, join(folder, "none"), 0n),
      Status.io,
      /none cannot be opened: No such file/,
    );
    assertAnswer(
      await upload({}, folder, 0n),
      Status.io,
      /cannot be read at byte 0: Is a directory/,
    );
    assertAnswer(
      await upload({}, path, 960n),
      Status.io,
      /weights ends too early: wanted 80 bytes from byte 960 on, got 40/,
    );
    assertAnswer(
      await upload({}, path, 5000n),
      Status.io,
      /wanted 80 bytes from byte 5000 on, got 0/,
    );
    assertAnswer(
      await upload({}, path, 0xFFFFFFFFFFFFFFFFn),
      Status.io,
      /no file has 80 bytes from byte 18446744073709551615 on/,
    );
    assertAnswer(
      await upload({ rows: 1, type: 1 }, path, 990n),
      Status.io,
      /wanted 20 bytes from byte 990 on, got 10/,
    );
    assertAnswer(
      await upload({ type: 4 }, path, 0n),
      Status.unsupported,
      /tensor type 4 is not known; known are F32, F16/,
    );
    assertAnswer(
      await upload({ type: 8 }, path, 0n),
      Status.invalidArgument,
      /a Q8_0 row of 10 columns: wanted a positive multiple of 32/,
    );
    assertAnswer(
      await upload({ rows: 0 }, path, 0n),
      Status.invalidArgument,
      /1 experts, 0 rows and 10 columns: none of them may be 0/,
    );
    assertAnswer(
      await upload({ rows: 103 }, path, 0n),
      Status.outOfMemory,
      /a tensor of 4160 bytes does not fit the arena: 4096 of its 4096 bytes are free/,
    );
    assertAnswer(
      await upload({ rows: NONE, n_experts: NONE, columns: NONE }, path, 0n),
      Status.invalidArgument,
      /more than 2\^48 bytes/,
    );
    // A pipe without a writer must not make the call wait for one.
    const pipe = join(folder, "pipe");
    if ((await new Deno.Command("mkfifo", { args: [pipe] }).output()).success) {
      assertAnswer(await upload({}, pipe, 0n), Status.io, /pipe cannot be read/);
    }
  } finally {
    device.close();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("contexts, arenas, host memory, caches and buffers refuse what is out of range", async () => {
  await withParts(async (parts) => {
    const { symbols, handle, cache } = parts;
    const out = new BigUint64Array(1);
    const place = asBytes(out);
    const context = (
      options: Partial<{ device: number; n_threads: number; instruction_set: string }>,
    ) =>
      answer((e) =>
        symbols.m40_context_create(
          CONTEXT_OPTIONS.encode({ device: 0, n_threads: 1, instruction_set: "", ...options }),
          place,
          e,
        )
      );
    assertAnswer(
      context({ device: 1 }),
      Status.invalidArgument,
      /device 1: the CPU library has device 0 alone/,
    );
    assertAnswer(
      context({ n_threads: 5000 }),
      Status.invalidArgument,
      /5000 threads: wanted at most 1024/,
    );
    assertAnswer(
      context({ instruction_set: "mmx" }),
      Status.unsupported,
      /instruction set "mmx": .* the best it has is "\w+"/,
    );
    assertAnswer(
      answer((e) =>
        symbols.m40_context_create(new Uint8Array(CONTEXT_OPTIONS.bytes).fill(65, 8), place, e)
      ),
      Status.invalidArgument,
      /instruction_set has no terminating zero/,
    );
    assertAnswer(
      answer((e) => symbols.m40_arena_create(handle, 1n << 60n, place, e)),
      Status.outOfMemory,
      /an arena of 1152921504606846976 bytes: the host has \d+ bytes/,
    );
    assertAnswer(
      answer((e) => symbols.m40_arena_create(handle, 0n, place, e)),
      Status.invalidArgument,
      /an arena of 0 bytes/,
    );
    assertAnswer(
      answer((e) => symbols.m40_arena_create(null, 1n, place, e)),
      Status.invalidArgument,
      /context is NULL/,
    );
    assertAnswer(
      answer((e) => symbols.m40_host_alloc(handle, 1n << 62n, place, e)),
      Status.outOfMemory,
      /bytes of host memory could not be had/,
    );
    assertEquals(out[0], 0n);

    const bytes = (desc: Partial<Record<keyof typeof CACHE_DESC.fields, number>>) =>
      answer((e) =>
        symbols.m40_cache_bytes(
          handle,
          CACHE_DESC.encode({ ...cache.desc, ...desc }),
          place,
          place,
          e,
        )
      );
    assertAnswer(
      bytes({ page_tokens: 3 }),
      Status.invalidArgument,
      /KV pages of 3 tokens: wanted a power of two/,
    );
    assertAnswer(
      bytes({ type: 12 }),
      Status.unsupported,
      /a KV cache of type Q4_K \(12\): wanted F32, F16 or Q8_0/,
    );
    assertAnswer(bytes({ type: 8 }), Status.invalidArgument, /a Q8_0 row of 12 columns/);
    assertAnswer(bytes({ n_pages: 0 }), Status.invalidArgument, /0 pages: none of them may be 0/);
    assertAnswer(
      bytes({ head_dim: NONE, n_layers: NONE }),
      Status.invalidArgument,
      /a KV page would take more than 2\^48 bytes/,
    );
    const pages = asBytes(Uint32Array.of(1, 64));
    assertAnswer(
      answer((e) => symbols.m40_cache_copy_pages(cache.handle, pages, pages, 2, e)),
      Status.invalidArgument,
      /from\[1\] is page 64: the KV cache has 64 pages/,
    );
    assertAnswer(
      answer((e) => symbols.m40_cache_save_pages(cache.handle, pages, 1, place, 8n, e)),
      Status.invalidArgument,
      /8 bytes for 1 pages: wanted \d+ a page/,
    );

    assertAnswer(
      answer((e) => symbols.m40_tensor_read(handle, 0, 99n, 2n, place, e)),
      Status.invalidArgument,
      /2 rows from row 99 on: the tensor has 100/,
    );
    assertAnswer(
      answer((e) => symbols.m40_tensor_read(handle, 4000, 0n, 1n, place, e)),
      Status.invalidArgument,
      /tensor 4000 does not exist/,
    );
    await parts.create((program) => {
      assertAnswer(
        answer((e) => symbols.m40_buffer_read(program, 14, place, 8n, e)),
        Status.invalidArgument,
        /buffer 14: the program has 14/,
      );
      assertAnswer(
        answer((e) => symbols.m40_buffer_write(program, 0, place, 3080n, e)),
        Status.invalidArgument,
        /3080 bytes of buffer 0: it has 3072/,
      );
      return Promise.resolve();
    });
  });
});

Deno.test("a message that is too long is cut between characters", async () => {
  const device = new TestDevice({ arenaBytes: 4096 });
  try {
    for (let shift = 0; shift < 4; shift++) {
      const path = "/" + "x".repeat(shift) + "€😀".repeat(200);
      let message = "";
      await device.arena.uploadFile({ type: 0, n_experts: 1, rows: 1, columns: 4 }, path, 0)
        .catch((error) => message = error.message);
      assert(message.length > 200, message);
      assert(
        path.startsWith(message),
        "what is left is a part of the path, without replacement characters",
      );
    }
  } finally {
    device.close();
  }
});

/** A value that a careless check would let through. */
function nasty(random: Random, before: number): number {
  const values = [
    0,
    1,
    2,
    3,
    NONE,
    NONE - 1,
    0x7FFFFFFF,
    0x80000000,
    0x7F800000,
    0x7FC00000,
    0xFF7FFFFF,
  ];
  const kind = random.below(values.length + 5);
  if (kind < values.length) return values[kind];
  return [before + 1, before - 1, before * 2, random.word(), before ^ (1 << random.below(32))][
    kind - values.length
  ] >>> 0;
}

Deno.test("4,000 spoiled steps are answered, and the program still works after each hundred", async () => {
  const random = new Random(20);
  await withParts(async (parts) => {
    const counts: Record<number, number> = {};
    await parts.create(async (program) => {
      for (let i = 0; i < 4000; i++) {
        const { words, bytes } = validStep();
        for (let n = 1 + random.below(3); n > 0; n--) {
          const at = random.below(3) === 0 ? random.below(HEADER) : random.below(words.length);
          words[at] = nasty(random, words[at]);
        }
        // A copy of the exact length, so that a sanitizer sees what is read beyond it.
        const length = random.below(10) === 0 ? random.below(bytes.length) : bytes.length;
        const got = await parts.step(program, bytes.slice(0, length));
        counts[got.status] = (counts[got.status] ?? 0) + 1;
        assert(got.status === Status.ok || got.message.length > 10);
        if (i % 100 === 0) {
          assertEquals((await parts.step(program, validStep().bytes)).status, Status.ok);
        }
      }
    });
    assert(
      counts[Status.ok] > 100 && counts[Status.invalidArgument] > 1000,
      JSON.stringify(counts),
    );
    const known = [Status.ok, Status.invalidArgument, Status.internal].map(String);
    assertEquals(Object.keys(counts).filter((status) => !known.includes(status)), []);
  });
});

Deno.test("4,000 spoiled programs are answered; those that are accepted can be run", async () => {
  const random = new Random(21);
  await withParts(async (parts) => {
    const counts: Record<number, number> = {};
    for (let i = 0; i < 4000; i++) {
      const saved = [parts.ops, parts.buffers, parts.limits].map((bytes) => bytes.slice());
      for (let n = 1 + random.below(2); n > 0; n--) {
        const kind = random.below(12);
        const bytes = kind === 0 ? parts.limits : kind === 1 ? parts.buffers : parts.ops;
        const words = new Uint32Array(bytes.buffer);
        let at = random.below(words.length);
        // Most of a record's words are not used: aim at the first twenty.
        if (bytes === parts.ops) at = Math.floor(at / 32) * 32 + random.below(20);
        words[at] = nasty(random, words[at]);
      }
      const got = await parts.create(async (program) => {
        const { status, message } = await parts.step(program, validStep().bytes);
        assert(
          [Status.ok, Status.invalidArgument, Status.internal].some((s) => s === status),
          message,
        );
      });
      counts[got.status] = (counts[got.status] ?? 0) + 1;
      assert(got.status === Status.ok || got.message.length > 10);
      [parts.ops, parts.buffers, parts.limits].forEach((bytes, k) => bytes.set(saved[k]));
    }
    assert(
      counts[Status.ok] > 100 && counts[Status.invalidArgument] > 1000,
      JSON.stringify(counts),
    );
    const known = [Status.ok, Status.invalidArgument, Status.outOfMemory].map(String);
    assertEquals(Object.keys(counts).filter((status) => !known.includes(status)), []);
  });
});

Deno.test("a program without a sample operation refuses to give samples or logits", async () => {
  const device = new TestDevice();
  try {
    const program = device.program({
      ops: [{ kind: "add", a: 0, b: 0, output: 0, columns: 4 }],
      buffers: [outputBuffer(4)],
    });
    for (
      const [options, wanted] of [[{}, /samples are asked for/], [
        { sample: false, logits: true },
        /logits are asked for/,
      ]] as const
    ) {
      let message = "";
      await program.step([{ tokens: [0], position: 0, pages: [], outputs: [{ row: 0 }] }], options)
        .catch((error) => message = error.message);
      assertMatch(message, wanted);
    }
  } finally {
    device.close();
  }
});
