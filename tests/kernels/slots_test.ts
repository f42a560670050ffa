/**
 * What is wrong with states: with records that name them, with the cache that has them, with steps and copies of slots.
 */
import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import type { CacheDesc } from "../../engine/device/descriptions.ts";
import type { StepSequence } from "../../engine/device/step_block.ts";
import { M40Error } from "../../engine/errors.ts";
import { Activation, KHeads, NONE, STEP_HEADER } from "../../engine/device/structs.ts";
import {
  cacheOf,
  type EqualLayers,
  outputBuffer,
  TestDevice,
  tokenBuffer,
  withDevice,
} from "../fixtures/device_harness.ts";
import type { GivenOperation } from "../fixtures/operations.ts";

type Kind = "conv" | "delta_rule" | "selective_scan" | "copy";
type Fields = Record<string, number>;

const B = { a: 0, b: 1, c: 2, outputs: 3 };
const BUFFERS = [tokenBuffer(64), tokenBuffer(64), tokenBuffer(64), outputBuffer(64)];

/** Sizes of the weights that the records name by their size. */
const SIZES = { kernels: 64, columns: 16, heads: 4 };
/** Floats of the cache's states. */
const STATES = [48, 4 * 8 * 8, 4 * 4 * 8, 47];

/** Records that are right, with a state each; weights are named by their numbers of values. */
const RIGHT: Record<Kind, Fields> = {
  conv: {
    input: B.a,
    output: B.b,
    weight: SIZES.kernels,
    bias: SIZES.columns,
    state: 0,
    columns: 16,
    kernel: 4,
    activation: Activation.silu,
    factor_column: 32,
    gate_column: 48,
    output_column: 48,
  },
  delta_rule: {
    qkv: B.a,
    gates: B.b,
    output: B.c,
    decay: SIZES.heads,
    a_bias: SIZES.heads,
    state: 1,
    n_heads: 4,
    n_k_heads: 2,
    key_dim: 8,
    value_dim: 8,
    q_column: 0,
    k_column: 16,
    v_column: 32,
    a_column: 0,
    b_column: 2,
    gate_heads: 2,
    gate_stride: 60,
    k_heads: KHeads.cycled,
  },
  selective_scan: {
    input: B.a,
    steps: B.a,
    output: B.c,
    decay: SIZES.heads,
    skip: SIZES.heads,
    dt_bias: SIZES.heads,
    state: 2,
    n_heads: 4,
    n_groups: 2,
    head_dim: 4,
    state_dim: 8,
    x_column: 0,
    b_column: 16,
    c_column: 32,
    dt_column: 60,
  },
  copy: {
    input: B.a,
    output: B.b,
    columns: 8,
    n_groups: 3,
    input_column: 16,
    input_stride: 20,
    output_column: 8,
    output_stride: 24,
  },
};

const TWO = /input and output are both buffer 0: wanted two/;

const CASES: Record<Kind, [changes: Fields, message: RegExp][]> = {
  conv: [
    [{ output: B.a }, TWO],
    [{ output: B.outputs }, /output \(buffer 3\) has rows of outputs: wanted tokens/],
    [{ columns: 0 }, /columns is 0: wanted at least 1/],
    [{ kernel: 0 }, /kernel is 0: wanted 2 to 8/],
    [{ kernel: 1 }, /kernel is 1: wanted 2 to 8/],
    [{ kernel: 9 }, /kernel is 9: wanted 2 to 8/],
    [{ kernel: 3 }, /weight .*is \[1, 1, 64\]: wanted \[1, 1, 48\]/],
    [{ bias: SIZES.heads }, /bias .*is \[1, 1, 4\]: wanted \[1, 1, 16\]/],
    [{ activation: Activation.sigmoid }, /activation is 5: wanted 0 \(silu\), or M40_NONE/],
    [{ activation: NONE, bias: NONE, factor_column: NONE, gate_column: NONE }, /^$/],
    [{ gate_column: 49 }, /input \(buffer 0\) has 64 columns: wanted at least 65/],
    [{ factor_column: NONE - 1 }, /input \(buffer 0\) has 64 columns: wanted at least 4294967310/],
    [{ input_column: 100 }, /input \(buffer 0\) has 64 columns: wanted at least 116/],
    [{ output_column: 49 }, /output \(buffer 1\) has 64 columns: wanted at least 65/],
    [{ state: 3 }, /state 3 has 47 values: wanted 48/],
    [{ state: 4 }, /state 4: the cache has 4/],
    [{ state: NONE }, /state 4294967295: the cache has 4/],
  ],
  delta_rule: [
    [{ output: B.a }, /qkv and output are both buffer 0: wanted two/],
    [{ output: B.b }, /gates and output are both buffer 1: wanted two/],
    [{ n_heads: 0 }, /0 heads, 2 K heads, states of 8 x 8 values: wanted 1 to 65536 of each/],
    [{ n_k_heads: 0 }, /4 heads, 0 K heads, states of 8 x 8 values: wanted/],
    [{ key_dim: 65537 }, /states of 65537 x 8 values: wanted 1 to 65536 of each/],
    [{ value_dim: 0 }, /states of 8 x 0 values: wanted/],
    [{ n_k_heads: 3 }, /4 heads over 3 K heads: wanted a multiple/],
    [{ gate_heads: 0 }, /gate_heads is 0: wanted a number that divides the 4 heads/],
    [{ gate_heads: 3 }, /gate_heads is 3: wanted a number that divides the 4 heads/],
    [{ k_heads: 2 }, /k_heads is 2: wanted 0 to 1/],
    [{ k_heads: KHeads.grouped }, /^$/],
    [{ scale: Infinity }, /scale is inf: wanted a finite number/],
    [{ epsilon: -1 }, /epsilon is -1: wanted 0 or more/],
    [{ q_column: 49 }, /qkv \(buffer 0\) has 64 columns: wanted at least 65/],
    [{ k_column: NONE }, /qkv \(buffer 0\) has 64 columns: wanted at least 4294967311/],
    [{ v_column: 33 }, /qkv \(buffer 0\) has 64 columns: wanted at least 65/],
    [{ b_column: 3 }, /gates \(buffer 1\) has 64 columns: wanted at least 65/],
    [{ gate_stride: 61 }, /gates \(buffer 1\) has 64 columns: wanted at least 65/],
    [{ decay: SIZES.columns }, /decay .*is \[1, 1, 16\]: wanted \[1, 1, 4\]/],
    [{ a_bias: SIZES.columns }, /a_bias .*is \[1, 1, 16\]: wanted \[1, 1, 4\]/],
    [{ state: 0 }, /state 0 has 48 values: wanted 256/],
  ],
  selective_scan: [
    [{ output: B.a }, TWO],
    [{ steps: B.b, output: B.b }, /steps and output are both buffer 1: wanted two/],
    [{ n_groups: 0 }, /4 heads, 0 groups, states of 4 x 8 values: wanted 1 to 65536 of each/],
    [{ n_groups: 3 }, /4 heads over 3 groups: wanted a multiple/],
    [{ head_dim: 0 }, /states of 0 x 8 values: wanted/],
    [{ x_column: 49 }, /input \(buffer 0\) has 64 columns: wanted at least 65/],
    [{ b_column: 49 }, /input \(buffer 0\) has 64 columns: wanted at least 65/],
    [{ c_column: NONE }, /input \(buffer 0\) has 64 columns: wanted at least 4294967311/],
    [{ dt_column: 61 }, /steps \(buffer 0\) has 64 columns: wanted at least 65/],
    [{ skip: SIZES.columns }, /skip .*is \[1, 1, 16\]: wanted \[1, 1, 4\]/],
    [{ state_dim: 9, state: 1 }, /state 1 has 256 values: wanted 144/],
  ],
  copy: [
    [{ output: B.a }, TWO],
    [{ output: B.outputs }, /input has rows of tokens x 1, output of outputs x 1: wanted the same/],
    [{ n_groups: 0 }, /0 groups of 8 columns: wanted at least 1 of each/],
    [{ columns: 0 }, /3 groups of 0 columns: wanted at least 1 of each/],
    [{ output_stride: 7 }, /output_stride is 7: wanted room for a group's 8 values/],
    [{ input_stride: 0 }, /^$/],
    [{ n_groups: 1, output_stride: 0 }, /^$/],
    [{ input_column: 17 }, /input \(buffer 0\) has 64 columns: wanted at least 65/],
    [{ output_stride: 25 }, /output \(buffer 1\) has 64 columns: wanted at least 66/],
    [{ n_groups: 65536, input_stride: NONE }, /input \(buffer 0\) has 64 columns: wanted/],
  ],
};

const WEIGHTS = ["weight", "bias", "decay", "a_bias", "skip", "dt_bias"];

function operation(device: TestDevice, kind: Kind, changes: Fields = {}): GivenOperation {
  const fields = Object.entries({ ...RIGHT[kind], ...changes }).map(([name, value]) => {
    const weight = WEIGHTS.includes(name) && value !== NONE;
    return [name, weight ? device.tensor(new Float32Array(value).fill(1), value) : value];
  });
  return { kind, ...Object.fromEntries(fields) };
}

/** What making a program says, "" where nothing is wrong. */
function refusal(device: TestDevice, ops: GivenOperation[], desc?: Partial<EqualLayers>): string {
  const cache = device.cache({ states: STATES, slots: 2, ...desc });
  try {
    device.program({ ops, buffers: BUFFERS, cache });
    return "";
  } catch (error) {
    return (error as M40Error).message;
  }
}

for (const [kind, cases] of Object.entries(CASES) as [Kind, [Fields, RegExp][]][]) {
  Deno.test(`records of ${kind}: what its fields are not to be is refused, and what they may be is not`, () => {
    using device = new TestDevice();
    for (const [changes, message] of [[{}, /^$/] as const, ...cases]) {
      const got = refusal(device, [operation(device, kind, changes)]);
      assertMatch(got, message, JSON.stringify(changes));
      if (got !== "") assertMatch(got, new RegExp(`^operation 0 \\(${kind}\\): `));
    }
  });
}

Deno.test("records: a state is one operation's, and of a cache that has states", () => {
  using device = new TestDevice();
  const conv = operation(device, "conv");
  const again = /operation 2 \(conv\): state 0 is operation 0's already: wanted one of its own/;
  assertMatch(refusal(device, [conv, operation(device, "copy"), conv]), again);
  const none =
    /operation 0 \(conv\): the program's cache has no states: wanted one for the operation/;
  assertMatch(refusal(device, [conv], { states: [], slots: 0 }), none);
  assertThrows(() => device.program({ ops: [conv], buffers: BUFFERS }), M40Error, "has no states");
  // A copy has no state, and needs no cache.
  device.program({ ops: [operation(device, "copy")], buffers: BUFFERS });
  const attention: GivenOperation = {
    ...{ kind: "attention", q: B.a, output: B.b, layer: 0, scale: 1 },
    ...{ n_heads: 1, n_kv_heads: 1, head_dim: 8 },
  };
  const cache = device.cache({ n_layers: 0, states: [1], slots: 1 });
  assertThrows(
    () => device.program({ ops: [attention], buffers: BUFFERS, cache }),
    M40Error,
    "the program has no KV cache: wanted one",
  );
});

Deno.test("caches: what is wrong with states and slots is named; slots take their bytes in addition to the KV blocks", async () => {
  await withDevice({}, ({ context, arena }) => {
    const desc = { ...cacheOf({}), states: [5, 64], slots: 3 };
    const [kvBlocks, both] = [context.cacheBytes(cacheOf({})), context.cacheBytes(desc)];
    assertEquals([kvBlocks.slotBytes, both.kvBlockBytes], [0, kvBlocks.kvBlockBytes]);
    assertEquals(both.bytes, kvBlocks.bytes + 3 * both.slotBytes);
    assertEquals(both.slotBytes >= 4 * (5 + 64), true);
    const slots = { ...cacheOf({ n_layers: 0 }), states: [5, 64], slots: 3 };
    const alone = context.cacheBytes(slots);
    assertEquals([alone.kvBlockBytes, alone.slotBytes], [0, both.slotBytes]);
    const used = arena.usedBytes;
    arena.createCache(desc);
    assertEquals(arena.usedBytes - used, both.bytes);

    const wrong = (changes: Partial<CacheDesc>, message: string) => {
      assertThrows(() => context.cacheBytes({ ...desc, ...changes }), M40Error, message);
    };
    wrong({ states: [] }, "a cache of 0 states in 3 slots: wanted at least 1 of each, or none");
    wrong({ slots: 0 }, "a cache of 2 states in 0 slots: wanted at least 1 of each, or none");
    wrong({ slots: NONE }, "a cache of 4294967295 slots: wanted fewer");
    wrong({ states: [5, 0] }, "state 1 of a cache has 0 values: wanted at least 1");
    const large = new Array<number>(256).fill(NONE);
    wrong(
      { states: large, slots: NONE - 1 },
      "slots of states of 4398046511104 bytes: more than 2^52",
    );
    wrong({ n_layers: 0 }, "a cache of no layers with 1 groups and 16 KV blocks: wanted 0 of each");
    wrong({ n_layers: 0, states: [], slots: 0 }, "a KV cache of 0 layers in 1 groups");
  });
});

Deno.test("steps: slots that are out of range, written twice or read where another writes are named", async () => {
  using device = new TestDevice();
  const cache = device.cache({ n_layers: 0, states: STATES, slots: 3 });
  const program = device.program({ ops: [operation(device, "conv")], buffers: BUFFERS, cache });
  const step = (...slots: [from: number, to: number][]) =>
    program.step(slots.map(([from, to], i): StepSequence => {
      const tokens = new Array(i + 1).fill(0);
      return { tokens, position: 0, kvBlocks: [], states: { from, to }, outputs: [] };
    }));
  const refused = (message: string, ...slots: [from: number, to: number][]) =>
    assertRejects(() => step(...slots), M40Error, message);
  await refused(
    "the states of sequence 1 are read from slot 3: wanted one below 3, or M40_NONE where it begins",
    [0, 1],
    [3, 2],
  );
  await refused("the states of sequence 0 are written to slot 3: wanted one below 3", [0, 3]);
  await refused("sequence 0 are written to slot 4294967295: wanted one below 3", [0, NONE]);
  await refused(
    "the states of sequences 0 and 2 are both written to slot 1: wanted a slot each",
    ...[[1, 1], [2, 2], [0, 1]] as [number, number][],
  );
  await refused(
    "the states of sequence 2 are read from slot 1, which sequence 0 writes: wanted one that no other writes",
    ...[[NONE, 1], [2, 2], [1, 0]] as [number, number][],
  );
  // Two may read one slot, if nobody writes it, and one may write what it reads.
  await step([0, 1], [0, 2]);
  await step([NONE, 1], [0, 0], [2, 2]);
});

Deno.test("steps: the slots of a sequence without tokens are ignored; a block without room for slots is refused", async () => {
  using device = new TestDevice();
  const cache = device.cache({ n_layers: 0, states: STATES, slots: 1 });
  const program = device.program({ ops: [operation(device, "conv")], buffers: BUFFERS, cache });
  const one = { tokens: [0], position: 0, kvBlocks: [], outputs: [], states: { from: 0, to: 0 } };
  await program.step([{ ...one, tokens: [], states: { from: 9, to: 0 } }, one]);
  const without = { ...one, states: undefined };
  const mixed = "sequences with states and without in one step";
  await assertRejects(() => program.step([one, without]), M40Error, mixed);
  // The block ends with the arrays before the slots.
  const bytes = STEP_HEADER.bytes + 12;
  const message =
    `states: 2 elements of 4 bytes from byte ${bytes} on do not fit the step block of ${bytes} bytes`;
  await assertRejects(() => program.step([without]), M40Error, message);
  // A program without states reads none.
  const copies = device.program({ ops: [operation(device, "copy")], buffers: BUFFERS, cache });
  await copies.step([{ ...one, states: { from: 7, to: 7 } }]);
  await copies.step([without]);
});

Deno.test("slots that a cache does not have, and memory of another size, are refused", async () => {
  using device = new TestDevice();
  const cache = device.cache({ n_layers: 0, states: STATES, slots: 3 });
  const { slotBytes } = device.context.cacheBytes(cache.desc);
  const memory = new Uint8Array(2 * slotBytes);
  for (const move of ["save", "restore"] as const) {
    const copy = (slots: Uint32Array<ArrayBuffer>, bytes: Uint8Array<ArrayBuffer>) =>
      cache[move]("slots", slots, bytes);
    const refused = (slots: number[], bytes: Uint8Array<ArrayBuffer>, message: string) =>
      assertRejects(() => copy(Uint32Array.from(slots), bytes), M40Error, message);
    await refused([2, 3], memory, "slots[1] is slot 3: the cache has 3 slots");
    const short = memory.subarray(1);
    const bytes = `${2 * slotBytes - 1} bytes for 2 slots: wanted ${slotBytes} a slot`;
    await refused([0, 1], short, bytes);
    await copy(new Uint32Array(0), new Uint8Array(0));
  }
  const kvBlocks = device.cache({});
  await assertRejects(
    () => kvBlocks.save("slots", Uint32Array.of(0), memory),
    M40Error,
    "slots[0] is slot 0: the cache has 0 slots",
  );
});
