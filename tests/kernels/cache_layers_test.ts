import { assertEquals, assertRejects } from "@std/assert";
import type { Cache } from "../../engine/device/context.ts";
import type { DeviceProgram } from "../../engine/device/device_program.ts";
import { NONE, Rope } from "../../engine/device/structs.ts";
import { M40Error } from "../../engine/errors.ts";
import { Random, row, TestDevice, tokenBuffer } from "../fixtures/device_harness.ts";
import type { GivenOperation } from "../fixtures/operations.ts";

// Caches of different layers, in groups with KV blocks of their own out of one pool: each layer computes what it does
// in a cache of its own, and reads no KV blocks before its window.

interface Layer {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly valueDim: number;
  /** Whether values are the first of the keys. */
  readonly latent?: boolean;
  readonly window: number;
  readonly chunk: number;
  readonly group: number;
}

const KV_BLOCK = 4;
const LAYERS: readonly Layer[] = [
  { heads: 4, kvHeads: 2, headDim: 32, valueDim: 32, window: 0, chunk: 0, group: 0 },
  { heads: 2, kvHeads: 1, headDim: 96, valueDim: 96, window: 9, chunk: 0, group: 1 },
  { heads: 6, kvHeads: 3, headDim: 64, valueDim: 64, window: 9, chunk: 0, group: 1 },
  {
    heads: 4,
    kvHeads: 1,
    headDim: 576,
    valueDim: 512,
    latent: true,
    window: 0,
    chunk: 0,
    group: 0,
  },
  { heads: 2, kvHeads: 2, headDim: 64, valueDim: 32, window: 30, chunk: 0, group: 2 },
  { heads: 2, kvHeads: 1, headDim: 96, valueDim: 64, latent: true, window: 30, chunk: 0, group: 2 },
  { heads: 4, kvHeads: 2, headDim: 64, valueDim: 64, window: 0, chunk: 14, group: 3 },
];
/** What the groups see. */
const GROUPS = [0, 1, 2, 3].map((group) => LAYERS.find((layer) => layer.group === group)!);
const LENGTHS = [90, 37];
const N_KV_BLOCKS = GROUPS.length *
  LENGTHS.reduce((sum, length) => sum + Math.ceil(length / KV_BLOCK), 0);

const widthOf = ({ heads, kvHeads, headDim, valueDim, latent }: Layer) =>
  (heads + kvHeads) * headDim + (latent ? 0 : kvHeads * valueDim);
const columnsOf = ({ heads, valueDim }: Layer) => heads * valueDim;

/** A program of layers, each with buffers of its own. */
function programOf(
  device: TestDevice,
  layers: readonly Layer[],
  type: number,
): { program: DeviceProgram; cache: Cache } {
  const groups = [...new Set(layers.map(({ group }) => group))];
  const cache = device.arena.createCache({
    n_layers: layers.length,
    n_groups: groups.length,
    kv_block_tokens: KV_BLOCK,
    n_kv_blocks: N_KV_BLOCKS,
    type,
    n_kv_heads: layers.map(({ kvHeads }) => kvHeads),
    head_dim: layers.map(({ headDim }) => headDim),
    value_dim: layers.map(({ valueDim, latent }) => latent ? 0 : valueDim),
    group: layers.map(({ group }) => groups.indexOf(group)),
    states: [],
    slots: 0,
  });
  const ops = layers.flatMap((layer, i): GivenOperation[] => {
    const shape = {
      layer: i,
      n_heads: layer.heads,
      n_kv_heads: layer.kvHeads,
      head_dim: layer.headDim,
      value_dim: layer.valueDim,
    };
    const rope = { rope: Rope.halves, rope_dim: 32, freq_scale: 1 };
    const values = layer.latent ? { v_column: NONE } : {};
    const { window, chunk } = layer;
    return [
      { kind: "rope_store", q: 2 * i, ...shape, ...rope, ...values },
      { kind: "attention", q: 2 * i, output: 2 * i + 1, ...shape, window, chunk, scale: 0.2 },
    ];
  });
  const program = device.program({
    ops,
    buffers: layers.flatMap((layer) => [
      tokenBuffer(widthOf(layer)),
      tokenBuffer(columnsOf(layer)),
    ]),
    cache,
    limits: { n_sequence_kv_blocks: Math.ceil(Math.max(...LENGTHS) / KV_BLOCK) },
  });
  return { program, cache };
}

/** Of each layer the rows of its input, [sequence][position]. */
function inputs(): number[][][][] {
  const random = new Random(31);
  return LAYERS.map((layer) =>
    LENGTHS.map((length) => Array.from({ length }, () => Array.from(random.floats(widthOf(layer)))))
  );
}

/** The first KV block that a row at a position attends to. */
function firstKvBlock(layer: Layer, position: number): number {
  return Math.floor(firstSeen(layer, position) / KV_BLOCK);
}

function firstSeen({ window, chunk }: Layer, position: number): number {
  if (chunk > 0) return position - position % chunk;
  return window === 0 ? 0 : Math.max(0, position + 1 - window);
}

/** KV blocks of each sequence and group, in no order; those before the group's window at a position are absent. */
class Tables {
  private readonly kvBlocks: number[][][];

  constructor(seed: number, private readonly groups: readonly Layer[]) {
    const random = new Random(seed);
    const free = Array.from({ length: N_KV_BLOCKS }, (_, kvBlock) => kvBlock);
    this.kvBlocks = LENGTHS.map((length) =>
      groups.map(() =>
        Array.from(
          { length: Math.ceil(length / KV_BLOCK) },
          () => free.splice(random.below(free.length), 1)[0],
        )
      )
    );
  }

  of(sequence: number, position: number, tokens: number): number[][] {
    return this.groups.map((group, i) =>
      this.kvBlocks[sequence][i].slice(0, Math.ceil((position + tokens) / KV_BLOCK))
        .map((kvBlock, n) => n < firstKvBlock(group, position) ? NONE : kvBlock)
    );
  }
}

/** The layers' outputs, [layer][sequence][position], of sequences in chunks and decoded rows side by side. */
async function run(
  device: TestDevice,
  layers: readonly Layer[],
  rows: readonly number[][][][],
  type: number,
): Promise<number[][][][]> {
  const { program } = programOf(device, layers, type);
  const groups = GROUPS.filter(({ group }) => layers.some((layer) => layer.group === group));
  const tables = new Tables(7 + layers.length, groups);
  const outputs = layers.map(() => LENGTHS.map((): number[][] => []));
  const done = LENGTHS.map(() => 0);
  const parts: [sequence: number, tokens: number, decode: boolean][][] = [
    [[0, 13, false], [1, 30, false]],
    [[0, 41, false]],
    ...Array.from(
      { length: 7 },
      (_, i) =>
        [[1, 1, true], [0, i < 5 ? 3 : 1, i % 2 === 1]].sort((a, b) =>
          Number(b[2]) - Number(a[2])
        ) as [number, number, boolean][],
    ),
    [[0, 3, true]],
    [[0, 16, false]],
  ];
  for (const step of parts) {
    const batch = step.map(([sequence, count, decode]) => {
      const position = done[sequence];
      const tokens = new Array(count).fill(0);
      done[sequence] += count;
      const kvBlocks = tables.of(sequence, position, count);
      return { sequence, tokens, position, kvBlocks, decode, outputs: [] };
    });
    layers.forEach((_, i) => {
      const values = batch.flatMap(({ sequence, position, tokens }) =>
        rows[i][sequence].slice(position, position + tokens.length)
      );
      program.writeBuffer(2 * i, Float32Array.from(values.flat()));
    });
    await program.step(batch);
    const n = batch.reduce((sum, { tokens }) => sum + tokens.length, 0);
    layers.forEach((layer, i) => {
      const columns = columnsOf(layer);
      const got = Array.from(program.readBuffer(2 * i + 1, new Float32Array(n * columns)));
      let at = 0;
      for (const { sequence, tokens } of batch) {
        for (let t = 0; t < tokens.length; t++) outputs[i][sequence].push(row(got, at++, columns));
      }
    });
  }
  return outputs;
}

for (const [name, type] of [["F32", 0], ["F16", 1], ["Q8_0", 8]] as const) {
  Deno.test(`layers of all shapes in four groups of a cache of ${name} compute what each does in one of its own`, async () => {
    using device = new TestDevice({ arenaBytes: 1 << 27 });
    const rows = inputs();
    const together = await run(device, LAYERS, rows, type);
    for (const [i, layer] of LAYERS.entries()) {
      const [alone] = await run(device, [layer], [rows[i]], type);
      assertEquals(together[i], alone, `layer ${i}`);
    }
  });
}

Deno.test("a step is refused where a KV block that a row attends to is absent, and runs where those before are", async () => {
  using device = new TestDevice({ arenaBytes: 1 << 27 });
  const { program } = programOf(device, LAYERS, 0);
  const tables = new Tables(3, GROUPS);
  // The first of several rows sees the furthest back.
  for (
    const [position, tokens, decode] of [[50, 1, true], [41, 4, true], [39, 20, false]] as const
  ) {
    const step = (kvBlocks: number[][]) =>
      program.step([{
        tokens: new Array(tokens).fill(0),
        position,
        kvBlocks,
        decode,
        outputs: [],
      }]);
    await step(tables.of(0, position, tokens));
    for (const [group, reach] of GROUPS.entries()) {
      for (const index of [firstKvBlock(reach, position), Math.floor(position / KV_BLOCK)]) {
        const kvBlocks = tables.of(0, position, tokens);
        kvBlocks[group][index] = NONE;
        await assertRejects(
          () => step(kvBlocks),
          M40Error,
          `KV block ${index} of sequence 0 in group ${group} is absent (M40_NONE): the step reads its ` +
            `positions from ${firstSeen(reach, position)} on`,
        );
      }
    }
    const kvBlocks = tables.of(0, position, tokens);
    kvBlocks[2][kvBlocks[2].length - 1] = N_KV_BLOCKS;
    await assertRejects(
      () => step(kvBlocks),
      M40Error,
      `in group 2 is ${N_KV_BLOCKS}: the KV cache has ${N_KV_BLOCKS} KV blocks`,
    );
  }
});

Deno.test("a KV block is as large as the largest group's, and what is wrong with groups is named", () => {
  using device = new TestDevice();
  const desc = {
    n_layers: 3,
    n_groups: 2,
    kv_block_tokens: KV_BLOCK,
    n_kv_blocks: 2,
    type: 1,
    n_kv_heads: [1, 2, 1],
    head_dim: [64, 32, 576],
    value_dim: [64, 32, 0],
    group: [0, 0, 1],
    states: [],
    slots: 0,
  };
  const { kvBlockBytes } = device.context.cacheBytes(desc);
  // Of the second group K alone is stored.
  assertEquals(kvBlockBytes, 2 * 576 * KV_BLOCK);
  const wrong = (changes: Partial<typeof desc>, message: RegExp) => {
    const error = (() => {
      try {
        device.context.cacheBytes({ ...desc, ...changes });
      } catch (error) {
        return error as M40Error;
      }
    })();
    assertEquals(message.test(error?.message ?? "no error"), true, error?.message);
  };
  wrong({ group: [0, 0, 2] }, /layer 2 of a KV cache is in group 2: wanted one below 2/);
  wrong({ group: [0, 0, 0] }, /group 1 of a KV cache has no layer/);
  wrong({ n_groups: 17 }, /3 layers in 17 groups: wanted 1 to 256 in 1 to 16/);
  wrong({ head_dim: [64, 0, 8] }, /layer 1 of a KV cache has 2 KV heads of dimension 0/);
  return Promise.resolve();
});
