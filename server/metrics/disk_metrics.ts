import type { Engine, EngineStatus } from "../../engine/mod.ts";
import type { MetricRegistry } from "./registry.ts";

/** What a disk cache counts. */
type Counted = Exclude<keyof NonNullable<EngineStatus["disk"]>, Present>;
/** What is so at present. */
type Present = "kvBlocks" | "bytes" | "limitBytes" | "reads" | "writes";

const COUNTERS: Readonly<Record<Counted, readonly [name: string, help: string]>> = {
  readKvBlocks: ["read_pages", "KV blocks that were read from disk."],
  readBytes: ["read_bytes", "Their bytes."],
  readFailures: [
    "read_failures",
    "KV blocks that could not be read from disk; they were computed.",
  ],
  damagedKvBlocks: ["damaged_pages", "Of those, the ones whose files were damaged."],
  writtenKvBlocks: ["written_pages", "KV blocks that were written to disk."],
  writtenBytes: ["written_bytes", "Their bytes."],
  writeFailures: ["write_failures", "KV blocks that could not be written to disk."],
  removedKvBlocks: ["removed_pages", "KV blocks that were removed from disk to make room."],
  missedKvBlocks: ["missed_pages", "KV blocks that were evicted before they could be written."],
};

/** What a model's disk cache does, for Prometheus; its counters stay when the model is unloaded. */
export class DiskMetrics {
  /** What engines have counted that are gone. */
  private readonly past = new Map<Counted, number>();

  /** @param engine The model's engine, where there is one. */
  constructor(registry: MetricRegistry, private readonly engine: () => Engine | undefined) {
    for (const [key, [name, help]] of Object.entries(COUNTERS)) {
      registry.counter([`m40_disk_cache_${name}_total`], help, () => this.sum(key as Counted));
    }
    registry.gauge(
      ["m40_disk_cache_pages"],
      "KV blocks of this model on disk, as far as is known.",
      () => this.engine()?.status().disk?.kvBlocks,
    );
    registry.gauge(
      ["m40_disk_cache_bytes"],
      "Bytes of the disk cache's files, those of other models included, as far as is known.",
      () => this.engine()?.status().disk?.bytes,
    );
    registry.gauge(
      ["m40_disk_cache_writable"],
      "1 while pages are written to disk; 0 after that has failed.",
      () => {
        const disk = this.engine()?.status().disk;
        return disk && (disk.writes ? 1 : 0);
      },
    );
  }

  /** The model's engine is about to go. */
  detach(): void {
    for (const key of Object.keys(COUNTERS) as Counted[]) this.past.set(key, this.sum(key));
  }

  private sum(key: Counted): number {
    return (this.past.get(key) ?? 0) + (this.engine()?.status().disk?.[key] ?? 0);
  }
}
