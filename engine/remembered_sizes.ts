import type { Context } from "./device/context.ts";

/** What says how many bytes things take on a device. */
export type Sizes = Pick<Context, "tensorBytes" | "cacheBytes" | "programBytes">;

/** A context's sizes, of which those of tensors are asked for once each: who cuts a model asks for them often. */
export function rememberSizes(context: Sizes): Sizes {
  const known = new Map<string, number>();
  return {
    tensorBytes(desc) {
      const key = `${desc.type} ${desc.n_experts} ${desc.rows} ${desc.columns}`;
      const bytes = known.get(key) ?? context.tensorBytes(desc);
      known.set(key, bytes);
      return bytes;
    },
    cacheBytes: (desc) => context.cacheBytes(desc),
    programBytes: (records, cache) => context.programBytes(records, cache),
  };
}
