import type { PageStore, PageStoreStatus } from "./cache/mod.ts";
import type { DiskPagesOptions } from "./disk_pages_options.ts";
import { PageFetches } from "../pages/page_fetches.ts";
import { PageSaves } from "../pages/page_saves.ts";
import { PrefixKeys } from "../pages/prefix_keys.ts";
import type { StepReport } from "../report.ts";

/** What {@link DiskPages} has done. */
export interface DiskPagesStatus extends PageStoreStatus {
  /** Pages that were evicted before they could be written. */
  readonly missedPages: number;
}

/** Whom a {@link DiskPages} works for. */
export interface DiskPagesClient {
  /** Whether sequences run. */
  isBusy(): boolean;
  /** A sequence waits for its pages no longer. */
  onEnd(): void;
  /** The device is lost. */
  onLoss(error: unknown): void;
}

/** KV pages of prefixes on disk: what is published is written there, and fetched for those who wait. */
export class DiskPages {
  readonly fetches: PageFetches;
  readonly saves: PageSaves;
  /** Others may use it too. */
  readonly store: PageStore;

  /** @param options Host memory is given for each of the two. */
  constructor(
    options: Omit<DiskPagesOptions, "keys" | "memory" | "stateMemory"> & {
      readonly fetchMemory: Uint8Array<ArrayBuffer>;
      readonly saveMemory: Uint8Array<ArrayBuffer>;
      readonly fetchStateMemory?: Uint8Array<ArrayBuffer>;
      readonly saveStateMemory?: Uint8Array<ArrayBuffer>;
    },
  ) {
    const keys = new PrefixKeys(options.store.rootKey);
    this.store = options.store;
    this.fetches = new PageFetches({
      ...options,
      keys,
      memory: options.fetchMemory,
      stateMemory: options.fetchStateMemory,
    });
    this.saves = new PageSaves({
      ...options,
      keys,
      memory: options.saveMemory,
      stateMemory: options.saveStateMemory,
    });
  }

  status(): DiskPagesStatus {
    return { ...this.store.status(), missedPages: this.saves.missed };
  }

  /** Works for somebody. */
  serve({ isBusy, onEnd, onLoss }: DiskPagesClient): void {
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
