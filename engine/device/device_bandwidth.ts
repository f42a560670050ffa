import { createCopiedCache } from "./copy_speed.ts";
import type { Context } from "./context.ts";
import type { DeviceInfo, KernelLibrary } from "./library.ts";
import { isDeviceLoss } from "../errors.ts";

/** KV blocks that are copied at a time: more than any cache of the device holds; of the emulated device one. */
const KV_BLOCKS = 12;

/** A card, and its memory to be compared with others'. */
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

/**
 * Bytes a second that a device reads and writes when it copies; by its clock and width where there is no room for that.
 */
export async function measureBandwidth(
  library: KernelLibrary,
  context: Context,
  info: DeviceInfo,
): Promise<number> {
  let copied;
  try {
    copied = createCopiedCache(context, library.backend === "cuda" ? KV_BLOCKS : 1);
  } catch (error) {
    if (isDeviceLoss(error)) throw error;
    return bandwidthOf(info) ?? 1;
  }
  try {
    return await copied.speed();
  } finally {
    copied.close();
  }
}

/** Two digits of a number. */
function rounded(value: number): number {
  return Number(value.toPrecision(2));
}

/** What a device's memory gives by its clock and width, in bytes a second; undefined where it does not say. */
export function bandwidthOf(
  { memoryClockKhz, memoryBusBits }: Pick<DeviceInfo, "memoryClockKhz" | "memoryBusBits">,
): number | undefined {
  // Every memory that these devices have transfers twice a cycle.
  return memoryClockKhz * 1000 * 2 * memoryBusBits / 8 || undefined;
}
