import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import type { Cache } from "../../engine/device/context.ts";
import {
  attended,
  operations,
  PLAIN,
  randomRows,
  run,
  type Settings,
  type Steps,
  turned,
} from "../fixtures/attention_float64.ts";
import { assertClose, Random, TestDevice, tokenBuffer } from "../fixtures/device_harness.ts";

// The rope and attention operations over a kvBlockd cache, against float64 without KV blocks.

/** Ragged: prompts in chunks that end inside KV blocks, decoded tokens between them. */
const LENGTHS = [19, 4, 9];
const STEPS: [number, number][][] = [
  [[0, 7]],
  [[1, 1], [0, 5], [2, 3]],
  [[2, 1], [1, 1], [0, 4]],
  [[0, 1], [1, 2], [2, 5]],
  [[0, 2]],
];

const CASES: Record<string, Partial<Settings>> = {
  "grouped heads, interleaved pairs": {},
  "one KV head for all": { heads: 5, kvHeads: 1, rope: "halves" },
  "as many KV heads, no rope": { heads: 3, kvHeads: 3, rope: "none" },
  "part of the head rotated, in halves": { rope: "halves", ropeDim: 6 },
  "part of the head rotated, interleaved": { ropeDim: 4 },
  "frequency factors and scale": {
    freqScale: 0.25,
    factors: Float32Array.of(1, 1.5, 4, 8),
    freqBase: 500000,
  },
  "YaRN": {
    rope: "halves",
    headDim: 16,
    ropeDim: 16,
    freqScale: 0.25,
    attentionFactor: 1.1386,
    yarn: { extFactor: 1, betaFast: 32, betaSlow: 1, originalContext: 4096 },
  },
  "q and k norms": {
    rope: "halves",
    qNorm: new Random(1).floats(8),
    kNorm: new Random(2).floats(8),
  },
  "a window inside a KV block": { window: 3 },
  "a window over KV blocks": { window: 6 },
  "a window as long as a KV block": { window: 4 },
  "a window longer than the sequences": { window: 100 },
  "soft-capped scores": { softcap: 0.7, scale: 1 },
  "an odd head dimension without rope": { headDim: 11, rope: "none", ropeDim: 0 },
};

for (const [name, changes] of Object.entries(CASES)) {
  Deno.test(`attention over KV blocks: ${name}`, () => compare({ ...PLAIN, ...changes }));
}

async function compare(settings: Settings): Promise<void> {
  using device = new TestDevice({ threads: 2 });
  const rows = randomRows(new Random(10), settings, LENGTHS);
  const got = await run(device, settings, rows, STEPS);
  rows.forEach((sequence, i) => {
    assertClose(got[i].flat(), attended(sequence, settings).flat(), 3e-6);
  });
}

const NORMS = { qNorm: new Random(3).floats(8), kNorm: new Random(4).floats(8) };

/** Of version 6: what heads are, where they come from and what they see. */
const HEAD_CASES: Record<string, Partial<Settings>> = {
  "K and V in a buffer of their own": { kv: "apart" },
  "K and V that another operation stored": { kv: "shared", ...NORMS },
  "V of fewer values than K": { valueDim: 5, rope: "halves" },
  "V of more values than K, apart": { valueDim: 20, kv: "apart" },
  "V that is K before norm and rotation": { kv: "raw k", ...NORMS },
  "V that is K before norm and rotation, normalised": { kv: "raw k", vNorm: true, ...NORMS },
  "V that is the first values of K": { kv: "latent", kvHeads: 1, valueDim: 6 },
  "V that is K": { kv: "latent" },
  "a latent head of 576 values": {
    kv: "latent",
    heads: 3,
    kvHeads: 1,
    headDim: 576,
    valueDim: 512,
    ropeDim: 64,
    ropeOffset: 512,
    scale: 1 / 24,
  },
  "the end of the head rotated": { ropeDim: 4, ropeOffset: 4 },
  "the middle of the head rotated, in halves": { rope: "halves", ropeDim: 4, ropeOffset: 3 },
  "norms after the rotation": { headNorm: "after", ...NORMS },
  "norms before the rotation without weights": { headNorm: "before" },
  "norms after the rotation without weights, halves": { headNorm: "after", rope: "halves" },
  "norms of one of q and k with weights": { headNorm: "after", qNorm: NORMS.qNorm },
  "norms without rotation": { headNorm: "after", rope: "none", ...NORMS },
  "V normalised": { vNorm: true },
  "V normalised, K and V apart, of other sizes": { vNorm: true, valueDim: 12, kv: "apart" },
  "a temperature that grows with the position": {
    temperature: { scale: 0.7, length: 4, offset: 0 },
  },
  "a temperature from the second position on": {
    temperature: { scale: 0.3, length: 5, offset: 4 },
  },
  "chunks inside a KV block": { chunk: 3 },
  "chunks over KV blocks": { chunk: 6 },
  "chunks as long as a KV block": { chunk: 4 },
  "chunks of one token": { chunk: 1 },
  "a chunk longer than the sequences": { chunk: 100 },
  "sinks": { sinks: Float32Array.of(0.5, -3, 2, 9) },
  "sinks of capped scores in a window": {
    sinks: Float32Array.of(0.5, -3, 2, -Infinity),
    softcap: 0.7,
    window: 5,
  },
};

for (const [name, changes] of Object.entries(HEAD_CASES)) {
  Deno.test(`attention over KV blocks: ${name}`, () => compare({ ...PLAIN, ...changes }));
}

for (const type of [0, 1, 8]) {
  Deno.test(
    `attention of latent, sunk and chunked heads has the same bits however steps are made, cache type ${type}`,
    async () => {
      using device = new TestDevice({ threads: 2 });
      for (
        const changes of [
          { kv: "latent", kvHeads: 1, headDim: 96, valueDim: 64, ropeDim: 32, ropeOffset: 64 },
          { kv: "apart", headDim: 64, valueDim: 32, chunk: 7, headNorm: "after", vNorm: true },
          {
            headDim: 64,
            sinks: Float32Array.of(0.5, -3, 2, 9),
            temperature: { scale: 0.7, length: 4, offset: 1 },
          },
        ] as const
      ) {
        const settings: Settings = { ...PLAIN, scale: 1 / 8, ...changes };
        const rows = randomRows(new Random(16), settings, [11, 24]);
        // Prompts of 6 and 9 tokens, the others decoded.
        const steps: Steps[] = [
          [
            [[0, 6]],
            [[1, 9]],
            ...new Array(5).fill([[0, 1, true]]),
            ...new Array(15).fill([[1, 1, true]]),
          ],
          [
            [[0, 4], [1, 1]],
            [[1, 8], [0, 2]],
            [[0, 3, true], [1, 8, true]],
            [[1, 1, true]],
            [[1, 6, true], [0, 2, true]],
          ],
          [[[1, 9]], [[1, 2, true], [0, 6]], [[1, 13, true]], [[0, 5, true]]],
        ];
        const results: number[][][][] = [];
        for (const order of steps) {
          results.push(await run(device, settings, rows, order, { type }));
        }
        for (const result of results.slice(1)) assertEquals(result, results[0]);
        const tolerance = { 0: 3e-6, 1: 2e-3, 8: 4e-2 }[type]!;
        rows.forEach((sequence, i) => {
          assertClose(results[0][i].flat(), attended(sequence, settings).flat(), tolerance);
        });
      }
    },
  );
}

Deno.test("attention: KV blocks of 1, 2 and 16 tokens give the same to rounding", async () => {
  using device = new TestDevice({ threads: 2 });
  const rows = randomRows(new Random(11), PLAIN, [13]);
  const wanted = attended(rows[0], PLAIN).flat();
  for (const kvBlockTokens of [1, 2, 16]) {
    const got = await run(device, PLAIN, rows, [[[0, 6]], [[0, 1]], [[0, 6]]], { kvBlockTokens });
    assertClose(got[0].flat(), wanted, 3e-6);
  }
});

Deno.test("attention: caches of F16 and Q8_0 come as near as their precision allows", async () => {
  using device = new TestDevice({ threads: 2 });
  const settings = { ...PLAIN, headDim: 64, ropeDim: 64, scale: 1 / 8 };
  const rows = randomRows(new Random(12), settings, LENGTHS);
  for (const [type, tolerance] of [[1, 1e-3], [8, 2e-2]]) {
    const got = await run(device, settings, rows, STEPS, { type });
    rows.forEach((sequence, i) => {
      assertClose(got[i].flat(), attended(sequence, settings).flat(), tolerance);
    });
  }
});

Deno.test("rope angles stay exact at position 100,000", async () => {
  using device = new TestDevice();
  const settings: Settings = { ...PLAIN, heads: 1, kvHeads: 1, freqBase: 500000 };
  const cache = device.cache({ n_kv_heads: 1, head_dim: 8, kv_block_tokens: 1024, n_kv_blocks: 1 });
  const program = device.program({
    ops: operations(device, settings).slice(0, 1),
    buffers: [tokenBuffer(24)],
    cache,
    limits: { n_sequence_kv_blocks: 128 },
  });
  const values = new Random(13).floats(24);
  program.writeBuffer(0, values);
  const position = 100_000;
  await program.step([{ tokens: [0], position, kvBlocks: [new Array(98).fill(0)], outputs: [] }]);
  const got = program.readBuffer(0, new Float32Array(8));
  assertClose(got, turned(Array.from(values.slice(0, 8)), position, settings), 3e-7);
});

Deno.test("cache KV blocks: copied, saved and restored KV blocks hold the same bits", async () => {
  using device = new TestDevice();
  const random = new Random(14);
  const settings: Settings = { ...PLAIN, heads: 2, kvHeads: 2 };
  const cache: Cache = device.cache({ n_layers: 1, n_kv_heads: 2, type: 1, n_kv_blocks: 8 });
  const { kvBlockBytes } = device.context.cacheBytes(cache.desc);
  const program = device.program({
    ops: operations(device, settings),
    buffers: [tokenBuffer(48), tokenBuffer(16)],
    cache,
  });
  const rows = random.floats(8 * 48);
  program.writeBuffer(0, rows.slice(0, 7 * 48));
  await program.step(
    [{ tokens: new Array(7).fill(0), position: 0, kvBlocks: [[2, 5]], outputs: [] }],
  );
  const last = async (kvBlocks: number[]) => {
    program.writeBuffer(0, rows.slice(7 * 48));
    await program.step([{ tokens: [0], position: 7, kvBlocks: [kvBlocks], outputs: [] }]);
    return Array.from(program.readBuffer(1, new Float32Array(16)));
  };
  await cache.copyKvBlocks(Uint32Array.of(2, 5), Uint32Array.of(7, 0));
  const saved = new Uint8Array(2 * kvBlockBytes);
  await cache.save("kvBlocks", Uint32Array.of(5, 2), saved);
  const wanted = await last([2, 5]);
  assertEquals(await last([7, 0]), wanted);
  assertNotEquals(await last([3, 4]), wanted);
  await cache.restore("kvBlocks", Uint32Array.of(4, 3), saved);
  assertEquals(await last([3, 4]), wanted);

  // Asked for together, they are done one after the other, and one that fails stops none.
  const moved = new Uint8Array(2 * kvBlockBytes);
  program.writeBuffer(0, rows.slice(7 * 48));
  const failing = cache.copyKvBlocks(Uint32Array.of(8), Uint32Array.of(0));
  const asked = [
    cache.copyKvBlocks(Uint32Array.of(2, 5), Uint32Array.of(1, 6)),
    cache.save("kvBlocks", Uint32Array.of(6, 1), moved),
    cache.restore("kvBlocks", Uint32Array.of(4, 3), moved.subarray()),
  ];
  const stepped = program.step([{ tokens: [0], position: 7, kvBlocks: [[3, 4]], outputs: [] }]);
  await assertRejects(
    () => failing,
    M40Error,
    "from[0] is KV block 8: the KV cache has 8 KV blocks",
  );
  await Promise.all(asked);
  await stepped;
  assertEquals(Array.from(program.readBuffer(1, new Float32Array(16))), wanted);
  assertEquals(await last([1, 6]), wanted);
});
