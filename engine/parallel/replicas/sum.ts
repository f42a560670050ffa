import { type DiskKvBlocksStatus, noCounts } from "../../scheduler/mod.ts";
import type { KvBlockStore, KvBlockStoreStatus } from "../../scheduler/disk/cache/mod.ts";
import type { ReplicaStatus } from "../../replica.ts";

/** What is so at present, and goes with a replica; all else has been counted, and stays. */
const PRESENT = {
  running: 0,
  waiting: 0,
  preempted: 0,
  kvBlocks: 0,
  usedKvBlocks: 0,
  idleKvBlocks: 0,
  slots: 0,
  usedSlots: 0,
  idleSlots: 0,
};

/** What one that has done nothing has counted. */
export const NOTHING: ReplicaStatus = {
  ...PRESENT,
  ...noCounts(),
};

/** What stays of a replica that goes. */
export function countedBy(status: ReplicaStatus): ReplicaStatus {
  return { ...status, ...PRESENT, failed: undefined, restShare: undefined, disk: undefined };
}

/** What several are and have done together; the share of the time in which they rest is that of the one that rests most. */
export function sumOf(all: readonly ReplicaStatus[]): ReplicaStatus {
  const keys = Object.keys(NOTHING) as (keyof typeof PRESENT)[];
  const sums = keys.map((key) => [key, all.reduce((sum, one) => sum + one[key], 0)]);
  const rests = all.flatMap(({ restShare }) => restShare ?? []);
  return {
    ...Object.fromEntries(sums) as ReplicaStatus,
    restShare: rests.length === 0 ? undefined : Math.max(...rests),
  };
}

/** What is on disk for several, and has been done for them. */
export function diskOf(
  stores: ReadonlySet<KvBlockStore>,
  missedKvBlocks: number,
): DiskKvBlocksStatus | undefined {
  const all = [...stores].map((store) => store.status());
  if (all.length === 0) return undefined;
  const counts = Object.entries(all[0]).filter(([, value]) => typeof value === "number");
  const sums = counts.map(([key]) => [
    key,
    all.reduce((sum, one) => sum + (one[key as keyof KvBlockStoreStatus] as number), 0),
  ]);
  return {
    ...Object.fromEntries(sums) as KvBlockStoreStatus,
    // All of them see the same folder, each as it was when it looked last.
    bytes: Math.max(...all.map(({ bytes }) => bytes)),
    limitBytes: all[0].limitBytes,
    missedKvBlocks,
    reads: all.every(({ reads }) => reads),
    writes: all.every(({ writes }) => writes),
  };
}
