import {
  describeOrigin,
  identityOf,
  KvBlockStore,
  type Origin,
  SYSTEM_FILES,
} from "../scheduler/disk/cache/mod.ts";
import type { DiskCacheOptions } from "../engine_options.ts";
import { systemReason } from "../system_error.ts";

/** Open stores, by the identity of their KV blocks: models that compute the same bits share one. */
export type KvBlockStores = Map<string, Promise<KvBlockStore>>;

/**
 * Opens the disk cache for a model on a device; without one where that is not possible.
 *
 * @param kvBlockBytes Bytes of a KV block in host memory.
 * @param stores Where one that is open already is taken from, and put.
 */
export async function openDiskCache(
  { folder, bytes, onProblem }: DiskCacheOptions,
  origin: Origin,
  kvBlockBytes: number,
  stores: KvBlockStores = new Map(),
): Promise<KvBlockStore | undefined> {
  if (origin.program.cacheLayers.length === 0) {
    onProblem?.(
      "The disk cache is off: this model has no attention, and so no KV blocks by which prefixes are known there.",
    );
    return undefined;
  }
  try {
    const description = await describeOrigin(origin);
    const identity = identityOf(description);
    const options = { folder, identity, description, kvBlockBytes, limitBytes: bytes, onProblem };
    const open = stores.get(identity) ?? KvBlockStore.open({ ...options, files: SYSTEM_FILES });
    stores.set(identity, open);
    return await open;
  } catch (error) {
    onProblem?.(
      `The disk cache is off: what its KV blocks depend on cannot be read: ${systemReason(error)}.`,
    );
    return undefined;
  }
}
