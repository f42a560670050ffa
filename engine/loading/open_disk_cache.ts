import {
  describeOrigin,
  identityOf,
  type Origin,
  PageStore,
  SYSTEM_FILES,
} from "../scheduler/disk/cache/mod.ts";
import type { DiskCacheOptions } from "../engine_options.ts";
import { systemReason } from "../system_error.ts";

/** Stores that are open, by what the bits of their pages depend on: who computes the same bits shares one. */
export type PageStores = Map<string, Promise<PageStore>>;

/**
 * Opens the disk cache for a model on a device; without one where that is not possible.
 *
 * @param pageBytes Bytes of a page in host memory.
 * @param stores Where one that is open already is taken from, and put.
 */
export async function openDiskCache(
  { folder, bytes, onProblem }: DiskCacheOptions,
  origin: Origin,
  pageBytes: number,
  stores: PageStores = new Map(),
): Promise<PageStore | undefined> {
  if (origin.program.cacheLayers.length === 0) {
    onProblem?.(
      "The disk cache is off: this model has no attention, and so no KV pages by which beginnings are known there.",
    );
    return undefined;
  }
  try {
    const description = await describeOrigin(origin);
    const identity = identityOf(description);
    const options = { folder, identity, description, pageBytes, limitBytes: bytes, onProblem };
    const open = stores.get(identity) ?? PageStore.open({ ...options, files: SYSTEM_FILES });
    stores.set(identity, open);
    return await open;
  } catch (error) {
    onProblem?.(
      `The disk cache is off: what its pages depend on cannot be read: ${systemReason(error)}.`,
    );
    return undefined;
  }
}
