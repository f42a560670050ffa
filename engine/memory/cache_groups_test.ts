import { assert, assertEquals, assertThrows } from "@std/assert";
import { type CacheGroups, groupCacheLayers, sizeOf } from "./cache_groups.ts";
import { M40Error } from "../errors.ts";
import type { CacheLayer } from "../program/program.ts";
import { OwnKvBlocks } from "../scheduler/kv_blocks/own_kv_blocks.ts";
import { KvBlockLayout, kvBlocksIn, NO_KV_BLOCK } from "../scheduler/kv_blocks/kv_block_layout.ts";

// Which layers share KV blocks, and what that costs in memory.

const KV_BLOCK = 32;
const STEP = 512;
const CONTEXT = 32_768;

/** So many layers that are alike. */
function layers(count: number, layer: Partial<CacheLayer> = {}): CacheLayer[] {
  const one = { kvHeads: 8, headDim: 64, valueDim: 64, window: 0, chunk: 0, ...layer };
  return Array.from({ length: count }, () => one);
}

/** Layers of two kinds, one of the second after every `period - 1` of the first. */
function alternating(count: number, period: number, first: CacheLayer, second: CacheLayer) {
  return Array.from({ length: count }, (_, i) => (i + 1) % period === 0 ? second : first);
}

/** Values that KV blocks for one sequence of the whole context hold, or for more of them. */
function planned(all: readonly CacheLayer[], { groups, groupOf }: CacheGroups, sequences = 1) {
  const sizes = groups.map(() => 0);
  all.forEach((layer, i) => sizes[groupOf[i]] += sizeOf(layer));
  const layout = new KvBlockLayout(KV_BLOCK, groups);
  const kvBlocks = layout.most(CONTEXT, STEP) + (sequences - 1) * layout.most(CONTEXT, 1);
  return kvBlocks * KV_BLOCK * Math.max(...sizes);
}

/** Values that the windows leave of so many sequences, plus those of the tokens of a step. */
function allowed(all: readonly CacheLayer[], sequences = 1, step = STEP) {
  return all.reduce((sum, layer) => {
    const tokens = layer.window === 0 ? CONTEXT : layer.window + step / sequences;
    return sum + sequences * sizeOf(layer) * Math.min(tokens, CONTEXT);
  }, 0);
}

const gemma = { kvHeads: 8, headDim: 256, valueDim: 256 };
/** How many groups there are, and how much more than the windows allow is taken. */
const MODELS: Record<string, { layers: CacheLayer[]; groups: number; more: number }> = {
  "gpt-oss 20B": {
    layers: alternating(24, 2, layers(1, { window: 128 })[0], layers(1)[0]),
    groups: 2,
    more: 0.01,
  },
  "Gemma 3 12B": {
    layers: alternating(48, 6, layers(1, { ...gemma, window: 1024 })[0], layers(1, gemma)[0]),
    groups: 6,
    more: 0.01,
  },
  "Gemma 3 27B": {
    layers: alternating(
      62,
      6,
      layers(1, { ...gemma, kvHeads: 16, headDim: 128, valueDim: 128, window: 1024 })[0],
      layers(1, { ...gemma, kvHeads: 16, headDim: 128, valueDim: 128 })[0],
    ),
    groups: 13,
    more: 0.02,
  },
  // 16 groups are too few for layers of such different sizes to fill their KV blocks.
  "a model with 8 heads of 256 in windows and 2 of 512 without": {
    layers: alternating(
      30,
      6,
      layers(1, { ...gemma, window: 1024 })[0],
      layers(1, { kvHeads: 2, headDim: 512, valueDim: 512 })[0],
    ),
    groups: 14,
    more: 0.11,
  },
};

for (const [name, model] of Object.entries(MODELS)) {
  Deno.test(`32k tokens of ${name} take hardly more than its windows allow: ${model.more * 100}%`, () => {
    const cut = groupCacheLayers(model.layers, CONTEXT, STEP, KV_BLOCK);
    for (const sequences of [1, 4, 16]) {
      const share = planned(model.layers, cut, sequences) / allowed(model.layers, sequences);
      assert(share >= 1 && share <= 1 + model.more, `${sequences} sequences: ${share}`);
    }
    // Once a prompt is computed, its windows alone are held.
    const layout = new KvBlockLayout(KV_BLOCK, cut.groups);
    const held = layout.most(CONTEXT, 1) / layout.most(CONTEXT, STEP);
    const share = held * planned(model.layers, cut) / allowed(model.layers, 1, 0);
    assert(share <= 1 + model.more + 0.01, `between steps: ${share}`);
    assertEquals(cut.groups.length, model.groups);
  });
}

Deno.test("layers that attend alike are in groups of their own, and each layer is in one", () => {
  const model = MODELS["Gemma 3 12B"].layers;
  const { groups, groupOf } = groupCacheLayers(model, CONTEXT, STEP, KV_BLOCK);
  model.forEach(({ window }, i) => assertEquals(groups[groupOf[i]].window, window));
  assertEquals(groups.filter(({ window }) => window === 0).length, 1);
  for (const group of groups.keys()) {
    assertEquals(groupOf.filter((one) => one === group).length, 8);
  }
});

Deno.test("windows that the context or a step does not go beyond make no groups", () => {
  const model = MODELS["gpt-oss 20B"].layers;
  const groupsOf = (context: number) => groupCacheLayers(model, context, STEP, KV_BLOCK).groups;
  for (const context of [64, 128, 128 + STEP]) {
    assertEquals(groupsOf(context), [{ window: 0, chunk: 0 }], `a context of ${context}`);
  }
  assertEquals(groupsOf(2048).length, 2);
  // All with one window: one group, which has it.
  assertEquals(groupCacheLayers(layers(32, { window: 4096 }), CONTEXT, STEP, KV_BLOCK).groups, [
    { window: 4096, chunk: 0 },
  ]);
  assertEquals(groupCacheLayers(layers(32, { chunk: 8192 }), CONTEXT, STEP, KV_BLOCK).groups, [
    { window: 0, chunk: 8192 },
  ]);
});

Deno.test("more kinds of windows than there may be groups make one that sees everything", () => {
  const model = Array.from({ length: 40 }, (_, i) => layers(1, { window: 100 + i })[0]);
  const { groups, groupOf } = groupCacheLayers(model, CONTEXT, STEP, KV_BLOCK);
  assertEquals(groups, [{ window: 0, chunk: 0 }]);
  assertEquals(new Set(groupOf), new Set([0]));
});

Deno.test("a sequence never needs more KV blocks of a group than are counted for it", () => {
  for (
    const group of [{ window: 0, chunk: 0 }, { window: 40, chunk: 0 }, { window: 0, chunk: 50 }]
  ) {
    for (const step of [1, 7, 32, 100]) {
      const layout = new KvBlockLayout(KV_BLOCK, [group]);
      let most = 0;
      for (let start = 0; start < 500; start++) {
        const last = start + step;
        const kvBlocks = Math.ceil(last / KV_BLOCK) - layout.firstKvBlock(0, start);
        most = Math.max(most, kvBlocks);
        assert(
          kvBlocks <= layout.most(last, step),
          `${JSON.stringify(group)}: ${start} to ${last}`,
        );
      }
      if (group.window + group.chunk > 0) assert(most >= layout.most(500, step) - 2);
    }
  }
});

Deno.test("a sequence outside the scheduler reuses KV blocks behind its windows, and has what each step sees", () => {
  const reaches = [{ window: 0, chunk: 0 }, { window: 70, chunk: 0 }, { window: 0, chunk: 90 }];
  const layout = new KvBlockLayout(KV_BLOCK, reaches);
  const [length, step] = [1000, 50];
  const kvBlocks = Array.from({ length: layout.most(length, step) }, (_, i) => 100 + i);
  const own = new OwnKvBlocks(layout, kvBlocks);
  for (let position = 0; position < length; position += step) {
    const table = own.cover(position, step);
    const seen = table.flatMap((list, group) =>
      list.slice(layout.firstKvBlock(group, position), Math.ceil((position + step) / KV_BLOCK))
    );
    assert(seen.every((kvBlock) => kvBlocks.includes(kvBlock)), `from position ${position} on`);
    assertEquals(new Set(seen).size, seen.length, "a KV block in two places");
    assertEquals(
      kvBlocksIn(table).toSorted(),
      seen.toSorted(),
      "a KV block that nothing sees is held",
    );
  }
  // One that starts at a later position has no KV blocks behind the windows either.
  const late = new OwnKvBlocks(layout, kvBlocks.slice(0, layout.most(950 + step, step)));
  assertEquals(
    late.cover(950, step).map((list) => list.map((kvBlock) => kvBlock === NO_KV_BLOCK)),
    own.cover(950, step).map((list) => list.map((kvBlock) => kvBlock === NO_KV_BLOCK)),
  );
  assertThrows(() => new OwnKvBlocks(layout, [1, 2]).cover(0, step), M40Error, "too few KV blocks");
});
