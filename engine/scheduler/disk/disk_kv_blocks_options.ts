import type { KvBlockStore } from "./cache/mod.ts";
import type { KvBlockManager } from "../kv_blocks/kv_block_manager.ts";
import type { KvBlockMover } from "../kv_blocks/kv_block_moves.ts";
import type { PrefixKeys } from "../kv_blocks/prefix_keys.ts";

/** What `KvBlockSaves` and `KvBlockFetches` work with. */
export interface DiskKvBlocksOptions {
  readonly kvBlockManager: KvBlockManager;
  readonly mover: KvBlockMover;
  readonly store: KvBlockStore;
  readonly keys: PrefixKeys;
  /** The fewest KV blocks of tokens that are worth a file. */
  readonly leastKvBlocks: number;
  /** Host memory for this alone: of a KV block at least to save, of two to fetch. */
  readonly memory: Uint8Array<ArrayBuffer>;
  /** Host memory for a state, of a model that keeps some; for this alone as well. */
  readonly stateMemory?: Uint8Array<ArrayBuffer>;
  /** Runs work that needs the device for itself. */
  readonly withDevice: <T>(work: () => Promise<T>) => Promise<T>;
  readonly now: () => number;
}
