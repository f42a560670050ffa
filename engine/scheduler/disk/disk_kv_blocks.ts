import type { KvBlockStore, KvBlockStoreStatus } from "./cache/mod.ts";
import type { DiskKvBlocksOptions } from "./disk_kv_blocks_options.ts";
import { KvBlockFetches } from "../kv_blocks/kv_block_fetches.ts";
import { KvBlockSaves } from "../kv_blocks/kv_block_saves.ts";
import { PrefixKeys } from "../kv_blocks/prefix_keys.ts";
import type { StepReport } from "../report.ts";

/** What {@link DiskKvBlocks} has done. */
export interface DiskKvBlocksStatus extends KvBlockStoreStatus {
  /** KV blocks that were evicted before they could be written. */
  readonly missedKvBlocks: number;
}

/** The scheduler that a {@link DiskKvBlocks} works for. */
export interface DiskKvBlocksClient {
  /** Whether sequences run. */
  isBusy(): boolean;
  /** A sequence waits for its KV blocks no longer. */
  onEnd(): void;
  /** The device is lost. */
  onLoss(error: unknown): void;
}

/** KV blocks of prefixes on disk: published ones are written there, and read for waiting sequences. */
export class DiskKvBlocks {
  readonly fetches: KvBlockFetches;
  readonly saves: KvBlockSaves;
  /** Others may use it too. */
  readonly store: KvBlockStore;

  /** @param options Host memory is given for each of the two. */
  constructor(
    options: Omit<DiskKvBlocksOptions, "keys" | "memory" | "stateMemory"> & {
      readonly fetchMemory: Uint8Array<ArrayBuffer>;
      readonly saveMemory: Uint8Array<ArrayBuffer>;
      readonly fetchStateMemory?: Uint8Array<ArrayBuffer>;
      readonly saveStateMemory?: Uint8Array<ArrayBuffer>;
    },
  ) {
    const keys = new PrefixKeys(options.store.rootKey);
    this.store = options.store;
    this.fetches = new KvBlockFetches({
      ...options,
      keys,
      memory: options.fetchMemory,
      stateMemory: options.fetchStateMemory,
    });
    this.saves = new KvBlockSaves({
      ...options,
      keys,
      memory: options.saveMemory,
      stateMemory: options.saveStateMemory,
    });
  }

  status(): DiskKvBlocksStatus {
    return { ...this.store.status(), missedKvBlocks: this.saves.missed };
  }

  /** Connects it to a scheduler. */
  serve({ isBusy, onEnd, onLoss }: DiskKvBlocksClient): void {
    this.saves.isBusy = isBusy;
    this.fetches.onEnd = onEnd;
    this.saves.onLoss = this.fetches.onLoss = onLoss;
  }

  /** A step has been computed. */
  observe(report: StepReport): void {
    this.fetches.observe(report);
  }

  /**
   * Fetches nothing more, writes what is not on disk yet for so long at most, then nothing more. The memory is
   * not used any more when it resolves.
   */
  async close(milliseconds: number): Promise<void> {
    await this.fetches.close();
    await this.saves.flush(milliseconds);
    await this.store.settle();
  }
}
