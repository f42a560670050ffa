import { assert, assertEquals, assertMatch } from "@std/assert";
import { asBytes } from "../../engine/device/bytes.ts";
import type { OutputKind } from "../../engine/device/step_result.ts";
import { BUFFER_DESC, NONE, OP, Status } from "../../engine/device/structs.ts";
import type { Operation } from "../../engine/program/operation.ts";
import { expertBuffer, outputBuffer, TestDevice, tokenBuffer } from "../fixtures/device_harness.ts";
import { answer, assertAnswer, type Parts, withParts } from "../fixtures/spoiled_program.ts";

// What is wrong with a program is answered with a status and a message, and nothing is lost. The functions of m40.h are
// called directly here: engine/device/ would refuse much of this by itself.
// Files, contexts and memory: reference_resources_test.ts.

Deno.test("records: what is wrong is named with its operation, what was got and what was wanted", async () => {
  const cases: [Operation["kind"], Record<string, number>, RegExp][] = [
    ["embed", { output: 99 }, /\(embed\): output is buffer 99: wanted one below 14/],
    ["embed", { output: 13 }, /output \(buffer 13\) has rows of outputs: wanted tokens/],
    ["embed", { output: 7 }, /output \(buffer 7\) has elements U32: wanted F32/],
    ["embed", { table: 5000 }, /table is tensor 5000, which does not exist/],
    ["embed", { table: NONE }, /table is missing/],
    ["embed", { columns: 47 }, /table \(tensor \d+\) is \[1, 100, 48\]: wanted \[1, 100, 47\]/],
    ["embed", { columns: 49 }, /has 48 columns: wanted at least 49/],
    ["embed", { columns: 0 }, /output would have no columns/],
    ["embed", { scale: NaN }, /scale is .*nan: wanted a finite number/],
    ["norm", { output: 12 }, /input has rows of tokens x 1, output of outputs x 1/],
    ["norm", { norm: 2 }, /norm is 2: wanted 0 to 1/],
    ["norm", { epsilon: -1 }, /epsilon is -1: wanted 0 or more/],
    ["matmul", { n_weights: 4 }, /n_weights is 4: wanted 1 to 3/],
    ["matmul", { output: 1 }, /input and output are both buffer 1/],
    ["matmul", { residual: 1 }, /a residual with 3 weights: wanted 1/],
    ["matmul", { "output_column[1]": 50 }, /the output columns of weights 1 and 2 overlap/],
    [
      "matmul",
      { "output_column[2]": 90 },
      /output \(buffer 2\) has 96 columns: wanted at least 114/,
    ],
    ["matmul", { "rows[0]": 47 }, /weight \(tensor \d+\) is \[1, 48, 48\]: wanted \[1, 47, 48\]/],
    ["matmul", { "rows[0]": 0 }, /rows\[0\] is 0/],
    ["rope_store", { layer: 2 }, /layer 2: the cache has 2/],
    ["rope_store", { n_heads: 5 }, /5 heads over 2 KV heads: wanted a multiple/],
    ["rope_store", { n_kv_heads: 1 }, /1 KV heads of dimension 12: the cache has 2 of 12/],
    ["rope_store", { n_heads: 0xFFFFFFFE }, /4294967294 heads, 2 KV heads/],
    [
      "rope_store",
      { rope_dim: 13 },
      /rope_dim is 13 from value 0 on: wanted an even number from 2, within the head dimension, 12/,
    ],
    ["rope_store", { rope: 3 }, /rope is 3: wanted 0 to 2/],
    ["rope_store", { freq_base: 0 }, /freq_base is 0: wanted more than 0/],
    ["rope_store", { ext_factor: 1 }, /beta_fast is 0: wanted more than 0/],
    ["attention", { output: 2 }, /q and output are both buffer 2/],
    [
      "attention",
      { n_heads: 8 },
      /q \(buffer 2\)|output \(buffer 3\) has 48 columns: wanted at least 96/,
    ],
    ["attention", { softcap: -2 }, /softcap is -2/],
    ["activation", { columns: 71 }, /up \(buffer 4\) has 140 columns: wanted at least 141/],
    ["activation", { activation: 7 }, /activation is 7: wanted 0 to 6/],
    ["activation", { gated: 2 }, /gated is 2: wanted 0 to 1/],
    ["add", { b: 13 }, /a has rows of tokens x 1, b of outputs x 1/],
    ["select", { output: 1 }, /output \(buffer 1\) has rows of tokens: wanted outputs/],
    ["softcap", { columns: 101 }, /has 100 columns: wanted at least 101/],
    ["route", { n_used: 5 }, /5 experts used of 4: wanted 1 to 4/],
    // A launch takes whole tokens, and has no room for one of so many.
    [
      "expert_matmul",
      { n_experts: 1 << 20, n_used: 1 << 16 },
      /65536 experts used of 1048576: wanted 1 to 4096/,
    ],
    ["route", { experts: 8 }, /experts \(buffer 8\) has elements F32: wanted U32/],
    ["expert_matmul", { n_weights: 3 }, /n_weights is 3: wanted 1 or 2/],
    ["expert_matmul", { output: 5 }, /output has rows of tokens x 1: wanted experts x 2/],
    [
      "expert_matmul",
      { n_experts: 5 },
      /weight \(tensor \d+\) is \[4, 70, 48\]: wanted \[5, 70, 48\]/,
    ],
    ["expert_sum", { n_used: 1 }, /input has rows of experts x 2: wanted experts x 1/],
    ["expert_sum", { weights: 3 }, /^$/],
    ["sample", { columns: 99 }, /99 columns: wanted the vocabulary's 100/],
  ];
  for (const [kind, fields, message] of cases) {
    await withParts(async (parts) => {
      const index = parts.spoil(kind, fields);
      const got = await parts.create();
      if (message.source === "^$") return assertEquals(got.status, Status.ok, got.message);
      assertAnswer(got, Status.invalid_argument, message);
      assertMatch(got.message, new RegExp(`^operation ${index} \\(${kind}\\): `));
    });
  }
});

Deno.test("records: unknown kinds, flags, a second sample operation, no operations, wrong buffers", async () => {
  const cases: [(parts: Parts) => void, number, RegExp][] = [
    [
      ({ ops }) => ops.set([20], 0),
      Status.invalid_argument,
      /kind 20 is not an operation of this ABI: wanted 1 to 19/,
    ],
    [({ ops }) => ops.set([0], 0), Status.invalid_argument, /kind 0 is not/],
    [({ ops }) => ops.set([1], 4), Status.invalid_argument, /flags are 0x1: wanted 0/],
    [
      (parts) => {
        const index = parts.indexOf("sample");
        const at = index * OP.bytes;
        parts.ops.copyWithin(at - OP.bytes, at, at + OP.bytes);
      },
      Status.invalid_argument,
      /samples already: wanted one a program/,
    ],
    [({ buffers }) => buffers.set([3], 0), Status.invalid_argument, /buffer 0: rows is 3/],
    [
      ({ buffers }) => buffers.set([2], 4),
      Status.invalid_argument,
      /buffer 0: rows_factor is 2: wanted 1/,
    ],
    [
      ({ buffers }) => buffers.set([0, 0, 0, 0], 8),
      Status.invalid_argument,
      /buffer 0: columns is 0/,
    ],
    [({ buffers }) => buffers.set([2], 12), Status.invalid_argument, /buffer 0: element is 2/],
    [
      ({ buffers }) => buffers.fill(255, 8, 12),
      Status.out_of_memory,
      /a program of \d+ bytes does not fit the arena/,
    ],
    [({ limits }) => limits.fill(0, 0, 4), Status.invalid_argument, /limits of 0 tokens/],
    [({ limits }) => limits.fill(255, 0, 4), Status.out_of_memory, /does not fit the arena/],
    [
      ({ limits }) => limits.fill(255, 16, 20),
      Status.invalid_argument,
      /a vocabulary of 4294967295 tokens/,
    ],
    [
      ({ limits }) => limits.fill(0, 24, 32),
      Status.invalid_argument,
      /step_bytes is 0: wanted at least/,
    ],
    [
      ({ limits }) => limits.fill(255, 12, 16),
      Status.invalid_argument,
      /positions would not fit 32 bits/,
    ],
    [
      ({ limits }) => limits.fill(255, 24, 32),
      Status.invalid_argument,
      /step_bytes is 18446744073709551615: wanted at most 2\^48/,
    ],
    [
      ({ limits }) => {
        // As many sequences as can be, of half as many KV blocks.
        limits.fill(255, 4, 8);
        limits.set([255, 255, 255, 127], 12);
      },
      Status.invalid_argument,
      /4294967295 sequences of 2147483647 KV blocks: wanted at most 2\^46 KV blocks in all/,
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
    assertAnswer(got, Status.invalid_argument, /\(rope_store\): the program has no KV cache/);
  });
});

Deno.test("an expert index that a buffer was given from outside is checked before it is used", async () => {
  using device = new TestDevice();
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
  const step = [{ tokens: [0], position: 0, kvBlocks: [], outputs: [] }];
  const wanted = /token 0 of the step goes to expert 2: wanted one below 2/;
  for (const run of [() => program.step(step), () => program.profile(step)]) {
    program.writeBuffer(1, Uint32Array.of(2));
    let message = "";
    await run().catch((error) => message = error.message);
    assertMatch(message, wanted);
  }
  // Neither leaves anything allocated.
  program.writeBuffer(1, Uint32Array.of(1));
  assertEquals((await program.profile(step)).length, 1);
  await program.step(step);
});

Deno.test("a message that is too long is cut between characters", async () => {
  using device = new TestDevice({ arenaBytes: 4096 });
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
});

Deno.test("a program without a sample operation gives nothing, and refuses to give logits or hidden states", async () => {
  using device = new TestDevice();
  const program = device.program({
    ops: [{ kind: "add", a: 0, b: 0, output: 0, columns: 4 }],
    buffers: [outputBuffer(4)],
  });
  const step = (kind: OutputKind) =>
    program.step([{ tokens: [0], position: 0, kvBlocks: [], outputs: [{ row: 0, kind }] }]);
  assertEquals(await step("sample"), { outputs: [] });
  for (const [kind, number] of [["logits", 1], ["hidden", 2]] as const) {
    let message = "";
    await step(kind).catch((error) => message = error.message);
    assertEquals(
      message,
      `output 0 is of kind ${number}: the program has no sample operation that gives it`,
    );
  }
});
