import { assert, assertEquals } from "@std/assert";
import { asBytes } from "../../engine/device/bytes.ts";
import {
  LIMITS,
  NONE,
  OP,
  OutputKind,
  RESULT,
  SAMPLING,
  Status,
  STEP_HEADER,
} from "../../engine/device/structs.ts";
import {
  answer,
  answerAsync,
  assertAnswer,
  AT,
  BIASES,
  COUNTS,
  validStep,
  withParts,
  WORDS,
} from "../fixtures/spoiled_program.ts";
import { HIDDEN, VOCAB } from "../fixtures/small_model.ts";

// What is wrong with a step is answered with a message that names it.

/** The word of a field of the step's header. */
const H = (field: keyof typeof STEP_HEADER.fields) => STEP_HEADER.fields[field].offset / 4;

const STEP_CASES: [(step: ReturnType<typeof validStep>) => void, RegExp][] = [
  [({ words }) => words[H("n_tokens")] = 17, /17 tokens: wanted at most 16/],
  [({ words }) => words[H("n_tokens")] = 0, /a step of 0 tokens/],
  [({ words }) => words[H("n_sequences")] = 5, /5 sequences: wanted at most 4/],
  [({ words }) => words[H("n_outputs")] = 9, /9 outputs: wanted at most 8/],
  [({ words }) => words[H("n_decode")] = 6, /6 decoded tokens in a step of 5 tokens/],
  [
    ({ words }) => words[H("n_decode")] = 1,
    /token 1 of the step is of sequence 1, as is the one before it, the last of 1 decode rows/,
  ],
  [
    ({ words }) => words[H("n_decode")] = 4,
    /token 4 of the step is of sequence 0, as is the one before it, the last of 4 decode rows/,
  ],
  [
    ({ words }) => {
      words[H("n_decode")] = 3;
      words[AT.positions + 2] = 6;
    },
    /token 2 of the step, decoded, has position 6 after 4 of the same sequence: wanted the next one/,
  ],
  [({ words }) => words[H("kv_block_stride")] = 9, /9 KV blocks a sequence: wanted at most 8/],
  [
    ({ words }) => words[H("kv_block_stride")] = 8,
    /KV block 0 of sequence 1 is \d+: the KV cache has 64 KV blocks/,
  ],
  [
    ({ words }) => words[H("kv_block_stride")] = 1,
    /sequence 1 reaches position 5, KV block 1: its row of the block table has 1/,
  ],
  [
    ({ words }) => words[H("tokens")] = 65,
    /tokens at byte 65 of the step block: wanted a multiple of 4/,
  ],
  [
    ({ words }) => words[H("tokens")] = 0xFFFFFFFC,
    /tokens: 5 elements of 4 bytes from byte 4294967292 on do not fit/,
  ],
  [({ words }) => words[H("sampling")] = 4 * WORDS, /sampling: 2 elements of 96 bytes/],
  [
    ({ words }) => words[H("n_token_counts")] = 0xFFFFFFFF,
    /token_counts: 4294967295 elements of 8 bytes/,
  ],
  [({ words }) => words[H("n_token_biases")] = 0x20000000, /token_biases: 536870912 elements/],
  [({ words }) => words[H("n_masks")] = 0xFFFFFFFF, /masks: 17179869180 elements of 4 bytes/],
  [({ words }) => words[H("prefill_share")] = 1001, /prefill_share is 1001: wanted at most 1000/],
  [
    // Each of them fits the block, but only where they share bytes.
    ({ words }) => {
      words[H("token_counts")] = words[H("token_biases")] = 0;
      words[H("n_token_counts")] = words[H("n_token_biases")] = WORDS >> 1;
    },
    /token counts, token biases and masks take \d+ bytes together: the step block has \d+/,
  ],
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
  [({ words }) => words[AT.positions + 2] = 31, /sequence 1 reaches position 31, KV block 7/],
  [
    ({ words }) => words[AT.sequences] = 2,
    /token 0 of the step is of sequence 2: wanted one below 2/,
  ],
  [
    ({ words }) => words[AT.sequences + 4] = 1,
    /token 4 of the step: the tokens of sequence 1 do not stand together/,
  ],
  [
    ({ words }) => words[AT.kvBlocks + 2] = 64,
    /KV block 0 of sequence 1 is 64: the KV cache has 64 KV blocks/,
  ],
  [
    ({ words }) => words[AT.kvBlocks + 3] = NONE,
    /KV block 1 of sequence 1 is absent \(M40_NONE\): the step reads its positions from 0 on/,
  ],
  [({ words }) => words[AT.outputs + 2] = 5, /output 1 is of token 5: the step has 5 tokens/],
  [({ words }) => words[AT.outputs + 2] = 2, /output 1 is of token 2 after 2: wanted rising ones/],
  [
    ({ words }) => words[AT.outputs + 1] = 3,
    /output 0 is of kind 3: wanted 0 \(sample\), 1 \(logits\) or 2 \(hidden\)/,
  ],
  [({ words }) => words[COUNTS] = 100, /token count 0 is of token 100/],
  [({ words }) => words[BIASES + 2] = NONE, /token bias 1 is of token -1/],
  [
    ({ view }) => view.setFloat32(4 * BIASES + 4, Infinity, true),
    /token bias 0 is inf: wanted a finite number, or -infinity/,
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
    ["typical_p", 0, /typical_p is 0: wanted more than 0, at most 1/],
    ["xtc_probability", -0.1, /xtc_probability is -0.1: wanted 0 to 1/],
    ["xtc_threshold", NaN, /xtc_threshold is -?nan/],
    ["dynatemp_range", -1, /dynatemp_range is -1: wanted a finite number, 0 or more/],
    ["dynatemp_exponent", 0, /dynatemp_exponent is 0: wanted a finite number above 0/],
    ["mirostat", 1, /mirostat is 1: wanted 0 or 2/],
    ["mirostat_mu", Infinity, /mirostat_mu is inf: wanted a finite number/],
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

Deno.test("steps: every wrong count, offset, token, position, KV block and parameter is named", async () => {
  await withParts(async (parts) => {
    const created = await parts.create(async (program) => {
      assertEquals(await parts.step(program, validStep().bytes), {
        status: Status.ok,
        message: "",
      });
      for (const [spoil, message] of STEP_CASES) {
        const step = validStep();
        spoil(step);
        assertAnswer(await parts.step(program, step.bytes), Status.invalid_argument, message);
      }
      const { bytes } = validStep();
      assertAnswer(
        await parts.step(program, bytes, STEP_HEADER.bytes - 1),
        Status.invalid_argument,
        /a step block of 75 bytes: wanted at least the header's 76/,
      );
      assertAnswer(
        await parts.step(program, bytes, bytes.length - 1),
        Status.invalid_argument,
        /masks: 4 elements of 4 bytes .* do not fit/,
      );
      const most = Number(LIMITS.read(new DataView(parts.limits.buffer)).step_bytes);
      assertAnswer(
        await parts.step(program, new Uint8Array(most + 1)),
        Status.invalid_argument,
        /the program's step_bytes/,
      );
      const odd = new Uint8Array(bytes.length + 1).subarray(1);
      odd.set(bytes);
      assertAnswer(
        await parts.step(program, odd),
        Status.invalid_argument,
        /the step block starts at .*: wanted a multiple of 4/,
      );
      const { symbols } = parts;
      const few = await answerAsync((e) =>
        symbols.m40_step(
          program,
          bytes,
          BigInt(bytes.length),
          new Uint8Array(RESULT.bytes),
          1,
          null,
          0n,
          e,
        )
      );
      assertAnswer(few, Status.invalid_argument, /room for 1 results: the step has 2 outputs/);
      const mixed = validStep();
      mixed.words[AT.outputs + 1] = OutputKind.hidden;
      mixed.words[AT.outputs + 3] = OutputKind.logits;
      const valuesOf = (room: number) =>
        answerAsync((e) =>
          symbols.m40_step(
            program,
            mixed.bytes,
            BigInt(bytes.length),
            new Uint8Array(2 * RESULT.bytes),
            2,
            room === 0 ? null : new Uint8Array(4 * room),
            BigInt(room),
            e,
          )
        );
      assertAnswer(await valuesOf(0), Status.invalid_argument, /values is NULL/);
      assertAnswer(
        await valuesOf(HIDDEN + VOCAB - 1),
        Status.invalid_argument,
        /room for 147 values: the step's outputs give 148/,
      );
      assertEquals((await valuesOf(HIDDEN + VOCAB)).status, Status.ok);
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
        Status.invalid_argument,
        /an arena that the program uses has been destroyed/,
      );
    });
  });
});

Deno.test("steps: times of operations, of a step that can be run; what fails leaves them as they were", async () => {
  await withParts(async (parts) => {
    const { symbols } = parts;
    const created = await parts.create(async (program) => {
      const { bytes } = validStep();
      const n = parts.ops.length / OP.bytes;
      const profile = (
        block: Uint8Array<ArrayBuffer>,
        times: Float32Array<ArrayBuffer> | null,
        count: number,
      ) =>
        answerAsync((e) =>
          symbols.m40_step_profile(
            program,
            block,
            BigInt(block.length),
            times && asBytes(times),
            count,
            e,
          )
        );
      const times = new Float32Array(n + 1).fill(-7);
      for (const count of [0, n - 1, n + 1, NONE]) {
        const wanted = new RegExp(`n_times is ${count}: wanted ${n}, one for each operation`);
        assertAnswer(await profile(bytes, times, count), Status.invalid_argument, wanted);
      }
      assertAnswer(await profile(bytes, null, n), Status.invalid_argument, /times is NULL/);
      const spoiled = validStep();
      spoiled.words[H("n_tokens")] = 0;
      assertAnswer(
        await profile(spoiled.bytes, times, n),
        Status.invalid_argument,
        /a step of 0 tokens/,
      );
      const length = BigInt(bytes.length);
      const begun = answer((e) => symbols.m40_step_begin(program, bytes, length, e));
      assertEquals(begun.message, "");
      assertAnswer(await profile(bytes, times, n), Status.invalid_argument, /is under way/);
      while (true) {
        assertEquals((await answerAsync((e) => symbols.m40_step_wait(program, e))).message, "");
        const results = new Uint8Array(2 * RESULT.bytes);
        const got = answer((e) => symbols.m40_step_finish(program, results, 2, e));
        if (got.status === Status.ok) break;
        assertEquals(got.status, Status.not_ready);
      }
      assert(times.every((time) => time === -7), "a call that failed wrote times");
      assertEquals((await profile(bytes, times, n)).message, "");
      // Of what is done in a launch with another the first one has the time.
      assert(times[0] >= 0);
      assert(times.subarray(0, n).every((time) => time >= 0 || time === -1), times.join());
      assert(times.subarray(0, n).some((time) => time > 0));
      assertEquals(times[n], -7);
      assertEquals((await parts.step(program, bytes)).message, "");
    });
    assertEquals(created.message, "");
  });
});

Deno.test("steps: three calls give what one gives; calls out of turn are refused, and end nothing", async () => {
  await withParts(async (parts) => {
    const { symbols } = parts;
    const created = await parts.create(async (program) => {
      const results = () => new Uint8Array(2 * RESULT.bytes);
      const { bytes } = validStep();
      const length = BigInt(bytes.length);
      const begin = () => answer((e) => symbols.m40_step_begin(program, bytes, length, e));
      const wait = () => answerAsync((e) => symbols.m40_step_wait(program, e));
      const finish = async (into: Uint8Array<ArrayBuffer> | null, n = 2) => {
        while (true) {
          const got = answer((e) => symbols.m40_step_finish(program, into, n, e));
          // A device may be slow, above all one that a debugger watches.
          if (got.status !== Status.not_ready) return got;
          assertEquals((await wait()).message, "");
        }
      };
      const whole = results();
      const step = await answerAsync((e) =>
        symbols.m40_step(program, bytes, length, whole, 2, null, 0n, e)
      );
      assertEquals(step.message, "");
      const none = /no step is under way: wanted m40_step_begin first/;
      assertAnswer(await wait(), Status.invalid_argument, none);
      assertAnswer(await finish(results()), Status.invalid_argument, none);
      for (const waits of [true, true, false, true]) {
        assertEquals(begin().message, "");
        assertAnswer(
          begin(),
          Status.invalid_argument,
          /a step is under way: wanted m40_step_finish first/,
        );
        assertAnswer(await parts.step(program, bytes), Status.invalid_argument, /is under way/);
        if (waits) assertEquals((await wait()).message, "");
        const parted = results();
        assertEquals((await finish(parted)).message, "");
        assertEquals(parted, whole);
        assertAnswer(await finish(parted), Status.invalid_argument, none);
      }
      const spoiled = validStep();
      spoiled.words[H("n_tokens")] = 0;
      const refused = answer((e) => symbols.m40_step_begin(program, spoiled.bytes, length, e));
      assertAnswer(refused, Status.invalid_argument, /a step of 0 tokens/);
      const logits = validStep();
      logits.words[AT.outputs + 3] = OutputKind.logits;
      assertAnswer(
        answer((e) => symbols.m40_step_begin(program, logits.bytes, length, e)),
        Status.invalid_argument,
        /output 1 is of kind 1: wanted samples alone, or m40_step/,
      );
      assertAnswer(await wait(), Status.invalid_argument, none);
      assertEquals(begin().message, "");
      assertAnswer(await finish(results(), 1), Status.invalid_argument, /room for 1 results/);
      assertAnswer(await finish(results()), Status.invalid_argument, none);
      assertEquals(begin().message, "");
      assertAnswer(await finish(null, 0), Status.invalid_argument, /results/);
      // One that is never finished goes with its program.
      assertEquals(begin().message, "");
    });
    assertEquals(created.message, "");
  });
});
