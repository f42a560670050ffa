import type { Context } from "./device/context.ts";
import type { DeviceInfo, KernelLibrary } from "./device/library.ts";
import { isDeviceLoss } from "./errors.ts";
import { bandwidthOf } from "./pull/card.ts";

/** A page that is copied: 16 MiB, as each is a copy of its own. */
const SHAPE = { kvHeads: 64, headDim: 128, pageTokens: 256 };
/** Pages that are copied at a time: more than any cache of the device holds; of the emulated device one. */
const PAGES = 12;
const REPETITIONS = 4;
/** How long a device copies before it is timed, in milliseconds: an idle one has to raise its clocks. */
const WARM_UP_MS = 100;

/** A card whose memory is compared with others'. */
export interface ComparedCard {
  readonly library: KernelLibrary;
  readonly context: Context;
  readonly info: DeviceInfo;
}

/**
 * What the memory of each card gives, in bytes a second, to be compared with the others' alone. Cards of one name and one
 * memory are alike without being measured; others copy within themselves for a moment. It is rounded, so that the same cards
 * are compared alike the next time as well.
 *
 * @throws {M40Error} "device" where one fails.
 */
export async function compareBandwidths(cards: readonly ComparedCard[]): Promise<number[]> {
  const kinds = new Set(cards.map(({ info }) => kindOf(info)));
  if (kinds.size === 1) return cards.map(() => 1);
  const known = new Map<string, number>();
  for (const { library, context, info } of cards) {
    const kind = kindOf(info);
    if (known.has(kind)) continue;
    known.set(kind, rounded(await measureBandwidth(library, context, info)));
  }
  return cards.map(({ info }) => known.get(kindOf(info))!);
}

function kindOf({ name, memoryBytes, memoryClockKhz, memoryBusBits, ecc }: DeviceInfo): string {
  return JSON.stringify([name, memoryBytes, memoryClockKhz, memoryBusBits, ecc]);
}

/** Bytes a second that a device reads and writes when it copies; by its clock and width where there is no room for that. */
export async function measureBandwidth(
  library: KernelLibrary,
  context: Context,
  info: DeviceInfo,
): Promise<number> {
  const n = library.backend === "cuda" ? PAGES : 1;
  const { kvHeads, headDim, pageTokens } = SHAPE;
  const desc = {
    ...{ n_layers: 1, n_groups: 1, page_tokens: pageTokens, n_pages: 2 * n, type: 0 },
    ...{ n_kv_heads: [kvHeads], head_dim: [headDim], value_dim: [headDim], group: [0] },
    ...{ states: [], slots: 0 },
  };
  const { bytes, pageBytes } = context.cacheBytes(desc);
  let arena;
  try {
    arena = context.createArena(bytes);
  } catch (error) {
    if (isDeviceLoss(error)) throw error;
    return bandwidthOf(info) ?? 1;
  }
  try {
    const cache = arena.createCache(desc);
    const [from, to] = [0, n].map((first) => Uint32Array.from({ length: n }, (_, i) => first + i));
    const begun = performance.now();
    while (performance.now() - begun < WARM_UP_MS) await cache.copyPages(from, to);
    let best = Infinity;
    for (let i = 0; i < REPETITIONS; i++) {
      const start = performance.now();
      await cache.copyPages(from, to);
      best = Math.min(best, performance.now() - start);
    }
    return 2 * n * pageBytes / (best / 1000);
  } finally {
    arena.close();
  }
}

/** Two digits of a number. */
function rounded(value: number): number {
  return Number(value.toPrecision(2));
}
