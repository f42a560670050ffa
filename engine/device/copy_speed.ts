import type { Cache, Context } from "./context.ts";

/**
 * A KV block of a cache that is there to be copied: 16 MiB, as each is a copy of its own, which costs some
 * microseconds.
 */
const SHAPE = { kvHeads: 64, headDim: 128, kvBlockTokens: 256 };
/** How long a device copies before it is timed, in milliseconds: an idle one has to raise its clocks. */
const WARM_UP_MS = 200;
/** One call takes so long at least, in milliseconds: to the device's thread and back takes up to a tenth of one. */
const LEAST_CALL_MS = 20;
const MOST_COPIES = 1024;
const REPETITIONS = 6;

/**
 * Times copies, after a warm-up; the fastest counts.
 *
 * @param bytes That are read and written by each.
 * @param copy Copies so many times in one call: once, or where it is `repeatable`, often enough to take {@link
 *   LEAST_CALL_MS}.
 * @returns Bytes a second.
 */
export async function copySpeed(
  bytes: number,
  copy: (times: number) => Promise<void>,
  { repeatable = true } = {},
): Promise<number> {
  let times = 1;
  const timed = async () => {
    const start = performance.now();
    await copy(times);
    return performance.now() - start;
  };
  const begun = performance.now();
  while (performance.now() - begun < WARM_UP_MS) {
    const took = await timed();
    if (repeatable && took < LEAST_CALL_MS) times = Math.min(2 * times, MOST_COPIES);
  }
  let best = Infinity;
  for (let i = 0; i < REPETITIONS; i++) best = Math.min(best, await timed());
  return times * bytes / (best / 1000);
}

/** A cache of twice so many KV blocks of 16 MiB, and how fast the first half is copied to the second. */
export interface CopiedCache {
  readonly cache: Cache;
  readonly kvBlockBytes: number;
  /** Bytes a second that are read and written within the device. */
  speed(): Promise<number>;
  close(): void;
}

/**
 * Makes a cache to copy in.
 *
 * @throws {M40Error} "out_of_memory" where there is no room, "device" where the device fails.
 */
export function createCopiedCache(context: Context, kvBlocks: number): CopiedCache {
  const { kvHeads, headDim, kvBlockTokens } = SHAPE;
  const desc = {
    ...{
      n_layers: 1,
      n_groups: 1,
      kv_block_tokens: kvBlockTokens,
      n_kv_blocks: 2 * kvBlocks,
      type: 0,
    },
    ...{ n_kv_heads: [kvHeads], head_dim: [headDim], value_dim: [headDim], group: [0] },
    ...{ states: [], slots: 0 },
  };
  const { bytes, kvBlockBytes } = context.cacheBytes(desc);
  const arena = context.createArena(bytes);
  const cache = arena.createCache(desc);
  const speed = () =>
    copySpeed(
      2 * kvBlocks * kvBlockBytes,
      (times) =>
        cache.copyKvBlocks(repeated(0, kvBlocks, times), repeated(kvBlocks, kvBlocks, times)),
    );
  return { cache, kvBlockBytes, speed, close: () => arena.close() };
}

/** So many numbers from the first on, again and again. */
function repeated(first: number, count: number, times: number): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: count * times }, (_, i) => first + i % count);
}
