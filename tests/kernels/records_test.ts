import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import type { Cache } from "../../engine/device/context.ts";
import { M40Error } from "../../engine/errors.ts";
import { Activation, HeadNorm, NONE, Norm, Rope, Score } from "../../engine/device/structs.ts";
import {
  expertBuffer,
  indexBuffer,
  outputBuffer,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";
import type { GivenOperation } from "../fixtures/operations.ts";

// What a record's numbers, buffers and weights have to be to each other, beyond what its description says. Each case
// changes fields of a program of one operation that is right. Records as such: reference_errors_test.ts.

type Kind = GivenOperation["kind"];

const EXPERTS = 8;
const HEADS = { layer: 0, n_heads: 4, n_kv_heads: 2, head_dim: 8 };

/** Buffers by name; all that rows of tokens are needed for have 64 columns. */
const B = { a: 0, b: 1, c: 2, experts: 3, used: 4, logits: 5, slots: 6, outputs: 7, narrow: 8 };
const BUFFERS = [
  tokenBuffer(64),
  tokenBuffer(64),
  tokenBuffer(64),
  indexBuffer(2),
  tokenBuffer(2),
  tokenBuffer(EXPERTS),
  expertBuffer(64, 2),
  outputBuffer(64),
  tokenBuffer(63),
];

/** A tensor of ones of this shape takes the place of a weight. */
interface Ones {
  readonly shape: readonly number[];
}
const ones = (...shape: number[]): Ones => ({ shape });

type Fields = Record<string, number | Ones | readonly (number | Ones)[]>;

const RIGHT: { readonly [K in Kind]?: Fields } = {
  norm: { input: B.a, output: B.b, weight: ones(16), norm: Norm.rms, columns: 16, epsilon: 1e-5 },
  matmul: { input: B.a, output: B.b, columns: 64, weight: [ones(32, 64)], rows: [32] },
  head_matmul: {
    input: B.a,
    output: B.b,
    weight: ones(4, 8, 10),
    n_heads: 4,
    columns: 10,
    rows: 8,
    input_stride: 12,
    output_stride: 10,
    copied: 2,
  },
  rope_store: { q: B.a, ...HEADS, rope_dim: 8, rope: Rope.halves },
  attention: { q: B.a, output: B.b, ...HEADS, scale: 1 },
  activation: {
    input: B.a,
    output: B.b,
    activation: Activation.silu,
    gated: 1,
    columns: 32,
  },
  add: { a: B.a, b: B.b, gate: B.used, output: B.c, columns: 64 },
  route: {
    input: B.logits,
    experts: B.experts,
    weights: B.used,
    bias: ones(EXPERTS),
    n_experts: EXPERTS,
    n_used: 2,
    score: Score.sigmoid,
    normalise: 1,
    n_groups: 4,
    n_groups_used: 2,
  },
  expert_matmul: {
    input: B.a,
    experts: B.experts,
    output: B.slots,
    weights: B.used,
    columns: 64,
    n_used: 2,
    n_experts: EXPERTS,
    weight: [ones(EXPERTS, 32, 64)],
    bias: [ones(EXPERTS * 32)],
    factor: [ones(EXPERTS)],
    rows: [32],
  },
  expert_sum: { input: B.slots, weights: B.used, output: B.a, columns: 64, n_used: 2 },
  exchange: { input: B.a, output: B.b, card: 1, bounds: [0, 24, 64] },
};

/** What every token has in addition to its experts. */
const SHARED = { shared: [ones(32, 64)] };

const CASES: Partial<Record<Kind, [changes: Fields, message: RegExp][]>> = {
  exchange: [
    [{ n_cards: 1 }, /1 cards: wanted 2 to 8/],
    [{ n_cards: 9 }, /9 cards: wanted 2 to 8/],
    [{ card: 2 }, /card 2 of 2: wanted one below that/],
    [{ card: NONE }, /card 4294967295 of 2: wanted one below that/],
    [{ bounds: [1, 24, 64] }, /bounds\[0\] is 1: wanted 0/],
    [{ bounds: [0, 64, 64] }, /bounds\[2\] is 64 after 64: wanted a column for each card at least/],
    [{ bounds: [0, 24, 7] }, /bounds\[2\] is 7 after 24: wanted a column for each card at least/],
    [{ bounds: [0, 24, 65] }, /output \(buffer 1\) has 64 columns: wanted at least 65/],
    [{ input_column: 25 }, /input \(buffer 0\) has 64 columns: wanted at least 65/],
    [{ input_column: NONE }, /input \(buffer 0\) has 64 columns: wanted at least 4294967335/],
    [{ output: B.outputs }, /input has rows of tokens x 1, output of outputs x 1: wanted the same/],
    [{ output: B.experts }, /output \(buffer 3\) has elements U32: wanted F32/],
    [
      { output: B.a, input_column: 0 },
      /input_column is 0 in the output's buffer: wanted 24, where the card's columns are/,
    ],
  ],
  norm: [
    [{ weight_per_group: 2 }, /weight_per_group is 2: wanted 0 to 1/],
    [{ n_groups: 0 }, /0 groups of 16 columns: wanted at least 1 of each/],
    [{ columns: 0, input_column: 4, output_column: 4 }, /1 groups of 0 columns: wanted/],
    [{ n_groups: 5 }, /input \(buffer 0\) has 64 columns: wanted at least 80/],
    [{ n_groups: 3, input_column: 17 }, /input \(buffer 0\) has 64 columns: wanted at least 65/],
    [{ n_groups: 3, output_column: 17 }, /output \(buffer 1\) has 64 columns: wanted at least 65/],
    [
      { output_column: 48, residual: B.narrow },
      /residual \(buffer 8\) has 63 columns: wanted at least 64/,
    ],
    [{ n_groups: 2, weight_per_group: 1 }, /weight .*is \[1, 1, 16\]: wanted \[1, 1, 32\]/],
    [{ bias: ones(15) }, /bias .*is \[1, 1, 15\]: wanted \[1, 1, 16\]/],
    [{ factor: ones(2) }, /factor .*is \[1, 1, 2\]: wanted \[1, 1, 1\]/],
    [
      { output: B.a, output_column: 16 },
      /input_column is 0 and output_column 16 of one buffer: wanted the same/,
    ],
    [
      { residual: B.a, input_column: 16 },
      /input_column is 16 and output_column 0 of one buffer: wanted the same/,
    ],
  ],
  matmul: [
    [{ scale: Infinity }, /scale is inf: wanted a finite number/],
    [{ factor: [ones(32)] }, /factor .*is \[1, 1, 32\]: wanted \[1, 1, 1\]/],
    [{ arithmetic: 2 }, /arithmetic is 2: wanted 0 to 1/],
  ],
  head_matmul: [
    [{ output: B.a }, /input and output are both buffer 0: wanted two/],
    [{ n_heads: 0 }, /0 heads: wanted 1 to 65536/],
    [{ n_heads: 65537 }, /65537 heads: wanted 1 to 65536/],
    [{ rows: 0 }, /heads of 0 rows and 10 columns: wanted at least 1 of each/],
    [{ columns: 0 }, /heads of 8 rows and 0 columns: wanted at least 1 of each/],
    [{ input_stride: 11 }, /input_stride is 11: wanted room for a head's 10 and 2 values/],
    [{ output_stride: 9 }, /output_stride is 9: wanted room for a head's 8 and 2 values/],
    [{ input_stride: 18 }, /input \(buffer 0\) has 64 columns: wanted at least 66/],
    [{ output_stride: 19 }, /output \(buffer 1\) has 64 columns: wanted at least 67/],
    [{ copied: NONE }, /input_stride is 12: wanted room for a head's 10 and 4294967295 values/],
    [{ n_heads: 5 }, /weight .*is \[4, 8, 10\]: wanted \[5, 8, 10\]/],
    [{ weight: ones(32, 10) }, /weight .*is \[1, 32, 10\]: wanted \[4, 8, 10\]/],
    [{ output: B.outputs }, /output \(buffer 7\) has rows of outputs: wanted tokens/],
  ],
  rope_store: [
    [{ n_kv_heads: 0 }, /4 heads, 0 KV heads, K of 8 values and V of 8: wanted 1 to 65536 of each/],
    [{ value_dim: 0 }, /K of 8 values and V of 0: wanted 1 to 65536 of each/],
    [{ value_dim: 4 }, /V of 4 values: the cache has 8/],
    [{ layer: 1, value_dim: 8 }, /V is given: the layer of the cache has the first values of K/],
    [{ v_column: NONE }, /V is missing: the layer of the cache has its own V/],
    [
      { layer: 1, v_column: NONE, value_dim: 9 },
      /V of 9 values, the first of K's 8: wanted no more/,
    ],
    [{ layer: 1, v_column: NONE, v_norm: 1 }, /v_norm is 1 without V: wanted 0/],
    [
      { k_column: 31 },
      /K at column 31 and V at 47 of the buffer of q: wanted them after it, at 32/,
    ],
    [{ v_column: 0 }, /K at column 32 and V at 0 of the buffer of q: wanted them after it, at 32/],
    [{ kv: B.narrow }, /kv \(buffer 8\) has 63 columns: wanted at least 64/],
    [{ kv: B.b, v_column: 49 }, /kv \(buffer 1\) has 64 columns: wanted at least 65/],
    [{ kv: B.outputs }, /kv \(buffer 7\) has rows of outputs: wanted tokens/],
    [{ head_norm: 3 }, /head_norm is 3: wanted 0 to 2/],
    [{ v_norm: 2 }, /v_norm is 2: wanted 0 to 1/],
    [
      { k_norm: ones(8), head_norm: HeadNorm.none },
      /q_norm or k_norm is given with head_norm 0: wanted 1 or 2/,
    ],
    [{ q_norm: ones(16) }, /q_norm .*is \[1, 1, 16\]: wanted \[1, 1, 8\]/],
    [{ rope_offset: 2 }, /rope_dim is 8 from value 2 on: wanted an even number from 2, within/],
    [{ rope_offset: NONE - 1 }, /rope_dim is 8 from value 4294967294 on/],
    [{ temperature_scale: NaN }, /temperature_scale is .*nan: wanted a finite number/],
    [{ temperature_scale: 0.1 }, /temperature_length is 0: wanted a number of tokens/],
  ],
  attention: [
    [{ window: 3, chunk: 4 }, /a window of 3 and a chunk of 4: wanted one of them/],
    [{ value_dim: 9 }, /V of 9 values: the cache has 8/],
    [{ layer: 1, value_dim: 9 }, /V of 9 values, the first of K's 8: wanted no more/],
    [{ sinks: ones(2) }, /sinks .*is \[1, 1, 2\]: wanted \[1, 1, 4\]/],
  ],
  activation: [
    [{ up: NONE }, /up is missing with gated 1: wanted a buffer where it is 1/],
    [{ gated: 0, up: B.b }, /up is given with gated 0: wanted a buffer where it is 1/],
    [{ up_column: 33 }, /up \(buffer 0\) has 64 columns: wanted at least 65/],
    [{ up: B.outputs }, /input has rows of tokens x 1, up of outputs x 1: wanted the same/],
    [
      { up: B.b, up_column: 31 },
      /up_column is 31 in the output's buffer: wanted 0, or 32 or more/,
    ],
    [
      { activation: Activation.swiglu_clamped, gated: 0 },
      /gated is 0: wanted 1 for the clamped SwiGLU/,
    ],
    [
      { activation: Activation.swiglu_clamped, limit: 7, alpha: NaN },
      /alpha is .*nan: wanted a finite number/,
    ],
    [{ activation: Activation.swiglu_clamped }, /limit is 0: wanted more than 0/],
  ],
  add: [
    [{ gate: B.c }, /gate and output are both buffer 2: wanted two/],
    [{ gate: B.outputs }, /a has rows of tokens x 1, gate of outputs x 1: wanted the same/],
  ],
  route: [
    [{ score: 3 }, /score is 3: wanted 0 to 2/],
    [{ normalise: 2 }, /normalise is 2: wanted 0 to 1/],
    [{ n_groups: 0 }, /2 of 0 groups of 8 experts: wanted at least 1 of groups that share/],
    [{ n_groups: 3 }, /2 of 3 groups of 8 experts: wanted/],
    [{ n_groups_used: 0 }, /0 of 4 groups of 8 experts: wanted/],
    [{ n_groups_used: 5 }, /5 of 4 groups of 8 experts: wanted/],
    [
      { n_groups: 8, n_groups_used: 1 },
      /2 experts used of the 1 of 1 groups: wanted no more/,
    ],
    [{ least_sum: -1 }, /least_sum is -1: wanted 0 or more/],
    [{ scale: NaN }, /scale is .*nan: wanted a finite number/],
    [{ bias: ones(7) }, /bias .*is \[1, 1, 7\]: wanted \[1, 1, 8\]/],
    [{ n_shared: 2 }, /n_shared is 2: wanted 0 to 1/],
    [{ n_shared: 1 }, /experts \(buffer 3\) has 2 columns: wanted at least 3/],
    [{ n_used: 1, n_shared: 1 }, /^$/],
  ],
  expert_matmul: [
    [{ weights: B.logits }, /^$/],
    [{ weights: B.slots }, /weights \(buffer 6\) has rows of experts: wanted tokens/],
    [{ weights: B.experts }, /weights \(buffer 3\) has elements U32: wanted F32/],
    [{ bias: [ones(32)] }, /bias .*is \[1, 1, 32\]: wanted \[1, 1, 256\]/],
    [{ bias: [ones(EXPERTS, 32)] }, /bias .*is \[1, 8, 32\]: wanted \[1, 1, 256\]/],
    [{ factor: [ones(1)] }, /factor .*is \[1, 1, 1\]: wanted \[1, 1, 8\]/],
    [{ ...SHARED, bias: [], factor: [] }, /^$/],
    [{ arithmetic: NONE }, /arithmetic is 4294967295: wanted 0 to 1/],
    [{ ...SHARED, n_shared: 2 }, /n_shared is 2: wanted 0 to 1/],
    [{ n_shared: 0, shared: [ones(3)] }, /^$/],
    [
      { ...SHARED, bias: [] },
      /weight 0 has a shared expert and a bias or a factor: wanted neither/,
    ],
    [{ ...SHARED, factor: [] }, /weight 0 has a shared expert and a bias or a factor: wanted/],
    [{ shared: [ones(33, 64)], bias: [], factor: [] }, /shared .*is \[1, 33, 64\]: wanted \[1, 32/],
    [
      { ...SHARED, weight: [ones(EXPERTS, 1, 64)], rows: [1], bias: [], factor: [] },
      /rows\[0\] is 1 with a shared expert: wanted at least 2/,
    ],
    [
      {
        ...SHARED,
        n_weights: 2,
        weight: [ones(EXPERTS, 32, 64), ones(EXPERTS, 8, 64)],
        bias: [],
        factor: [],
        rows: [32, 8],
      },
      /shared is missing/,
    ],
  ],
  expert_sum: [
    [{ scale: -Infinity }, /scale is -inf: wanted a finite number/],
    [{ weights: NONE }, /^$/],
  ],
};

/** An operation with its weights uploaded. */
function operation(device: TestDevice, kind: Kind, fields: Fields): GivenOperation {
  const value = (given: number | Ones) =>
    typeof given === "number" ? given : device.tensor(
      new Float32Array(given.shape.reduce((a, b) => a * b)).fill(1),
      ...given.shape,
    );
  const values = Object.entries(fields).map(([name, given]) => [
    name,
    Array.isArray(given) ? given.map(value) : value(given as number | Ones),
  ]);
  return { kind, ...Object.fromEntries(values) };
}

/** Two layers, of which the second's V are the first values of its K. */
function twoLayers(device: TestDevice): Cache {
  return device.arena.createCache({
    ...{ n_layers: 2, n_groups: 1, kv_block_tokens: 4, n_kv_blocks: 16, type: 0 },
    n_kv_heads: [2, 2],
    head_dim: [8, 8],
    value_dim: [8, 0],
    group: [0, 0],
    states: [],
    slots: 0,
  });
}

for (const [kind, cases] of Object.entries(CASES) as [Kind, [Fields, RegExp][]][]) {
  Deno.test(`records of ${kind}: what its fields are not to be is refused, and what they may be is not`, () => {
    for (const [changes, message] of [[{}, /^$/] as const, ...cases]) {
      using device = new TestDevice();
      const op = operation(device, kind, { ...RIGHT[kind]!, ...changes });
      const create = () =>
        device.program({ ops: [op], buffers: BUFFERS, cache: twoLayers(device) });
      if (message.source === "^$") {
        create();
        continue;
      }
      const error = assertThrows(create, M40Error, undefined, JSON.stringify(changes));
      assertMatch(error.message, message);
      assertEquals(error.message.startsWith(`operation 0 (${kind}): `), true, error.message);
    }
  });
}

Deno.test("records: V that are the first values of K are whole blocks of a cache of Q8_0", () => {
  using device = new TestDevice();
  const latent = { n_heads: 1, n_kv_heads: 1, head_dim: 64, layer: 0 };
  const cache = device.cache({ head_dim: 64, value_dim: 0, type: 8 });
  const create = (value_dim: number) =>
    device.program({
      ops: [{ kind: "attention", q: B.a, output: B.b, ...latent, value_dim, scale: 1 }],
      buffers: BUFFERS,
      cache,
    });
  create(32);
  assertThrows(
    () => create(33),
    M40Error,
    "V of 33 values, the first of K's, in a cache of type Q8_0",
  );
});
