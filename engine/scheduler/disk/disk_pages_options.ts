import type { PageStore } from "./cache/mod.ts";
import type { PageManager } from "../pages/page_manager.ts";
import type { PageMover, SlotMover } from "../pages/page_moves.ts";
import type { PrefixKeys } from "../pages/prefix_keys.ts";

/** What `PageSaves` and `PageFetches` work with. */
export interface DiskPagesOptions {
  readonly pageManager: PageManager;
  readonly mover: PageMover & SlotMover;
  readonly store: PageStore;
  readonly keys: PrefixKeys;
  /** The fewest pages of tokens that are worth a file. */
  readonly leastPages: number;
  /** Host memory for this alone: of a page at least to save, of two to fetch. */
  readonly memory: Uint8Array<ArrayBuffer>;
  /** Host memory for a state, of a model that keeps some; for this alone as well. */
  readonly stateMemory?: Uint8Array<ArrayBuffer>;
  /** Runs what needs the device when nobody else uses it. */
  readonly withDevice: <T>(work: () => Promise<T>) => Promise<T>;
  readonly now: () => number;
}
