import type { Context } from "../device/mod.ts";
import type { Program } from "../program/mod.ts";

/** What says how many bytes things take on a device. */
export type Sizes = Pick<Context, "tensorBytes" | "cacheBytes" | "programBytes">;

/** Bytes that weights take on a device. */
export function weightBytesOf(
  sizes: Pick<Sizes, "tensorBytes">,
  weights: Program["weights"],
): number {
  return weights.reduce((sum, { desc }) => sum + sizes.tensorBytes(desc), 0);
}

/** A context's sizes. Each size of tensors and caches is asked for once, since splitting a model needs them often. */
export function rememberSizes(context: Sizes): Sizes {
  const tensors = new Map<string, number>();
  const caches = new Map<string, ReturnType<Sizes["cacheBytes"]>>();
  return {
    tensorBytes(desc) {
      const key = `${desc.type} ${desc.n_experts} ${desc.rows} ${desc.columns}`;
      const bytes = tensors.get(key) ?? context.tensorBytes(desc);
      tensors.set(key, bytes);
      return bytes;
    },
    cacheBytes(desc) {
      const key = JSON.stringify(desc);
      const bytes = caches.get(key) ?? context.cacheBytes(desc);
      caches.set(key, bytes);
      return bytes;
    },
    programBytes: (records, cache) => context.programBytes(records, cache),
  };
}
