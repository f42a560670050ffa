import { MAX_CACHE_GROUPS } from "../device/mod.ts";
import type { CacheLayer } from "../program/mod.ts";
import { type KvBlockGroup, KvBlockLayout } from "../scheduler/mod.ts";

/** A model's layers in groups that have KV blocks of their own. */
export interface CacheGroups {
  readonly groups: readonly KvBlockGroup[];
  /** Of each layer the index of its group. */
  readonly groupOf: readonly number[];
}

/** Layers that attend alike, cut into more and more groups. */
interface LayerClass {
  readonly reach: KvBlockGroup;
  /** KV blocks of a group that one sequence needs. */
  readonly kvBlocks: number;
  /** The layers of each group, where they are cut into one, two and so on; the largest group's size. */
  readonly cuts: readonly { readonly groups: readonly number[][]; readonly size: number }[];
}

/**
 * Groups the layers of a model by their windows, so that KV blocks behind windows can be released and one sequence of
 * a whole context takes the least memory. All KV blocks have one size, so the groups should have, too.
 *
 * @param contextTokens Tokens that a sequence may have; windows that are no smaller count as none.
 * @param stepTokens How many of a sequence's tokens a step computes at most.
 */
export function groupCacheLayers(
  layers: readonly CacheLayer[],
  contextTokens: number,
  stepTokens: number,
  kvBlockTokens: number,
): CacheGroups {
  // Without attention, a sequence needs no KV block but that of its next token, which counts it.
  if (layers.length === 0) return { groups: [{ window: 1, chunk: 0 }], groupOf: [] };
  const classes = classesOf(layers, contextTokens, stepTokens, kvBlockTokens);
  let best: { cuts: LayerClass["cuts"][number][]; cost: number; count: number } | undefined;
  const sizes = new Set(classes.flatMap(({ cuts }) => cuts.map(({ size }) => size)));
  // What a KV block may hold: of each class as few groups as that takes.
  for (const largest of sizes) {
    const cuts = classes.map((one) => one.cuts.find(({ size }) => size <= largest));
    if (!cuts.every((cut) => cut !== undefined)) continue;
    const count = cuts.reduce((sum, { groups }) => sum + groups.length, 0);
    if (count > MAX_CACHE_GROUPS) continue;
    const kvBlocks = cuts.reduce(
      (sum, { groups }, i) => sum + groups.length * classes[i].kvBlocks,
      0,
    );
    const size = Math.max(...cuts.map((cut) => cut.size));
    const cost = size * kvBlocks;
    if (best === undefined || cost < best.cost || (cost === best.cost && count < best.count)) {
      best = { cuts, cost, count };
    }
  }
  const whole = layers.reduce((sum, layer) => sum + sizeOf(layer), 0) *
    Math.ceil(contextTokens / kvBlockTokens);
  if (best === undefined || whole <= best.cost) {
    return { groups: [{ window: 0, chunk: 0 }], groupOf: layers.map(() => 0) };
  }
  const groups: KvBlockGroup[] = [];
  const groupOf = new Array<number>(layers.length);
  for (const [i, { reach }] of classes.entries()) {
    for (const members of best.cuts[i].groups) {
      for (const layer of members) groupOf[layer] = groups.length;
      groups.push(reach);
    }
  }
  return { groups, groupOf };
}

function classesOf(
  layers: readonly CacheLayer[],
  contextTokens: number,
  stepTokens: number,
  kvBlockTokens: number,
): LayerClass[] {
  const members = new Map<string, { reach: KvBlockGroup; layers: number[] }>();
  for (const [i, { window, chunk }] of layers.entries()) {
    const reach = {
      window: window < contextTokens ? window : 0,
      chunk: chunk < contextTokens ? chunk : 0,
    };
    const key = `${reach.window} ${reach.chunk}`;
    const known = members.get(key);
    if (known) known.layers.push(i);
    else members.set(key, { reach, layers: [i] });
  }
  return [...members.values()].map(({ reach, layers: own }) => {
    const layout = new KvBlockLayout(kvBlockTokens, [reach]);
    const most = Math.min(own.length, MAX_CACHE_GROUPS);
    return {
      reach,
      kvBlocks: layout.most(contextTokens, stepTokens),
      cuts: Array.from({ length: most }, (_, i) => cut(layers, own, i + 1)),
    };
  });
}

/** Layers in so many groups of nearly the same size: each, the largest first, where there is least. */
function cut(
  layers: readonly CacheLayer[],
  members: readonly number[],
  count: number,
): LayerClass["cuts"][number] {
  const groups = Array.from({ length: count }, () => ({ members: [] as number[], size: 0 }));
  for (const layer of members.toSorted((a, b) => sizeOf(layers[b]) - sizeOf(layers[a]))) {
    const smallest = groups.reduce((least, one) => one.size < least.size ? one : least);
    smallest.members.push(layer);
    smallest.size += sizeOf(layers[layer]);
  }
  return {
    groups: groups.map((group) => group.members),
    size: Math.max(...groups.map(({ size }) => size)),
  };
}

/** Values that a layer keeps of a token. */
export function sizeOf({ kvHeads, headDim, valueDim }: CacheLayer): number {
  return kvHeads * (headDim + valueDim);
}
